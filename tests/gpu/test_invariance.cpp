// Whether the bits of a token depend on how many others are in the batch, on the stand-in for cuBLAS.
#include <doctest/doctest.h>

#include <vector>

#include "gpu/untried/invariance.hpp"

using namespace ulp::gpu;

TEST_CASE("invariance: the bits of a token change where the order does, and a remedy that holds is named") {
    const auto library = open_software_library(90);
    const auto device = open_software_device(90);
    const std::vector<std::int64_t> tokens{8, 64, 2048};
    const Invariance found = invariance_of(*library, *device, problem_type("fp16"), 64, 8192, tokens);
    CHECK(found.unlike() + found.remedies_unlike() + found.changes_wrong() + found.changes_unpredicted() == 0);
    CHECK(found.changes() > 0);
    REQUIRE(found.first.has_value());
    CHECK(found.first->values[0] != found.first->values[1]);
    REQUIRE(found.remedies.size() == 3);
    CHECK(found.remedies[0].holds);
    CHECK(found.remedies[1].holds);
    CHECK(found.remedies[1].error > 0);
    for (const auto& remedy : found.remedies) {
        CAPTURE(remedy.name);
        CHECK(remedy.runs == 3);
        CHECK(remedy.run_holds);
        CHECK(remedy.unlike == 0);
        CHECK(remedy.run_error == remedy.error);
    }
    CHECK(found.run_error == found.error);
    const Invariance odd = invariance_of(*library, *device, problem_type("fp16"), 256, 512, {7, 8});
    CHECK_FALSE(odd.remedies[1].holds);  // one token count runs CUTLASS, the other nvjet
    CHECK(odd.remedies[1].runs == 2);    // whose bits are the same here, though the orders are not
    CHECK(odd.remedies[0].runs == 1);    // and CUTLASS's operands are not aligned for nvjet
    CHECK(odd.remedies[2].run_holds);    // the kernel of our own knows no tokens but its own
    // fp32 has no mma.sync: nothing of our own runs.
    CHECK(invariance_of(*library, *device, problem_type("fp32"), 64, 512, {8, 16}).remedies.empty());
    // A library that adds otherwise than its answers say is found.
    const auto liar = open_software_library(90, StandInFault::other_order);
    const Invariance lied = invariance_of(*liar, *device, problem_type("fp16"), 64, 8192, tokens);
    CHECK(lied.first.has_value());
    CHECK(lied.unlike() > 0);
    CHECK(lied.remedies[0].unlike + lied.remedies[1].unlike == 0);  // of orders without a split it tells the truth
}

namespace {

/// Runs every product as it ran the first one.
class OneOrder final : public Library {
  public:
    explicit OneOrder(Library& real) : real_(real) {}
    [[nodiscard]] const LibraryInfo& info() const override { return real_.info(); }
    [[nodiscard]] std::optional<HeuristicAnswer> ask(const LibraryProblem& problem) override {
        return real_.ask(problem);
    }
    [[nodiscard]] std::vector<std::uint32_t> run(const LibraryProblem& problem, const ProblemSample& sample) override {
        if (words_.empty()) words_ = real_.run(problem, sample);
        return words_;
    }
    [[nodiscard]] std::optional<std::vector<std::uint32_t>> run_as(const HeuristicAnswer& answer,
                                                                   const LibraryProblem& problem,
                                                                   const ProblemSample& sample) override {
        return real_.run_as(answer, problem, sample);
    }

  private:
    Library& real_;
    std::vector<std::uint32_t> words_;
};

}  // namespace

TEST_CASE(
    "invariance: changes are predicted from words, wrong ones are counted both ways, and those of declined orders "
    "apart") {
    const auto library = open_software_library(90);
    const auto device = open_software_device(90);
    const ProblemType& type = problem_type("fp16");
    // Other orders that give the same words are no predicted change.
    const Invariance same = invariance_of(*library, *device, type, 256, 512, {7, 8});
    CHECK(same.steps[0].order != same.steps[1].order);
    CHECK(same.steps[1].predicted == BitChange::same);
    CHECK(same.steps[1].run == BitChange::same);
    // A predicted change that does not happen.
    OneOrder still(*library);
    const Invariance kept = invariance_of(still, *device, type, 64, 8192, {8, 64, 2048});
    CHECK(kept.changes() == 0);
    CHECK(kept.changes_wrong() > 0);
    CHECK(kept.unlike() > 0);
    CHECK(kept.remedies_unlike() == 0);
    // A declined order: what its change is, and the next one's, is not predicted.
    const Invariance gap = invariance_of(*library, *device, type, 256, 2048, {8, 1024, 2048});
    REQUIRE_FALSE(gap.steps[1].declined.empty());
    CHECK(gap.steps[0].predicted == BitChange::first);
    CHECK(gap.steps[1].predicted == BitChange::unknown);
    CHECK(gap.steps[2].predicted == BitChange::unknown);
    CHECK(gap.changes() == 2);
    CHECK(gap.changes_unpredicted() == 2);
    CHECK(gap.unlike() == 0);
}

TEST_CASE("the smallest change of bits is smaller than the one found, and its bits still change") {
    const auto library = open_software_library(90);
    const auto device = open_software_device(90);
    const Invariance found = invariance_of(*library, *device, problem_type("fp16"), 64, 8192, {8, 512});
    const auto smallest = smallest_change(*library, found);
    REQUIRE(smallest.has_value());
    CHECK(smallest->features * smallest->k * smallest->change.against <
          found.features * found.k * found.first->against);
    CHECK(smallest->change.values[0] != smallest->change.values[1]);
    LibraryProblem p;
    p.type = &problem_type("fp16");
    p.layout = "TN";
    p.m = smallest->features;
    p.n = 1;
    p.k = smallest->k;
    const ProblemSample sample = sample_of(p, InputSet::spread);
    p.n = smallest->change.shape;
    const auto before = library->run(p, sample);
    p.n = smallest->change.against;
    CHECK(before != library->run(p, sample));
    CHECK_FALSE(smallest_change(*library, invariance_of(*library, *device, problem_type("fp16"), 256, 512, {8})));
}
