// The heuristic's answers, stored, so that a machine without a GPU can predict: of listed shapes one by one, and of a
// grid of sizes, from which shapes between its points are guessed where all neighbours add in the same order.
//
// clang-format off
//     ulplab cublas answers 1
//     source hardware                        or "software": of the stand-in, which proves nothing
//     gpu NVIDIA H100 80GB HBM3
//     architecture sm_90
//     cublas 13.1.0
//     workspace 33554432
//     tuples 2                               each different answer once; - is "the library has no such product"
//     66.24.35.1.0.0.0.0.2
//     -
//     shapes 1                               a problem and the number of its answer
//     fp16,TN,128,64,4096,1,0 0
//     grid 16 32 64 ; 16 64 256              sizes of m and n; of k
//     class fp16 TN 8 8 4 0*9 1*18           type, layout, alignments of m, n, k in elements; answers, k fastest, then n
//     end
// clang-format on
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "gpu/untried/library.hpp"

namespace ulp::gpu {

/// Of one extent: the largest power of two that divides it, up to 16 bytes of the type.
std::int64_t alignment_of(std::int64_t extent, Element element);

/// The sizes of a grid. A point of alignment a lies at size + a, or at the size where a is the largest alignment.
struct AnswerGrid {
    std::vector<std::int64_t> outputs;  // of m and of n
    std::vector<std::int64_t> depths;   // of k
    bool operator==(const AnswerGrid&) const = default;
};
/// Powers of two: to 8192, and to 2^18 for k. `quick`: every third.
AnswerGrid usual_grid(bool quick);

class StoredAnswers {
  public:
    LibraryInfo info;

    /// Without answers yet.
    StoredAnswers(LibraryInfo library, AnswerGrid grid) : info(std::move(library)), grid_(std::move(grid)) {}

    /// Asks the library, which `info` describes, for the shapes and for the grid of each of the types, in an order that
    /// these fix; what is stored already is not asked again. Ends early where `go_on`, called after each shape and each
    /// class of the grid, gives false: what is stored then is complete as far as it goes. True: all was asked.
    bool ask(
        Library& library, const std::vector<LibraryProblem>& shapes, const std::vector<const ProblemType*>& types,
        const std::function<bool()>& go_on = [] { return true; });
    static StoredAnswers read(const std::filesystem::path& path);  // throws DataError naming file, line and fault
    [[nodiscard]] std::string text() const;

    /// The order of a problem, as far as the answers say.
    [[nodiscard]] KernelPlan plan(const LibraryProblem& problem) const;
    /// The answer of a listed shape; Declined: not listed, or not offered.
    [[nodiscard]] std::variant<HeuristicAnswer, Declined> listed(const LibraryProblem& problem) const;
    [[nodiscard]] const AnswerGrid& grid() const { return grid_; }
    [[nodiscard]] std::size_t tuples() const { return tuples_.size(); }
    [[nodiscard]] std::size_t shapes() const { return shapes_.size(); }
    [[nodiscard]] std::size_t classes() const { return classes_.size(); }

  private:
    StoredAnswers() = default;
    using Offer = std::optional<HeuristicAnswer>;
    int number_of(const Offer& offer);
    [[nodiscard]] KernelPlan plan_of_offer(const Offer& offer, const LibraryProblem& problem) const;
    [[nodiscard]] KernelPlan plan_between(const std::vector<int>& answers,
                                          const std::array<std::int64_t, 3>& alignments,
                                          const LibraryProblem& problem) const;
    [[nodiscard]] std::vector<int> asked_class(Library& library, LibraryProblem problem,
                                               const std::array<std::int64_t, 3>& alignments);

    AnswerGrid grid_;
    std::vector<Offer> tuples_;
    std::map<std::string, int> shapes_;                // LibraryProblem::text() -> tuple
    std::map<std::string, std::vector<int>> classes_;  // "fp16 TN 8 8 4" -> tuples
    std::map<Offer, int> numbers_;
};

/// Why a product that the library does not have is not predicted.
inline constexpr std::string_view no_such_product = "the library has no such product";

}  // namespace ulp::gpu
