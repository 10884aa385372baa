// Training with 8-bit operands: delayed scales and MX blocks.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/checkpoint.hpp"
#include "engine/digits.hpp"
#include "engine/operand_scaling.hpp"
#include "engine/random.hpp"
#include "engine/trainer.hpp"
#include "softfloat/round.hpp"

namespace {

using namespace ulp;

Matrix row_of(const std::vector<float>& values) {
    Matrix row(1, static_cast<Index>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) row(0, static_cast<Index>(i)) = values[i];
    return row;
}

TEST_CASE("a delayed scale is the largest power of two that would have fitted the uses before") {
    ScalingHistory history;
    const auto use = [&](float magnitude) {
        return with_delayed_scale(row_of({magnitude, -1.0F}), formats::e4m3, "place", 2, history);
    };
    const ScaledMatrix first = use(1000.0F);  // nothing known: the scale is 1, and 1000 saturates at 448
    CHECK(first.inverse_scale == 1);
    CHECK(first.matrix(0, 0) == 448.0F);
    const ScaledMatrix second = use(1000.0F);  // 1000 / 4 = 250 fits below 448, 1000 / 2 = 500 does not
    CHECK(second.inverse_scale == 4);
    CHECK(second.matrix(0, 0) == 256.0F);  // 250 on E4M3's grid of 16s, a tie apart
    CHECK(second.matrix(0, 1) == -0.25F);
    CHECK(use(3.0F).inverse_scale == 4);
    CHECK(use(3.0F).inverse_scale == 4);        // 1000 is still remembered
    CHECK(use(3.0F).inverse_scale == 0x1p-7F);  // 3 * 128 = 384
    CHECK(history.at("place") == std::vector<float>{3.0F, 3.0F});
}

TEST_CASE("infinities and NaNs do not enter the history") {
    ScalingHistory history;
    (void)with_delayed_scale(row_of({INFINITY, 2.0F, NAN}), formats::e5m2, "p", 4, history);
    CHECK(history.at("p") == std::vector<float>{2.0F});
    (void)with_delayed_scale(row_of({0.0F}), formats::e5m2, "q", 4, history);
    CHECK(with_delayed_scale(row_of({1.0F}), formats::e5m2, "q", 4, history).inverse_scale == 1);
}

TEST_CASE("MX blocks keep a power of two for each 32 numbers along a row") {
    Random random(1);
    Matrix rows(3, 70);
    for (Index i = 0; i < rows.size(); ++i) {
        rows.data()[i] = static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(20)) - 10));
    }
    const Matrix blocks = in_blocks(rows, formats::e4m3);
    int wrong = 0;
    for (Index i = 0; i < 3; ++i) {
        for (Index first = 0; first < 70; first += 32) {
            const Index last = std::min<Index>(first + 32, 70);
            float largest = 0;
            for (Index j = first; j < last; ++j) largest = std::max(largest, std::abs(rows(i, j)));
            const float scale = std::ldexp(1.0F, std::ilogb(largest) - 8);  // E4M3's largest power of two is 2^8
            for (Index j = first; j < last; ++j) {
                Context saturate{.saturate = true};
                const float expected = round_to(formats::e4m3, rows(i, j) / scale, saturate) * scale;
                wrong += blocks(i, j) == expected ? 0 : 1;
            }
        }
    }
    CHECK(wrong == 0);
}

struct Seen {
    std::string layer;
    std::string pass;
    ProductTypes types;
};

/// A few steps on digits; what the products were, and the losses.
std::pair<std::vector<Seen>, std::vector<double>> run(std::string_view recipe, std::string_view backend, int steps) {
    Trainer<float> trainer(Engine(recipe, backend), 1);
    const Mlp<float> net(trainer.model(), {196, 32, 10});
    trainer.optimize({.learning_rate = 0.1, .momentum = 0.9});
    trainer.keep_trace = false;
    std::vector<Seen> seen;
    trainer.engine().product_tap = [&](const ProductRecord& p) {
        seen.push_back({std::string(p.layer), std::string(p.pass), p.types});
    };
    const Dataset data = generated_digits({.count = 400, .side = 14, .seed = 1});
    BatchSchedule batches(data.size(), 50, 1);
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) {
        const Batch batch = batch_of(data, batches.next());
        losses.push_back(trainer
                             .step([&](Tape<float>& tape) {
                                 return cross_entropy(net(images_on(tape, batch.images)), batch.labels);
                             })
                             .loss);
    }
    return {seen, losses};
}

TEST_CASE("fp8 products take E4M3, gradients E5M2, in the matrix unit's own arithmetic") {
    const auto [seen, losses] = run("fp8", "soft:h100", 1);
    REQUIRE(seen.size() == 5);
    CHECK(name_of(seen[0].types) == "e4m3->fp32");
    CHECK(seen[2].pass == "input gradient");
    CHECK(name_of(seen[2].types) == "e5m2*e4m3->fp32");
    CHECK(name_of(seen[4].types) == "e5m2*e4m3->fp32");
}

TEST_CASE("fp8 and MX training learn as bf16 does, and are not bf16") {
    const std::vector<double> bf16 = run("bf16", "soft:ieee", 40).second;
    for (const char* recipe : {"fp8", "mxfp8"}) {
        CAPTURE(recipe);
        const std::vector<double> losses = run(recipe, "soft:ieee", 40).second;
        CHECK(losses[3] != bf16[3]);
        CHECK(losses.back() < 0.5);
        CHECK(bf16.back() < 0.5);
    }
}

TEST_CASE("delayed scales continue from a checkpoint") {
    const std::filesystem::path file = std::filesystem::temp_directory_path() / "ulplab_fp8_checkpoint";
    struct Run {
        Trainer<float> trainer{Engine("fp8", "soft:ieee"), 1};
        Mlp<float> net{trainer.model(), {64, 8, 10}};
        Dataset data = generated_digits({.count = 32, .side = 8, .seed = 1});
        BatchSchedule batches{32, 8, 1};
        Run() { trainer.optimize({.learning_rate = 0.1}); }
        void step() {
            const Batch batch = batch_of(data, batches.at(trainer.steps()));
            trainer.step(
                [&](Tape<float>& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); });
        }
    };
    Run straight;
    for (int i = 0; i < 8; ++i) straight.step();
    Run first;
    for (int i = 0; i < 4; ++i) first.step();
    save_checkpoint(file, first.trainer);
    Run second;
    load_checkpoint(file, second.trainer);
    for (int i = 0; i < 4; ++i) second.step();
    std::filesystem::remove(file);
    CHECK(digests_of(second.trainer.model()) == digests_of(straight.trainer.model()));
    CHECK(*second.trainer.engine().scaling_history == *straight.trainer.engine().scaling_history);
}

}  // namespace
