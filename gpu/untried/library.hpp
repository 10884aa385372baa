// What is asked and what runs: cublasLt, or a stand-in without a GPU for dry runs and tests.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "gpu/untried/plan.hpp"

namespace ulp::gpu {

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
