// From the answer of cuBLAS's heuristic to the order in which the kernel adds: a pure function, which declines where it
// does not know. Nothing here has been run against a library: what stands behind each rule is in plan.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpu/untried/problem.hpp"
#include "softfloat/matrix_units/product.hpp"

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

}  // namespace ulp::gpu
