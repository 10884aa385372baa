#include "backend_runs.hpp"
#include "control_runs.hpp"
#include "softfloat/errors.hpp"

using namespace ulp;

TEST_CASE("every experiment has a control") {
    for (const Experiment& experiment : experiments()) {
        INFO(experiment.name);
        CHECK_FALSE(experiment.controls.empty());
    }
}

TEST_CASE("a claim that a control makes hold has not failed, but of a refuted one that is its failure") {
    const auto with = [](Verdict a, Verdict b, Verdict c) {
        std::vector<Claim> claims(3);
        claims[0] = {"sample.a", "", "", "", "", a};
        claims[1] = {"sample.b", "", "", "", "", b};
        claims[2] = {"sample.c", "", "", "", "", c};
        return claims;
    };
    using enum Verdict;
    const Register quick{RunSize::quick, 1, "", "", "", with(reproduced, refuted, refuted)};
    const Register full{RunSize::full, 1, "", "", "", with(reproduced, refuted, reproduced)};
    const auto names = [&](const std::vector<Claim>& before, const std::vector<Claim>& after) {
        return text_of(failed_claims(before, after, {quick, full}));
    };
    CHECK(names(with(reproduced, refuted, refuted), with(undecided, reproduced, reproduced)) == "a b");
    CHECK(names(with(undecided, undecided, undecided), with(reproduced, reproduced, reproduced)) == "b");
    CHECK(names(with(undecided, undecided, undecided), with(refuted, refuted, refuted)) == "a c");
    CHECK(names(with(Verdict::failed, refuted, reproduced), with(refuted, refuted, undecided)) == "c");
}

TEST_CASE("with the effect switched off the claims about it fail, and no others") { try_controls(RunSize::smoke); }

TEST_CASE("an experiment asks for the backend that it is given, or says why it takes none") {
    for (const Experiment& experiment : experiments()) {
        INFO(experiment.name);
        std::string error;
        try {
            smoke_run(experiment, "nonesuch");
        } catch (const std::exception& thrown) {
            error = thrown.what();
        }
        CHECK((error.find("nonesuch") == std::string::npos) == !experiment.without_backend.empty());
    }
}

TEST_CASE("experiments run on a backend that is made of two, and their figures name the hardware that they show") {
    const std::vector<std::string> short_net = {"steps=8", "seeds=1"};
    const std::vector<std::pair<const char*, std::vector<std::string>>> cheap = {
        {"overflow", {}},       {"swamping", {}},     {"training_step", {}},         {"roofline", {}},
        {"coordinate_net", {}}, {"clip_norm", {}},    {"wide_softmax", {"seeds=1"}}, {"attention", {"seeds=1"}},
        {"big_lstm", {}},       {"step_protocol", {}}};
    for (const auto& [name, assignments] : cheap) try_checked_backend(experiment_by_name(name), assignments);
    try_checked_backend(experiment_by_name("gradient_histogram"), short_net);
    try_checked_backend(experiment_by_name("gpu_generations"), short_net);
}
