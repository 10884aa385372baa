// Products by NVIDIA's libraries: cuBLAS (cublasGemmEx) and cublasLt with a fixed algorithm. No CUDA in this header.
//
// The libraries are loaded when they are first needed, so that the program starts where they are not installed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/products/matmul.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/instructions/element.hpp"

namespace ulp::gpu {

/// Which product of the library.
struct LibraryProduct {
    Element a = Element::fp16;
    Element b = Element::fp16;
    Element accumulator = Element::fp32;  // also the type of D
    bool fixed_algorithm =
        true;  // cublasLt, the heuristic's first algorithm without split-k; else cublasGemmEx's choice
    bool fast_accumulation = true;  // FP8: without it partial sums are promoted to fp32 every 128 k
};

/// The products offered by name: "fp32", "tf32", "bf16", "fp16", "fp16_fp16", "e4m3", "s8".
struct NamedLibraryProduct {
    std::string name;
    LibraryProduct product;
};
const std::vector<NamedLibraryProduct>& library_products();
/// Throws std::invalid_argument that lists the names.
const LibraryProduct& library_product(std::string_view name);

struct LibraryTiming {
    double seconds = 0;                // of one product: the median of the repeats
    std::vector<std::string> kernels;  // that ran, by CUPTI; empty where CUPTI is not there
};

class Cublas {
  public:
    /// Loads the libraries. Throws DataError without them or without a GPU, or if the build had no headers of theirs.
    Cublas();
    ~Cublas();
    Cublas(const Cublas&) = delete;
    Cublas& operator=(const Cublas&) = delete;

    /// D = A * B: a holds the rows of A, b the columns of B. Throws UsageError if the library has no such product (FP8
    /// and int8 need multiples of 16), DataError if a call fails.
    void matmul(const LibraryProduct& product, const PackedMatrix& a, const PackedMatrix& b, PackedMatrix& d);
    /// The time of a product of random data of that size.
    LibraryTiming time(const LibraryProduct& product, std::uint64_t m, std::uint64_t n, std::uint64_t k, int repeats);
    /// "13.1.0"
    [[nodiscard]] std::string version() const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

// cuBLAS as a backend of products: "cublas:fp16" is cublasGemmEx as it chooses, "cublaslt:fp16" cublasLt with a fixed
// algorithm.

/// Claims no model: the order of its sums is the library's own. FP8 is filled up to multiples of 16. Throws DataError
/// without the library or a GPU, std::invalid_argument for a name that is not in library_products().
std::unique_ptr<MatmulBackend> make_cublas_backend(std::string_view product, bool fixed_algorithm);

/// The products with floating-point inputs; without `fixed_algorithm` those that cublasGemmEx has.
std::vector<std::string> cublas_arguments(bool fixed_algorithm);

// Which kernels ran: "were Tensor Cores used?".

/// The names of the kernels that `work` launched, in order, by CUPTI's activity records; `work` must wait for them.
/// Empty where CUPTI cannot be loaded or may not trace: names are an extra, no reason to fail.
std::vector<std::string> kernels_run_by(const std::function<void()>& work);

/// A kernel's name without what linkers and compilers add: "cutlass::Kernel2<cutlass_75_tensorop_h1688gemm_...>".
std::string readable_kernel_name(const std::string& symbol);

/// What a kernel's name says about the instructions in it: "mma.sync", "wgmma", "no Tensor Cores", or "unknown".
std::string instructions_by_name(const std::string& kernel);

}  // namespace ulp::gpu
