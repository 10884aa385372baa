// From the answer of cuBLAS's heuristic to the order in which the kernel adds: a pure function, which declines where it
// does not know. Nothing here has been run against a library: what stands behind each rule is in `family_rules()`.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpu/untried/problem.hpp"

namespace ulp::gpu {

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

/// The order in which a kernel adds one element, and what it adds with.
struct KernelOrder {
    std::string unit;          // row of the model table; "fp32 fma": a chain of fused multiply-adds
    std::int64_t piece = 0;    // length of the pieces of k, the last one the rest; 0: one piece
    std::int64_t tile = 0;     // > 0: a piece begins with its remainder modulo this
    std::int64_t promote = 0;  // > 0: after so many k the sum goes to a second accumulator by an fp32 addition
    std::int64_t dropped = 0;  // the last so many k that the kernel never adds
    Merge merge = Merge::none;
    bool operator==(const KernelOrder&) const = default;
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
using KernelPlan = std::variant<KernelOrder, Declined>;

/// What is known of a family of kernels (attribute ID), and from where.
struct FamilyRule {
    int id;
    std::string_view family;
    std::string_view source;
};
std::span<const FamilyRule> family_rules();

KernelPlan plan_of(const HeuristicAnswer& answer, const LibraryProblem& problem, const LibraryInfo& info);

/// The words of D (codes of its type) at the sample's rows and columns.
std::vector<std::uint32_t> ordered_product(const KernelOrder& order, const LibraryProblem& problem,
                                           const ProblemSample& sample);

/// Orders that a check must tell from this one: one chain (or, of one chain, two pieces), pieces half as long, one
/// piece more.
std::array<KernelOrder, 3> mutants_of(const KernelOrder& order, const LibraryProblem& problem);

}  // namespace ulp::gpu
