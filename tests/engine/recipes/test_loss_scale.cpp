// The scalers' published behaviour: traces worked out from each dialect's source.
#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/recipes/loss_scale.hpp"

namespace {

using namespace ulp;

/// A dialect from 64K with factor 2, as in the traces.
LossScaleOptions from_64k(std::string_view dialect, std::int64_t window, int hysteresis = 1) {
    LossScaleOptions options = loss_scale_dialect(dialect);
    options.initial = 65536;
    options.window = window;
    options.hysteresis = hysteresis;
    return options;
}

/// Trace A: a gradient of 0.25 in fp16 overflows while 0.25 * scale rounds to infinity (from 65520).
std::string trace_a(const LossScaleOptions& options, int steps) {
    LossScale scale(options);
    std::string text;
    for (int i = 0; i < steps; ++i) {
        const bool overflow = 0.25 * scale.value() >= 65520;
        text += std::to_string(static_cast<int>(scale.value() / 1024)) + (overflow ? "* " : " ");
        scale.update(overflow);
    }
    return text;
}

/// Trace B: overflows forced at steps 3, 6, 9, 12 (counted from 0); the scale after each.
std::string trace_b(const LossScaleOptions& options) {
    LossScale scale(options);
    std::string text;
    for (int i = 0; i <= 12; ++i) {
        const bool overflow = i > 0 && i % 3 == 0;
        scale.update(overflow);
        if (overflow) text += std::to_string(static_cast<int>(scale.value() / 1024)) + " ";
    }
    return text;
}

TEST_CASE("golden trace A: the sawtooth of a gradient that fits up to 128K") {
    const std::string sawtooth = "64 64 64 64 128 128 128 128 256* 128 128 128 128 256* 128 128 128 128 256* ";
    for (const char* dialect : {"pytorch", "apex", "fairseq", "deepspeed", "keras", "fp16_utils", "megatron"}) {
        CAPTURE(dialect);
        CHECK(trace_a(from_64k(dialect, 4), 19) == sawtooth);
    }
    const std::string hesitant = "64 64 64 64 128 128 128 128 256* 256* 128 128 128 128 256* 256* 128 ";
    CHECK(trace_a(from_64k("megatron", 4, 2), 17) == hesitant);
    CHECK(trace_a(from_64k("deepspeed", 4, 2), 17) == hesitant);
}

TEST_CASE("golden trace B: overflows every third step") {
    for (const char* dialect : {"pytorch", "apex", "fairseq"}) {
        CAPTURE(dialect);
        CHECK(trace_b(from_64k(dialect, 100)) == "32 16 8 4 ");
    }
    CHECK(trace_b(from_64k("megatron", 100, 2)) == "64 32 16 8 ");
    CHECK(trace_b(from_64k("deepspeed", 100, 2)) == "64 32 16 8 ");
    LossScaleOptions consecutive = from_64k("deepspeed", 100, 2);
    consecutive.consecutive_hysteresis = true;
    CHECK(trace_b(consecutive) == "64 64 64 64 ");
    LossScaleOptions tolerant = from_64k("fairseq", 100);
    tolerant.tolerance = 0.3;
    CHECK(trace_b(tolerant) == "64 64 32 16 ");
    tolerant.tolerance = 0.25;
    CHECK(trace_b(tolerant) == "32 16 8 4 ");
}

TEST_CASE("each dialect starts where its documentation says") {
    const std::vector<std::pair<std::string, double>> starts = {
        {"pytorch", 0x1p16},  {"apex", 0x1p16},      {"fp16_utils", 0x1p32}, {"fairseq", 0x1p15},
        {"megatron", 0x1p32}, {"deepspeed", 0x1p16}, {"keras", 0x1p15},      {"constant", 1}};
    for (const auto& [dialect, initial] : starts) CHECK(LossScale(loss_scale_dialect(dialect)).value() == initial);
    for (const LossScaleOptions& row : loss_scale_dialects()) {
        const bool hesitates = row.dialect == "megatron" || row.dialect == "deepspeed";
        CHECK(row.hysteresis == (hesitates ? 2 : 1));
    }
}

TEST_CASE("ceilings: apex stops at 2^24, PyTorch where the product leaves fp32") {
    const auto grown = [](LossScaleOptions options) {
        options.window = 1;
        LossScale scale(options);
        for (int i = 0; i < 300; ++i) scale.update(false);
        return scale.value();
    };
    LossScaleOptions apex = loss_scale_dialect("apex");
    CHECK(grown(apex) == 0x1p24);
    apex.initial = apex.maximum = 0.5;
    CHECK(grown(apex) == 0.5);
    CHECK(grown(loss_scale_dialect("pytorch")) == 0x1p127);
}

TEST_CASE("floors: fp16_utils stays at 1, PyTorch has none, fairseq gives up") {
    LossScale floored(loss_scale_dialect("fp16_utils"));
    LossScale bottomless(loss_scale_dialect("pytorch"));
    LossScale endless(loss_scale_dialect("apex"));
    for (int i = 0; i < 1026; ++i) {
        floored.update(true);
        bottomless.update(true);
        endless.update(true);
    }
    CHECK(floored.value() == 1);
    CHECK(bottomless.value() == 0);       // fp32 ends at 2^-149
    CHECK(endless.value() == 0x1p-1010);  // "why did the scale fall to 1e-303?"
    LossScale fairseq(loss_scale_dialect("fairseq"));
    int survived = 0;
    try {
        for (; survived < 100; ++survived) fairseq.update(true);
    } catch (const std::runtime_error& error) {
        CHECK(std::string(error.what()).find("fell to its minimum 0.0001") != std::string::npos);
    }
    CHECK(survived == 28);  // 2^15 halved 29 times lies below 1e-4
    CHECK(fairseq.value() == 0x1p-13);
}

TEST_CASE("a constant scale never moves") {
    LossScale scale(constant_loss_scale(128));
    for (int i = 0; i < 5000; ++i) scale.update(i % 3 == 0);
    CHECK(scale.value() == 128);
}

TEST_CASE("a scaler's state continues where it stopped") {
    LossScaleOptions options = from_64k("deepspeed", 5, 2);
    LossScale straight(options);
    LossScale first(options);
    const auto overflow = [](int i) { return i % 7 == 3 || i % 11 == 4; };
    for (int i = 0; i < 23; ++i) first.update(overflow(i));
    options.growth = 4;  // the state's counts
    LossScale second(options);
    second.load(first.state());
    for (int i = 0; i < 23; ++i) straight.update(overflow(i));
    for (int i = 23; i < 60; ++i) {
        straight.update(overflow(i));
        second.update(overflow(i));
        REQUIRE(straight.value() == second.value());
    }
    CHECK(straight.state() == second.state());
    auto broken = first.state();
    CHECK(broken.size() == 9);
    broken["scale"] = 0;
    CHECK_THROWS_AS(second.load(broken), std::invalid_argument);
    broken.erase("scale");
    CHECK_THROWS_WITH_AS(second.load(broken), "the scaler's state lacks 'scale'", std::invalid_argument);
}

TEST_CASE("senseless options are refused") {
    CHECK_THROWS_AS((void)loss_scale_dialect("unknown"), std::invalid_argument);
    LossScaleOptions options = loss_scale_dialect("pytorch");
    options.growth = 1;
    CHECK_THROWS_AS(LossScale{options}, std::invalid_argument);
    options = loss_scale_dialect("pytorch");
    options.window = 0;
    CHECK_THROWS_AS(LossScale{options}, std::invalid_argument);
    CHECK_THROWS_AS(LossScale{constant_loss_scale(0)}, std::invalid_argument);
    CHECK_THROWS_AS(LossScale{constant_loss_scale(INFINITY)}, std::invalid_argument);
}

}  // namespace
