// The register of claims, and results beside it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "experiments/framework/experiment.hpp"
#include "experiments/framework/register.hpp"
#include "experiments/framework/standing.hpp"
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
    CHECK(text_of(found.front(), all) == "sample.a: undecided, where the register of quick runs says reproduced");
    other.claims.front().id = "sample.b";
    CHECK(text_of(deviations("sample", other.claims, all).at(0), all) ==
          "sample.b: the register of quick runs does not have this claim");
    CHECK(text_of(deviations("sample", {}, all).at(0), all) ==
          "sample.a: not claimed in this run, where the register of quick runs says reproduced");
    CHECK(deviations("samp", {}, all).empty());
    other.claims.front().id = "unregistered.a";
    CHECK(deviations("unregistered", other.claims, all).empty());
    Register outdated = all;
    outdated.outdated = {{"sample.a", "0123456789abcdef"}};
    CHECK(deviations("sample", result_with(Verdict::undecided).claims, outdated).empty());
}

TEST_CASE("a register is made of runs of one size, seed and thing left out, with the experiments' own settings") {
    const StoredResult first = result_with(Verdict::reproduced);
    const auto refused = [&](const char* why, const auto& change) {
        StoredResult other = first;
        change(other);
        CHECK_THROWS_WITH_AS(register_of({first, other}), doctest::Contains(why), DataError);
    };
    refused("is of seed 2, and the first of seed 1", [](StoredResult& r) { r.seed = 2; });
    refused("is a full run, and the first a quick one", [](StoredResult& r) { r.mode = "full"; });
    refused("is of other settings", [](StoredResult& r) { r.own_settings = false; });
    refused("without \"scale\"", [](StoredResult& r) { r.without = "scale"; });
    StoredResult other = first;
    other.seed = 3;
    CHECK(name_of(register_of({other})) == "quick runs with seed 3");
    other.seed = 1;
    other.without = "scale";
    CHECK(name_of(register_of({other})) == "quick runs without scale");
    StoredResult published = first;
    published.experiment = "mnist_cnn";
    published.mode = "published";
    published.own_settings = false;
    published.changed_settings = {{"mnist", "/data"}};
    CHECK(name_of(register_of({published})) == "published runs");
    published.changed_settings.emplace_back("epochs", "1");
    CHECK_THROWS_WITH_AS(register_of({published}), doctest::Contains("is of other settings"), DataError);
    CHECK_THROWS_WITH_AS(merged(register_of({first}), register_of({other})),
                         "these are quick runs without scale, the register is of quick runs", DataError);
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
    // A claim that was restated since its run keeps the digest of what was expected then, run of its own or not.
    Register restated = first;
    restated.outdated = {{"swamping.a", "earlier"}, {"formats.b", "before"}};
    const std::string kept = register_json(merged(restated, later));
    CHECK(kept.find("\"expectation\":\"before\"") != std::string::npos);
    CHECK(kept.find("\"expectation\":\"earlier\"") == std::string::npos);
    Register full = later;
    full.size = RunSize::full;
    CHECK_THROWS_WITH_AS(merged(first, full), "these are full runs, the register is of quick runs", DataError);
}

namespace {

/// A register of one claim of the experiment swamping.
Register one_claim(RunSize size, std::uint64_t seed, Verdict verdict, const std::string& expected = "1") {
    Register all{size, seed, "2030-01-01", "", "", {{"swamping.a", "source", "says", expected, "1", verdict}}};
    all.claims.front().kind = ClaimKind::measured;
    return all;
}

}  // namespace

TEST_CASE("a replaced row goes into the history where its verdict changed, or where it failed and was restated") {
    using enum Verdict;
    const Register was = one_claim(RunSize::full, 1, failed);
    const Register restated = merged(was, one_claim(RunSize::full, 1, reproduced, "2"), std::vector{was});
    REQUIRE(restated.history.size() == 1);
    CHECK(restated.history.front().claim.verdict == failed);
    CHECK(restated.history.front().claim.expected == "1");
    CHECK(restated.late == std::vector<std::string>{"swamping.a"});
    const Register again = merged(restated, one_claim(RunSize::full, 1, reproduced, "2"), std::vector{restated});
    CHECK(again.history.size() == 1);
    CHECK(again.late.empty());
    const Register worded = merged(again, one_claim(RunSize::full, 1, reproduced, "two"), std::vector{again});
    CHECK(worded.history.size() == 1);
    CHECK(worded.late.size() == 1);
    const std::string text = register_json(worded);
    CHECK(text.find(R"("history": [
{"id":"swamping.a","date":"2030-01-01","verdict":"failed")") != std::string::npos);
    // Beside a register that has the texts only what differs is written.
    const Register texts = one_claim(RunSize::quick, 1, reproduced, "two");
    CHECK(register_json(worded, &texts).find("\"statement\":\"says\",\"expected\":\"two\"") == std::string::npos);
    const std::string row = "{\"id\":\"swamping.a\",\"verdict\":\"reproduced\",\"expectation\":\"" +
                            expectation_of(worded.claims.front()) + "\"}";
    CHECK(register_json(worded, &texts).find(row) != std::string::npos);
}

TEST_CASE("a claim stands as at the worst of its seeds, by the full run where it has one of the same expectation") {
    using enum Verdict;
    const auto stands = [](const std::vector<Register>& registers) { return standings(registers).at(0); };
    const Register quick = one_claim(RunSize::quick, 1, undecided);
    const Register full = one_claim(RunSize::full, 1, reproduced);
    CHECK(verdict_text(stands({quick, full})) == "reproduced");
    CHECK(runs_text(stands({quick, full})) == "full (quick: undecided)");
    CHECK(contradictions(std::vector{quick, full}).at(0).at(3) == "the full run");
    const Register good = one_claim(RunSize::quick, 3, reproduced);
    CHECK(verdict_text(stands({quick, full, good})) == "reproduced");
    const Standing three = stands({quick, full, good, one_claim(RunSize::quick, 7, refuted)});
    CHECK(verdict_text(three) == "refuted (reproduced at 2 of 3 seeds)");
    CHECK(three.claim.verdict == refuted);
    CHECK(runs_text(three) == "full, quick at seed 3, quick at seed 7 (quick: undecided)");
    // A published run stands beside the others, and what it alone claims is a row.
    Register published = one_claim(RunSize::published, 1, refuted);
    published.claims.push_back(published.claims.front());
    published.claims.back().id = "swamping.only_published";
    const auto with_published = standings(std::vector{quick, full, published});
    REQUIRE(with_published.size() == 2);
    CHECK(with_published[0].claim.verdict == reproduced);
    CHECK(runs_text(with_published[0]) == "full, published: refuted (quick: undecided)");
    CHECK(runs_text(with_published[1]) == "published");
    Register outdated = full;
    outdated.outdated = {{"swamping.a", "0123456789abcdef"}};
    CHECK(verdict_text(stands({quick, outdated})) == "undecided");
    CHECK(runs_text(stands({quick, outdated})) ==
          "quick (full: reproduced, judged before its expectation was restated)");
    Register universal = one_claim(RunSize::quick, 1, refuted);
    CHECK(verdict_text(stands({universal, full})) == "reproduced");
    universal.claims.front().universal = true;
    CHECK(verdict_text(stands({universal, full})) == "refuted");
    // What is as good in short runs alone differs not yet; what is left out has its effect beside the claim.
    Register parity = one_claim(RunSize::quick, 1, reproduced);
    parity.claims.front().parity = ParityInterval{0.1, -0.01, 0.01, 3};
    CHECK(verdict_text(stands({parity})) == "no difference yet");
    std::vector<Register> all = {parity};
    for (const char* part : parts_left_out) {
        all.push_back(parity);
        all.back().without = part;
    }
    CHECK(sentence_of(stands(all)).ends_with("here nothing of it is needed.)"));
    all.back().claims.front().verdict = refuted;
    CHECK(stands(all).sensitivity.back() == std::pair<std::string, std::string>{"all", "worse"});
    CHECK(sentence_of(stands(all)) == "says");
    CHECK(stands(all).p.value().holm == doctest::Approx(stands(all).p.value().alone));
}

TEST_CASE("the forms of claims that failed in a committed full register are in its history") {
    const Register full = read_register(RunSize::full);
    std::set<std::string> failed;
    for (const EarlierForm& form : full.history) {
        if (form.claim.verdict == Verdict::failed) failed.insert(form.claim.id);
    }
    for (const char* id : {"bert.next_sentence", "cast_policy.smallest_list", "char_lstm.weights_below_one",
                           "coordinate_net.predicted_share", "inpainting.gram_swamps_less", "speech.collapse",
                           "wide_softmax.predicted_share"}) {
        CHECK(failed.contains(id));
    }
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
