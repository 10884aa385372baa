// What is asked and what runs: cublasLt, or a stand-in without a GPU for dry runs and tests.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpu/instructions/element.hpp"
#include "softfloat/matrix_units/product.hpp"

namespace ulp::gpu {

// From the answer of cuBLAS's heuristic to the order in which the kernel adds: a pure function, which declines where it
// does not know. Nothing here has been run against a library: what stands behind each rule is in plan.cpp.

// A product of cuBLAS as it is asked for, in the library's own terms: D (m x n) = alpha * op(A) * op(B) + beta * C, all
// matrices by columns; and lists of them, drawn from a seed and committed before anything of them is known.

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

/// The nine attributes of cublasLt's algorithm (cublasLt.h, CUBLASLT_ALGO_CONFIG_*).
struct HeuristicAnswer {
    int id = 0;
    int tile = 0;
    int stages = 0;
    int split = 1;
    int reduction = 0;
    int swizzling = 0;
    int custom = 0;
    int inner_shape = 0;
    int cluster = 0;
    auto operator<=>(const HeuristicAnswer&) const = default;
    /// "66.24.15.1.0.0.0.0.2"
    [[nodiscard]] std::string text() const;
};
/// Throws DataError that begins with `where`.
HeuristicAnswer heuristic_answer_of(std::string_view text, const std::string& where);

/// How the sums of pieces of k come together.
enum class Merge : std::uint8_t {
    none,
    fp32,        // in fp32, in ascending order
    rounded,     // each piece rounded to D's type, then added in fp32
    serial,      // a chain kept in D's type
    accumulator  // in the accumulator's type
};

/// What a library's kernel adds one element with, and in which order.
struct LibraryKernel {
    std::string unit;          // row of the model table; "fp32 fma": a chain of fused multiply-adds
    ProductOrder order{};      // piece_k, tile_k and promote_every alone
    std::int64_t dropped = 0;  // the last k that the kernel never adds
    Merge merge = Merge::none;
    bool operator==(const LibraryKernel&) const = default;
    /// "sm_90:wgmma.fp16.fp32, pieces of 1024 added in fp32"
    [[nodiscard]] std::string text() const;
};

/// The GPU and the library for which an answer holds.
struct LibraryInfo {
    bool hardware = false;
    std::string gpu;  // "NVIDIA H100 80GB HBM3"
    int architecture = 0;
    std::string version;  // "13.1.0"
    auto operator<=>(const LibraryInfo&) const = default;
    /// "cuBLAS 13.1.0 on NVIDIA H100 80GB HBM3"; of a stand-in it says that it is no evidence.
    [[nodiscard]] std::string text() const;
};

struct Declined {
    std::string reason;
};
using KernelPlan = std::variant<LibraryKernel, Declined>;

KernelPlan plan_of(const HeuristicAnswer& answer, const LibraryProblem& problem, const LibraryInfo& info);

/// The words of D (codes of its type) at the sample's rows and columns.
std::vector<std::uint32_t> ordered_product(const LibraryKernel& kernel, const LibraryProblem& problem,
                                           const ProblemSample& sample);

/// Orders that a check must tell from this one: one chain (or, of one chain, two pieces), pieces half as long, one
/// piece more.
std::array<LibraryKernel, 3> mutants_of(const LibraryKernel& kernel, const LibraryProblem& problem);

class Library {
  public:
    Library() = default;
    virtual ~Library() = default;
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    [[nodiscard]] virtual const LibraryInfo& info() const = 0;
    /// The heuristic's first answer; nothing where the library has no such product. Runs no product.
    [[nodiscard]] virtual std::optional<HeuristicAnswer> ask(const LibraryProblem& problem) = 0;
    /// D's words at the sample's rows and columns, by the algorithm that ask() answers.
    [[nodiscard]] virtual std::vector<std::uint32_t> run(const LibraryProblem& problem,
                                                         const ProblemSample& sample) = 0;
    /// The same by the algorithm that an answer names, whatever the heuristic says; nothing where the library does not
    /// take it for this problem.
    [[nodiscard]] virtual std::optional<std::vector<std::uint32_t>> run_as(const HeuristicAnswer& answer,
                                                                           const LibraryProblem& problem,
                                                                           const ProblemSample& sample) = 0;
};

/// The bytes of workspace that the library may use: PyTorch's on Hopper.
inline constexpr std::size_t library_workspace = std::size_t{32} << 20;

/// Faults of the stand-in: what a judge must find.
enum class StandInFault : std::uint8_t {
    none,
    one_bit,       // the last bit of one element of every product of 96 rows
    other_answer,  // after the first hundred answers it chooses otherwise
    other_order    // split products are added in pieces of another length
};

/// Answers by rules of its own that look like cuBLAS's (large aligned products: nvjet; few outputs and deep k: split;
/// odd extents: CUTLASS; now and then a family of which nothing is known) and computes by plan_of. It is no evidence of
/// cuBLAS. With `memory_bytes` products whose operands, result and workspace need more fail as on a GPU.
std::unique_ptr<Library> open_software_library(int architecture, StandInFault fault = StandInFault::none,
                                               std::uint64_t memory_bytes = 0);
/// cublasLt on the first GPU. Throws DataError without a GPU or without the library.
std::unique_ptr<Library> open_cuda_library();
/// As open_device: "cuda", "software:sm_90", ...
std::unique_ptr<Library> open_library(std::string_view device);

}  // namespace ulp::gpu
