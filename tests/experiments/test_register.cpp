// The register of claims, and results beside it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "experiments/framework/experiment.hpp"
#include "experiments/framework/register.hpp"
#include "softfloat/errors.hpp"

namespace {

using namespace ulp;

StoredResult result_with(Verdict verdict) {
    StoredResult result;
    result.experiment = "sample";
    result.mode = "quick";
    result.seed = 1;
    result.own_settings = true;
    result.cpu = "a processor";
    result.finished = "2030-01-02T03:04:05Z";
    result.claims = {{"sample.a", "source", "statement", "1", "1", verdict, ClaimKind::arithmetic}};
    return result;
}

}  // namespace

TEST_CASE(
    "a verdict that is not the register's and a claim that is missing are told, other settings and seeds are not "
    "judged") {
    const Register all = register_of({result_with(Verdict::reproduced)});
    CHECK(all.date == "2030-01-02");
    const std::vector<Claim> same = result_with(Verdict::reproduced).claims;
    CHECK(deviations("sample", same, all).empty());
    StoredResult other = result_with(Verdict::undecided);
    const std::vector<Deviation> found = deviations("sample", other.claims, all);
    REQUIRE(found.size() == 1);
    CHECK(text_of(found.front(), all.size) == "sample.a: undecided, where the register of quick runs says reproduced");
    other.claims.front().id = "sample.b";
    CHECK(text_of(deviations("sample", other.claims, all).at(0), all.size) ==
          "sample.b: the register of quick runs does not have this claim");
    CHECK(text_of(deviations("sample", {}, all).at(0), all.size) ==
          "sample.a: not claimed in this run, where the register of quick runs says reproduced");
    CHECK(deviations("samp", {}, all).empty());
    other.claims.front().id = "unregistered.a";
    CHECK(deviations("unregistered", other.claims, all).empty());
    CHECK_FALSE(is_registered_case(1, false));
    CHECK_FALSE(is_registered_case(2, true));
    other.seed = 2;
    CHECK_THROWS_WITH_AS(register_of({other}), doctest::Contains("is no quick run with seed 1"), DataError);
}

TEST_CASE("rows of a later register take the place of those of the same experiments, with what their runs trained") {
    const auto result = [](const char* name, const char* claim, double seconds) {
        StoredResult one = result_with(Verdict::reproduced);
        one.experiment = name;
        one.claims.front().id = fmt::format("{}.{}", name, claim);
        one.trainings = {{10, 20, 3}};
        one.processor_seconds = seconds;
        one.products = {{"sm_90:mma.fp16.fp32", 12, "abcd"}};
        return one;
    };
    const Register first = register_of({result("swamping", "a", 1), result("formats", "b", 1)});
    const Register later = register_of({result("swamping", "c", 2)});
    const Register both = merged(first, later);
    REQUIRE(both.claims.size() == 2);
    CHECK(both.claims[0].id == "formats.b");
    CHECK(both.claims[1].id == "swamping.c");
    REQUIRE(both.runs.size() == 2);
    CHECK(both.runs[1].processor_seconds == 2);
    CHECK(both.runs[1].trainings.at(0).runs == 3);
    CHECK(both.runs[1].products.value().at(0).digest == "abcd");
    CHECK(register_json(both).find(R"("products":[{"unit":"sm_90:mma.fp16.fp32","products":12,"digest":"abcd"}])") !=
          std::string::npos);
    Register full = later;
    full.size = RunSize::full;
    CHECK_THROWS_WITH_AS(merged(first, full), "these are full runs, the register is of quick runs", DataError);
}

TEST_CASE(
    "an experiment's effect is a claim of its own, and its natural ones insert nothing and are linked both ways") {
    const Register all = read_register(RunSize::quick);
    std::size_t constructed = 0;
    for (const Experiment& experiment : experiments()) {
        if (!experiment.effect) continue;
        INFO(experiment.name);
        const std::string id = fmt::format("{}.{}", experiment.name, experiment.effect->claim);
        CHECK(std::ranges::find(all.claims, id, &Claim::id) != all.claims.end());
        CHECK(experiment.effect->inserted.empty() == experiment.effect->natural.empty());
        constructed += experiment.effect->inserted.empty() ? 0 : 1;
        for (const std::string& name : experiment.effect->natural) {
            const Experiment& natural = experiment_by_name(name);
            REQUIRE(natural.effect);
            CHECK(natural.effect->inserted.empty());
            const auto back = counterparts_of(natural);
            CHECK(std::ranges::find(back, &experiment) != back.end());
        }
    }
    CHECK(constructed > 0);
}

TEST_CASE(
    "the registers have each claim once, none failed, and each control names claims that there are, each measured "
    "claim a control") {
    std::set<std::string> ids;  // of both
    for (const RunSize size : {RunSize::quick, RunSize::full}) {
        const std::optional<Register> all = find_register(size);
        REQUIRE(all);
        std::set<std::string> own;
        for (const Claim& claim : all->claims) {
            INFO(claim.id << " of " << name_of(size));
            CHECK(own.insert(claim.id).second);
            CHECK(claim.verdict != Verdict::failed);
            CHECK((claim.kind == ClaimKind::quoted) == (claim.verdict == Verdict::quoted));
            CHECK((claim.kind != ClaimKind::measured || !controls_of(claim.id).empty()));
            std::vector<std::string> controls = controls_of(claim.id);
            std::ranges::sort(controls);
            CHECK(std::ranges::adjacent_find(controls) == controls.end());
        }
        ids.merge(own);
    }
    for (const Experiment& experiment : experiments()) {
        for (const Control& control : experiment.controls) {
            for (const std::string& name : control.fail) {
                INFO(experiment.name << "." << name);
                CHECK(ids.contains(experiment.name + "." + name));
            }
        }
    }
}
