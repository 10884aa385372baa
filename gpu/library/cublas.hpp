// Products by NVIDIA's libraries: cuBLAS (cublasGemmEx) and cublasLt with a fixed algorithm. No CUDA in this header.
//
// The libraries are loaded when they are first needed, so that the program starts where they are not installed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/devices/packed_matrix.hpp"
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

}  // namespace ulp::gpu
