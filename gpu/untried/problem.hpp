// A product of cuBLAS as it is asked for, in the library's own terms: D (m x n) = alpha * op(A) * op(B) + beta * C, all
// matrices by columns; and lists of them, drawn from a seed and committed before anything of them is known.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/instructions/element.hpp"

namespace ulp::gpu {

/// What a product is made of.
struct ProblemType {
    std::string_view name;  // "fp16", "fp16_d16": D in fp16 too, "fp16_fp16": fp16 accumulator, "e4m3_slow"
    Element a;
    Element b;
    Element accumulator;
    Element d;
    bool fast_accumulation = true;  // FP8: CUBLASLT_MATMUL_DESC_FAST_ACCUM
    bool operator==(const ProblemType&) const = default;
};
const std::vector<ProblemType>& problem_types();
/// Throws std::invalid_argument that lists the names.
const ProblemType& problem_type(std::string_view name);

/// Which operand is transposed: "NN", "NT", "TN", "TT". A is contiguous in k where it is T, B where it is N.
inline constexpr std::string_view problem_layouts[] = {"NN", "NT", "TN", "TT"};

struct LibraryProblem {
    const ProblemType* type = nullptr;
    std::string layout = "TN";
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    float alpha = 1;
    float beta = 0;
    std::int64_t batch = 1;  // products of such matrices, each behind the other

    [[nodiscard]] bool a_along_k() const { return layout[0] == 'T'; }
    [[nodiscard]] bool b_along_k() const { return layout[1] == 'N'; }
    /// "fp16,TN,128,64,4096,1,0", and ",3" behind it for a batch of 3.
    [[nodiscard]] std::string text() const;
    bool operator==(const LibraryProblem&) const = default;
};

/// The largest extent of a list: m, n and k; and the largest batch.
inline constexpr std::int64_t largest_extent = std::int64_t{1} << 20;
inline constexpr std::int64_t largest_batch = 1024;

/// Six of ten with extents uniform in 1 ... 8192; three skinny and deep (m, n to 256, k to 400,000); one log-uniform, a
/// third of these with m or n = 1. Types and layouts uniform; FP8 as TN with multiples of 16, the library's rule. One
/// in ten has alpha = 0.5, one in ten beta = 1; of those whose matrices have at most 2^22 elements every other is a
/// batch, of 2 to 8. Nothing is left out.
std::vector<LibraryProblem> draw_problems(std::uint64_t seed, int count);

/// A file of them: "type,layout,m,n,k,alpha,beta" or these and "batch", a line each; # begins a comment. Throws
/// DataError naming file, line and fault.
std::vector<LibraryProblem> read_problems(const std::filesystem::path& path);
std::string problems_text(const std::vector<LibraryProblem>& problems, std::uint64_t seed);
/// One line's problem. Throws DataError that begins with `where`.
LibraryProblem problem_of(std::string_view line, const std::string& where);

/// Exponents of the inputs.
enum class InputSet : std::uint8_t { flat, spread };
inline constexpr InputSet input_sets[] = {InputSet::flat, InputSet::spread};

/// The rows of op(A) and columns of op(B) at which a product is looked at: all where m * n * k is at most 2^24, else up
/// to eight of each, the first and the last among them, the others drawn. Of a batch they are the last product's.
struct ProblemSample {
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> columns;
    std::vector<std::uint32_t> a;  // codes, rows by k
    std::vector<std::uint32_t> b;  // codes, columns by k
    std::vector<std::uint32_t> c;  // codes of D's format, rows by columns; empty where beta is 0
};
/// Whether a sample holds all of D.
bool looks_at_all(const LibraryProblem& problem);
ProblemSample sample_of(const LibraryProblem& problem, InputSet set);

}  // namespace ulp::gpu
