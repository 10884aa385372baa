// What the experiments on hardware count with.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/nets/byte_planner.hpp"
#include "engine/nets/nets.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/shared/roofline_model.hpp"

using namespace ulp;

TEST_CASE("published_numbers: all that is arithmetic holds, the rest says what it would need") {
    const Experiment& experiment = experiment_by_name("published_numbers");
    Result result(experiment.name);
    experiment.run({1, RunSize::quick, "", Settings(experiment.settings, RunSize::quick), [](double) {}}, result);
    for (const Claim& claim : result.claims()) {
        INFO(claim.id);
        CHECK(claim.verdict != Verdict::failed);
        CHECK((claim.measured.find("not measured: ") == 0) == (claim.verdict == Verdict::quoted));
    }
}

TEST_CASE("the planner counts GPT-2 and small nets") {
    const Gpt2Plan plan = gpt2_plan();
    CHECK(gpt2_bytes(plan, 1, 1) == plan.parameters + plan.scalars + plan.mask_bytes);
    const NetPlan small{digit_cnn(8, 16)};
    CHECK(small.parameters() == 80 + 1168 + 7850);
    // One more image than the largest batch does not fit, the largest does.
    const std::int64_t batch = small.largest_batch(1 << 26, 2);
    CHECK(small.training_bytes(batch, 2) <= 1 << 26);
    CHECK(small.training_bytes(batch + 1, 2) > 1 << 26);
    CHECK(small.largest_batch(0, 2) == 0);
    CHECK_THROWS_AS((void)NetPlan{net_by_name("residual").layers(8)}.training_bytes(1, 4), std::invalid_argument);
}

TEST_CASE("products are refused with the reason") {
    const ProductTypes half{formats::fp16, formats::fp32};
    CHECK(refusal(half, 64, 1024, 1024).empty());
    CHECK(refusal(half, 63, 1024, 1023) == "m = 63 is not a multiple of 8; pad it to 64");
    CHECK(refusal(half, 64, 1023, 1024) == "n = 1023 is not a multiple of 8; pad it to 1024");
    CHECK(refusal(half, 64, 1024, 1023) == "k = 1023 is not a multiple of 8; pad it to 1024");
    CHECK(refusal({formats::bf16, formats::fp32}, 64, 64, 64) ==
          "the operands are bf16, a V100's Tensor Cores take fp16");
}

TEST_CASE("the H100's speeds that claims name are those of its file") {
    const std::string text = read_file(ULPLAB_RECORDINGS "/h100_80gb_hbm3/throughput.csv");
    for (const h100::Row& row : h100::rows) {
        const std::string line = fmt::format("\n{},{},", row.product, row.by);
        const std::string end = fmt::format(",{:.2f},", row.rate);
        bool found = false;
        for (std::size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1)) {
            const std::string rest = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
            found = found || (rest.find(fmt::format(",{},", row.shape)) != std::string::npos &&
                              rest.find(end) != std::string::npos);
        }
        INFO(row.product << ' ' << row.by << ' ' << row.shape);
        CHECK(found);
    }
}
