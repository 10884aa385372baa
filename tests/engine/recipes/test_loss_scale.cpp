// The scalers' published behaviour: traces worked out from each dialect's source.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/recipes/loss_scale.hpp"
#include "engine/recipes/scaler_state.hpp"

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
}

TEST_CASE("each dialect starts where its documentation says") {
    const std::vector<std::pair<std::string, double>> starts = {
        {"pytorch", 0x1p16},  {"apex", 0x1p16},      {"fp16_utils", 0x1p32}, {"fairseq", 0x1p15},
        {"megatron", 0x1p32}, {"deepspeed", 0x1p16}, {"keras", 0x1p15},      {"constant", 1}};
    for (const auto& [dialect, initial] : starts) CHECK(LossScale(loss_scale_dialect(dialect)).value() == initial);
}

TEST_CASE("ceilings: apex stops at 2^24, PyTorch where the product leaves fp32") {
    LossScaleOptions apex = loss_scale_dialect("apex");
    apex.window = 1;
    LossScale scale(apex);
    for (int i = 0; i < 100; ++i) scale.update(false);
    CHECK(scale.value() == 0x1p24);
    LossScaleOptions pytorch = loss_scale_dialect("pytorch");
    pytorch.window = 1;
    LossScale grown(pytorch);
    for (int i = 0; i < 300; ++i) grown.update(false);
    CHECK(grown.value() == 0x1p127);
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
    broken.erase("scale");
    CHECK_THROWS_WITH_AS(second.load(broken), "the scaler's state lacks 'scale'", std::invalid_argument);
}

TEST_CASE("each dialect writes its state under its own library's names") {
    const auto names = [](const LossScaleOptions& options) {
        std::string text;
        for (const auto& [name, value] : scaler_state_dict(LossScale(options))) text += name + " ";
        return text;
    };
    const auto of = [&](const char* dialect) { return names(loss_scale_dialect(dialect)); };
    CHECK(of("pytorch") == "_growth_tracker backoff_factor growth_factor growth_interval scale ");
    CHECK(of("apex") == "loss_scale unskipped ");
    CHECK(of("fp16_utils") == "cur_iter cur_scale last_overflow_iter scale_factor scale_window ");
    CHECK(of("fairseq") == "loss_scale ");
    CHECK(of("megatron") == "growth_tracker hysteresis_tracker scale ");
    CHECK(of("deepspeed") == "cur_iter cur_scale dynamic_loss_scale last_overflow_iter scale_factor scale_window ");
    CHECK(of("keras") == "current_loss_scale good_steps ");
    CHECK(names(constant_loss_scale(128)) == "scale ");
    const ScalerStateDict fresh = scaler_state_dict(LossScale(loss_scale_dialect("pytorch")));
    CHECK(fresh == ScalerStateDict{{"scale", 65536},
                                   {"growth_factor", 2},
                                   {"backoff_factor", 0.5},
                                   {"growth_interval", 2000},
                                   {"_growth_tracker", 0}});
}

TEST_CASE("a scaler goes on from its library's state as one that never stopped") {
    const auto overflow = [](int i) { return i % 7 == 3 || i % 11 == 4; };
    // Libraries that write everything they remember; DeepSpeed without hysteresis, which it does not write.
    for (const auto& [name, hysteresis] :
         {std::pair{"pytorch", 1}, {"apex", 1}, {"fp16_utils", 1}, {"megatron", 2}, {"deepspeed", 1}, {"keras", 1}}) {
        const std::string dialect = name;
        CAPTURE(dialect);
        const LossScaleOptions options = from_64k(dialect, 3, hysteresis);
        for (int stop = 0; stop < 40; ++stop) {
            LossScale straight(options);
            for (int i = 0; i < stop; ++i) straight.update(overflow(i));
            LossScale resumed(options);
            load_scaler_state_dict(resumed, scaler_state_dict(straight));
            CHECK(scaler_state_dict(resumed) == scaler_state_dict(straight));
            for (int i = stop; i < 80; ++i) {
                straight.update(overflow(i));
                resumed.update(overflow(i));
                REQUIRE(straight.value() == resumed.value());
            }
        }
    }
}

TEST_CASE("what a library does not write starts afresh") {
    LossScaleOptions options = from_64k("deepspeed", 100, 2);
    LossScale scale(options);
    scale.update(true);  // one of two
    LossScale resumed(options);
    load_scaler_state_dict(resumed, scaler_state_dict(scale));
    scale.update(true);
    resumed.update(true);
    CHECK(scale.value() == 32768);
    CHECK(resumed.value() == 65536);  // the hysteresis counts from two again
}

TEST_CASE("a state that is not the scaler's is refused, and whose it is is said") {
    LossScale scale(loss_scale_dialect("pytorch"));
    scale.update(true);
    const double before = scale.value();
    const auto complaint = [&](const ScalerStateDict& state) {
        try {
            load_scaler_state_dict(scale, state);
        } catch (const std::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    const ScalerStateDict good = scaler_state_dict(scale);
    const auto with = [&](const char* name, double value) {
        ScalerStateDict state = good;
        state[name] = value;
        return state;
    };
    CHECK(complaint(scaler_state_dict(LossScale(loss_scale_dialect("megatron")))) ==
          "the state of a 'pytorch' scaler lacks 'growth_factor'; these are the names of the 'megatron' scaler");
    ScalerStateDict short_one = good;
    short_one.erase("_growth_tracker");
    CHECK(complaint(short_one) == "the state of a 'pytorch' scaler lacks '_growth_tracker'");
    CHECK(complaint(with("hysteresis", 2)) == "the state of a 'pytorch' scaler has no 'hysteresis'");
    CHECK(complaint(with("scale", 0)) == "'scale' is 0, where a positive finite scale belongs");
    CHECK(complaint(with("scale", INFINITY)) == "'scale' is inf, where a positive finite scale belongs");
    CHECK(complaint(with("_growth_tracker", 1.5)) ==
          "'_growth_tracker' is 1.5, where a whole number from 0 on belongs");
    CHECK(complaint(with("growth_interval", 0)) == "'growth_interval' is at least 1 step");
    CHECK(complaint(with("growth_factor", 1)) == "'growth_factor' is 1, where a factor above 1 belongs");
    CHECK(scale.value() == before);
    CHECK(complaint(good) == "accepted");
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
