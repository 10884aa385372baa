// Can a library's product be predicted bit for bit? Over a grid of shapes and types: ask the kernel for its order of
// summation by masking probes (Xie, Gao and Xue, FPRev, arXiv 2411.00442), compare with every model and order, and
// count the shapes on which one of them gives every bit.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/library/cublas.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp::gpu {

struct StudyCase {
    std::string product;  // a name of library_products()
    bool fixed_algorithm;
    std::uint64_t m;
    std::uint64_t n;
    std::uint64_t k;
};

struct StudyResult {
    StudyCase study_case;
    std::string survivors;    // units that survive a pair of huge opposite terms at k = 0 and k = j, as runs over j
    std::string prediction;   // model and order that fit best
    std::uint64_t equal = 0;  // elements of the random product that it gives bit for bit
    std::uint64_t total = 0;
    bool probe_equal = false;  // whether it gives the survivors too
    std::string skipped;       // why there is no answer, if there is none
    [[nodiscard]] bool predicted() const { return total > 0 && equal == total && probe_equal; }
};

/// The shapes and types of the study; `quick`: fewer.
std::vector<StudyCase> study_cases(bool quick);

/// A product of the library: d from a (by rows) and b (by columns).
using LibraryCall =
    std::function<void(const LibraryProduct&, const PackedMatrix& a, const PackedMatrix& b, PackedMatrix& d)>;

/// One case, on any implementation of the product: the library, or a model of one in the tests.
StudyResult study(const LibraryCall& call, const StudyCase& study_case, int architecture);

/// What computes a product, by the study of cuBLAS 13.1.0 on an H100 and an H200, which agree (tests/recordings).
struct StudiedProduct {
    std::string key;  // of the row; its instruction_k may be half
    TensorCoreModel model;
    ProductOrder order;
};
inline constexpr std::string_view studied_version = "13.1.0";
inline constexpr std::string_view studied_cards[] = {"H100", "H200"};
/// In words, for a message.
inline constexpr std::string_view studied_shapes =
    "m = n of 16, 64, 128, 256 or 512, k of 16, 64, 128, 512, 784 or 2048, A by rows and B by columns (--transpose b), "
    "alpha = 1, beta = 0, of tf32, bf16, fp16, fp16_fp16, e4m3 and e5m2";
/// As cublasGemmEx chooses, and FP8 as cublasLt's first algorithm with fast accumulation. Nothing for other shapes.
std::optional<StudiedProduct> studied_product(std::string_view product, std::int64_t m, std::int64_t n, std::int64_t k);

/// Products without Tensor Cores, whose orders nobody has found here: a matrix times a vector (n = 1) in fp32, fp16 and
/// bf16, and fp32 in a few square shapes.
std::vector<StudyCase> simt_cases();

/// What such a product shows of its order. No model is tried: orders are sought in what a GPU has answered, anywhere.
struct SimtTraces {
    std::string survivors;  // as StudyResult's, up to 256 runs
    std::string words;      // of D's first column in the first eight rows, of StudyResult's random inputs
    std::string skipped;    // why there is no answer, if there is none
};
SimtTraces simt_traces(const LibraryCall& call, const StudyCase& study_case);

}  // namespace ulp::gpu
