// Whether the bits of a token depend on how many others are in the batch, on the stand-in for cuBLAS.
#include <doctest/doctest.h>

#include <vector>

#include "gpu/prediction/invariance.hpp"

using namespace ulp::gpu;

TEST_CASE("invariance: the bits of a token change where the order does, and a remedy that holds is named") {
    const auto library = open_software_library(90);
    const auto device = open_software_device(90);
    const std::vector<std::int64_t> tokens{8, 64, 2048};
    const Invariance found = invariance_of(*library, *device, problem_type("fp16"), 64, 8192, tokens);
    CHECK(found.wrong() == 0);
    CHECK(found.changes() > 0);
    REQUIRE(found.first.has_value());
    CHECK(found.first->before != found.first->after);
    REQUIRE(found.remedies.size() == 3);
    CHECK(found.remedies[0].holds);
    CHECK(found.remedies[1].holds);
    CHECK(found.remedies[1].error > 0);
    for (const Remedy& remedy : found.remedies) {
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
    CHECK(lied.remedies[0].unlike + lied.remedies[1].unlike == 0);  // of orders without a split it tells the truth
}

TEST_CASE("the smallest change of bits is smaller than the one found, and its bits still change") {
    const auto library = open_software_library(90);
    const auto device = open_software_device(90);
    const Invariance found = invariance_of(*library, *device, problem_type("fp16"), 64, 8192, {8, 512});
    const auto smallest = smallest_change(*library, found);
    REQUIRE(smallest.has_value());
    CHECK(smallest->features * smallest->k * smallest->change.more < found.features * found.k * found.first->more);
    CHECK(smallest->change.before != smallest->change.after);
    LibraryProblem p;
    p.type = &problem_type("fp16");
    p.layout = "TN";
    p.m = smallest->features;
    p.n = 1;
    p.k = smallest->k;
    const ProblemSample sample = sample_of(p, InputSet::spread);
    p.n = smallest->change.fewer;
    const auto before = library->run(p, sample);
    p.n = smallest->change.more;
    CHECK(before != library->run(p, sample));
    CHECK_FALSE(smallest_change(*library, invariance_of(*library, *device, problem_type("fp16"), 256, 512, {8})));
}
