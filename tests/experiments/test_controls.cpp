// The experiments on hardware: with the effect switched off, the claims about it fail.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "experiments/byte_planner.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/roofline_model.hpp"

namespace {

using namespace ulp;

/// The claims of a run with these settings.
std::vector<Claim> claims_of(const std::string& name, const std::vector<std::string>& assignments) {
    const Experiment& experiment = experiment_by_name(name);
    Settings settings(experiment.settings, true);
    for (const std::string& assignment : assignments) settings.set(assignment);
    Result result(name);
    experiment.run({1, true, "", std::move(settings), [](double) {}}, result);
    return result.claims();
}

void check_all_hold(const std::vector<Claim>& claims) {
    for (const Claim& claim : claims) {
        INFO(claim.id << ": expected " << claim.expected << ", measured " << claim.measured);
        CHECK(claim.verdict != Verdict::failed);
    }
}

/// Those named fail, and no others.
void check_failed(const std::vector<Claim>& claims, const std::vector<std::string>& names) {
    std::vector<std::string> failed;
    for (const Claim& claim : claims) {
        if (claim.verdict == Verdict::failed) failed.push_back(claim.id.substr(claim.id.find('.') + 1));
    }
    for (const std::string& name : names) {
        INFO(name);
        CHECK(std::find(failed.begin(), failed.end(), name) != failed.end());
    }
    CHECK(failed.size() == names.size());
}

}  // namespace

TEST_CASE("memory: without narrower numbers nothing is saved") {
    check_all_hold(claims_of("memory", {}));
    check_failed(claims_of("memory", {"low_bytes=4"}), {"gpt2_fp16", "gpt2_fp16_mebibytes", "gpt2_int8",
                                                        "gpt2_int8_mebibytes", "cnn_batch_planned", "unet_gains_more"});
}

TEST_CASE("roofline: with Tensor Cores as slow as fp32 no speed-up is left") {
    check_all_hold(claims_of("roofline", {}));
    check_failed(
        claims_of("roofline", {"tensor_core_factor=1"}),
        {"peak", "factor", "amdahl_ResNet-50", "amdahl_DS2", "memory_limited_too", "amortised_write", "concatenation"});
}

TEST_CASE("integer_products: a narrower accumulator is caught") {
    check_all_hold(claims_of("integer_products", {"samples=50"}));
    check_failed(claims_of("integer_products", {"samples=50", "accumulator_bits=20"}),
                 {"exhaustive_s8", "exhaustive_u8", "exhaustive_s8_u8", "exhaustive_s4", "exhaustive_u4",
                  "exhaustive_s4_u4", "int32_holds", "int32_wraps", "int32_saturates"});
}

TEST_CASE("gpu_generations: units that compute alike give no difference, and without promotion FP8 stays wrong") {
    const std::vector<std::string> small = {"steps=10",       "hidden=16",      "train_images=200",
                                            "test_images=50", "longest_k=4096", "seeds=2"};
    const auto with = [&](const std::vector<std::string>& control) {
        std::vector<std::string> settings = small;
        settings.insert(settings.end(), control.begin(), control.end());
        return claims_of("gpu_generations", settings);
    };
    check_all_hold(with({}));
    check_failed(with({"promote_every=0", "units=ieee"}),
                 {"fp8_promotion", "first_bit_V100_A100", "first_bit_A100_H100", "first_bit_V100_IEEE", "drift_V100",
                  "drift_A100", "drift_H100", "drift_B200"});
}

TEST_CASE("published_numbers: all that is arithmetic holds, the rest says what it would need") {
    const std::vector<Claim> claims = claims_of("published_numbers", {});
    check_all_hold(claims);
    for (const Claim& claim : claims) {
        INFO(claim.id);
        CHECK((claim.measured.find("not measured: ") == 0) == (claim.verdict == Verdict::quoted));
    }
}

TEST_CASE("the planner counts GPT-2 and small nets") {
    const Gpt2Plan plan = gpt2_plan();
    CHECK(gpt2_bytes(plan, 1, 1) == plan.parameters + plan.scalars + plan.mask_bytes);
    const CnnPlan small{8, 16};
    CHECK(small.parameters() == 80 + 1168 + 7850);
    // One more image than the largest batch does not fit, the largest does.
    const std::int64_t batch = small.largest_batch(1 << 26, 2);
    CHECK(small.training_bytes(batch, 2) <= 1 << 26);
    CHECK(small.training_bytes(batch + 1, 2) > 1 << 26);
    CHECK(small.largest_batch(0, 2) == 0);
}

TEST_CASE("products are refused with the reason") {
    const ProductTypes half{formats::fp16, formats::fp32};
    CHECK(refusal(half, 64, 1024, 1024).empty());
    CHECK(refusal(half, 63, 1024, 1023) == "m = 63 is no multiple of 8; pad it to 64");
    CHECK(refusal(half, 64, 1023, 1024) == "n = 1023 is no multiple of 8; pad it to 1024");
    CHECK(refusal(half, 64, 1024, 1023) == "k = 1023 is no multiple of 8; pad it to 1024");
    CHECK(refusal({formats::bf16, formats::fp32}, 64, 64, 64) ==
          "the operands are bf16, a V100's Tensor Cores take fp16");
}
