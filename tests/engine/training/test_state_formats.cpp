// 16-bit weights without masters, and the formats in which an optimizer keeps its tensors: against computations of
// their own, element by element.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/tensor/random.hpp"
#include "engine/tensor/rounder.hpp"
#include "engine/training/optimizer.hpp"
#include "engine/training/trainer.hpp"
#include "softfloat/names.hpp"
#include "softfloat/quantization/quantize.hpp"
#include "softfloat/round.hpp"

namespace {

using namespace ulp;

TEST_CASE("stochastic rounding of an array takes the words of Random, wherever the array begins") {
    Random numbers(5, "numbers");
    for (const FloatFormat& format : {formats::bf16, formats::fp16, formats::e4m3, formats::e5m2}) {
        for (const Context& options : {Context{}, Context{.flush_outputs = true}, Context{.saturate = true}}) {
            CAPTURE(name_of(format));
            const ComputeFormat target{format, options};
            for (const std::uint64_t first : {0U, 1U, 2U, 1023U, 1024U, 4097U}) {
                std::vector<float> values(1500);
                for (float& x : values) {
                    x = std::bit_cast<float>(static_cast<std::uint32_t>(numbers.next() >> 32));
                    if (numbers.below(2) == 0) x = static_cast<float>(numbers.normal());
                }
                std::vector<float> expected = values;
                const Random random(9, 77);
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    Context one = results_of(options);
                    one.rounding = Rounding::stochastic;
                    one.random_bits = 24;
                    one.random = random.at(first + i) >> 40;
                    expected[i] = round_to(format, expected[i], one);
                }
                round_stochastically(target, 9, 77, first, std::span(values));
                int differ = 0;
                for (std::size_t i = 0; i < values.size(); ++i) {
                    differ +=
                        std::bit_cast<std::uint32_t>(values[i]) == std::bit_cast<std::uint32_t>(expected[i]) ? 0 : 1;
                }
                CHECK(differ == 0);
            }
        }
    }
}

TEST_CASE("stochastic rounding of updates is refused where it would change nothing, and the message says why") {
    const OptimizerOptions stochastic{.rounding = UpdateRounding::stochastic};
    for (const char* name : {"fp32", "bf16", "mixed_fp16", "fp16", "pure_bf16", "msamp_o2"}) {
        CAPTURE(name);
        Model model(recipe_by_name(name), 1);
        CHECK_THROWS_WITH_AS(Optimizer(model, stochastic), doctest::Contains("stochastic rounding of updates changes"),
                             std::invalid_argument);
    }
    for (const char* name : {"bf16_weights", "fp16_weights", "bf16_sr", "bf16_kahan"}) {
        Model model(recipe_by_name(name), 1);
        CHECK(Optimizer(model, stochastic).rounding() == UpdateRounding::stochastic);
    }
    Model model(recipe_by_name("bf16_sr"), 1);
    CHECK(Optimizer(model, {}).rounding() == UpdateRounding::stochastic);
    CHECK(Optimizer(model, {.rounding = UpdateRounding::nearest}).rounding() == UpdateRounding::nearest);
}

float rounded(const FloatFormat& format, float x) { return round_to(format, x); }

/// A tensor kept in a format with a power of two: the largest 2^n with amax 2^n <= M, found by trial.
std::vector<float> kept_scaled(const FloatFormat& format, float most, std::vector<float> values) {
    float amax = 0;
    for (const float x : values) amax = std::max(amax, std::abs(x));
    if (amax == 0) return values;
    int n = -60;
    while (std::ldexp(amax, n + 1) <= most) ++n;
    for (float& x : values) x = std::ldexp(rounded(format, std::ldexp(x, n)), -n);
    return values;
}

struct Moments {
    std::vector<float> m, v, w;
};

/// AdamW in fp32 with PyTorch's formula, by hand.
void adamw(Moments& s, const std::vector<float>& g, int t, const OptimizerOptions& o) {
    const auto f = [](double x) { return static_cast<float>(x); };
    for (std::size_t i = 0; i < g.size(); ++i) {
        s.m[i] = f(o.beta1) * s.m[i] + f(1 - o.beta1) * g[i];
        s.v[i] = f(o.beta2) * s.v[i] + f(1 - o.beta2) * (g[i] * g[i]);
        double b1 = 1;
        double b2 = 1;
        for (int k = 0; k < t; ++k) b1 *= o.beta1, b2 *= o.beta2;
        const float root = std::sqrt(s.v[i]) / f(std::sqrt(1 - b2));
        const float update = f(o.learning_rate / (1 - b1)) * (s.m[i] / (root + f(o.eps)));
        s.w[i] = s.w[i] - (update + f(o.learning_rate * o.weight_decay) * s.w[i]);
    }
}

std::vector<float> gradient_of(Index count, int step, const FloatFormat& format) {
    Random random(3, static_cast<std::uint64_t>(step));
    std::vector<float> g(static_cast<std::size_t>(count));
    for (float& x : g)
        x = rounded(format, std::ldexp(static_cast<float>(random.normal()), -static_cast<int>(random.below(12))));
    return g;
}

std::vector<float> numbers_of(const Tensor& tensor) { return {tensor.values().begin(), tensor.values().end()}; }

/// Six steps of AdamW by the library and by hand; `after` rounds what is kept. Returns the numbers that differ.
template <class After>
int differing_adamw(const char* recipe_name, const After& after, bool scaled_gradient) {
    const Recipe recipe = recipe_by_name(recipe_name);
    Model model(recipe, 1);
    constexpr Index count = 1500;
    Parameter& w = model.add("w", {count}, Init::uniform(0.5));
    const OptimizerOptions options{.kind = OptimizerKind::adamw, .learning_rate = 0.01, .weight_decay = 0.1};
    Optimizer optimizer(model, options);
    Moments expected{std::vector<float>(count), std::vector<float>(count), numbers_of(w.updated())};
    int differ = 0;
    for (int t = 1; t <= 6; ++t) {
        std::vector<float> g = gradient_of(count, t, recipe.weights);
        w.gradient = Tensor({count}, g, recipe.weights);
        optimizer.step();
        if (scaled_gradient) g = kept_scaled(formats::e4m3, 448, g);
        adamw(expected, g, t, options);
        after(expected, t);
        const auto& state = optimizer.state().at("w");
        for (std::size_t i = 0; i < expected.w.size(); ++i) {
            const auto place = static_cast<Index>(i);
            differ += state.at("mean")[place] != expected.m[i] ? 1 : 0;
            differ += state.at("square")[place] != expected.v[i] ? 1 : 0;
            differ += w.updated()[place] != expected.w[i] ? 1 : 0;
            differ += w.value[place] != rounded(recipe.weights, expected.w[i]) ? 1 : 0;
        }
    }
    return differ;
}

TEST_CASE("MS-AMP's AdamW: the weight moves by the moments as computed, then all are rounded with new scales") {
    const auto keep = [](Moments& s, int) {
        s.m = kept_scaled(formats::e4m3, 448, s.m);
        s.v = kept_scaled(formats::fp16, 65504, s.v);
        s.w = kept_scaled(formats::fp16, 65504, s.w);
    };
    CHECK(differing_adamw("msamp_o2", keep, true) == 0);
    // Mutants: gradients that are not rounded, scales of v that lag, masters that are not rounded.
    CHECK(differing_adamw("msamp_o2", keep, false) > 0);
    CHECK(differing_adamw(
              "msamp_o2",
              [&](Moments& s, int) {
                  keep(s, 0);
                  s.v = kept_scaled(formats::fp16, 32752, s.v);
              },
              true) > 0);
    CHECK(differing_adamw(
              "msamp_o2",
              [&](Moments& s, int) {
                  const std::vector<float> w = s.w;
                  keep(s, 0);
                  s.w = w;
              },
              true) > 0);
}

/// A magnitude of E4M3 by its code's fields: exponent, fraction.
double e4m3_magnitude(int code) {
    const int field = code >> 3;
    const double fraction = code & 7;
    return field == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, field - 10);
}
/// The nearest of all codes, of two the even one.
int e4m3_code(double x) {
    int best = 0;
    for (int code = 1; code <= 126; ++code) {
        const double closer =
            std::abs(std::abs(x) - e4m3_magnitude(code)) - std::abs(std::abs(x) - e4m3_magnitude(best));
        if (closer < 0 || (closer == 0 && code % 2 == 0)) best = code;
    }
    return best + (std::signbit(x) ? 128 : 0);
}

/// The model's weight after six steps as bytes and a scale, that is its product's operand, against bytes by hand from
/// the master by hand. `weight_of` says what the bytes are made from. Returns the bytes and the numbers that differ.
template <class WeightOf>
int differing_o3_bytes(ParameterKind kind, const WeightOf& weight_of) {
    const Recipe recipe = recipe_by_name("msamp_o3");
    Model model(recipe, 1);
    constexpr Index count = 960;
    Parameter& w = model.add("fc.weight", {32, 30}, Init::uniform(0.5), kind);
    const OptimizerOptions options{.kind = OptimizerKind::adamw, .learning_rate = 0.01, .weight_decay = 0.1};
    Optimizer optimizer(model, options);
    Moments expected{std::vector<float>(count), std::vector<float>(count), numbers_of(w.updated())};
    int differ = 0;
    for (int t = 0; t <= 6; ++t) {  // 0: as it starts
        std::vector<float> computed = expected.w;
        if (t > 0) {
            const std::vector<float> g = gradient_of(count, t, recipe.weights);
            w.gradient = Tensor({32, 30}, g, recipe.weights);
            optimizer.step();
            adamw(expected, kept_scaled(formats::e4m3, 448, g), t, options);
            expected.m = kept_scaled(formats::e4m3, 448, expected.m);
            expected.v = kept_scaled(formats::fp16, 65504, expected.v);
            computed = expected.w;
            expected.w = kept_scaled(formats::fp16, 65504, expected.w);
        }
        for (Index i = 0; i < count; ++i) {
            differ += w.master[i] != expected.w[static_cast<std::size_t>(i)] ? 1 : 0;
        }
        const std::vector<float> from = weight_of(expected.w, computed);
        float amax = 0;
        for (const float x : from) amax = std::max(amax, std::abs(x));
        int n = -60;
        while (std::ldexp(amax, n + 1) <= 448) ++n;
        const Quantized operand = quantize(*recipe.products.fprop.b.how, MatrixView(w.value.data(), 32, 30));
        differ += operand.scale(0, 0) == std::ldexp(1.0F, -n) ? 0 : 1;
        const std::vector<std::uint8_t> bytes = element_codes(operand);
        for (std::size_t i = 0; i < from.size(); ++i) differ += bytes[i] != e4m3_code(std::ldexp(from[i], n)) ? 1 : 0;
    }
    return differ;
}

TEST_CASE(
    "MS-AMP's O3: a linear layer's weight is E4M3 bytes made from its fp16 master, and enters products as it is") {
    const auto master = [](const std::vector<float>& kept, const std::vector<float>&) { return kept; };
    CHECK(differing_o3_bytes(ParameterKind::linear_weight, master) == 0);
    // Mutants: the weight before the master is rounded, by way of bf16, and a parameter of another layer.
    CHECK(differing_o3_bytes(ParameterKind::linear_weight,
                             [](const std::vector<float>&, const std::vector<float>& computed) { return computed; }) >
          0);
    CHECK(differing_o3_bytes(ParameterKind::linear_weight, [](std::vector<float> kept, const std::vector<float>&) {
              for (float& x : kept) x = rounded(formats::bf16, x);
              return kept;
          }) > 0);
    CHECK(differing_o3_bytes(ParameterKind::ordinary, master) > 0);
}

TEST_CASE("MS-AMP's O3 keeps other parameters as bf16 does, but for their moments") {
    const auto trained = [](const char* recipe, bool narrow_moments) {
        Recipe row = recipe_by_name(recipe);
        row.state.m = row.state.v = std::nullopt;
        if (narrow_moments) row.state.m = {formats::e4m3, true};
        Model model(row, 1);
        Parameter& bias = model.add("fc.bias", {100}, Init::uniform(0.5));
        Optimizer optimizer(model, {.kind = OptimizerKind::adamw, .learning_rate = 0.01});
        for (int t = 1; t <= 3; ++t) {
            bias.gradient = Tensor({100}, gradient_of(100, t, row.weights), row.weights);
            optimizer.step();
        }
        std::vector<float> numbers = numbers_of(bias.master);
        std::ranges::copy(bias.value.values(), std::back_inserter(numbers));
        return numbers;
    };
    CHECK(trained("msamp_o3", false) == trained("bf16", false));
    CHECK(trained("msamp_o3", true) != trained("bf16", false));
}

TEST_CASE("bf16 moments are those of fp32 steps, rounded after each") {
    const auto keep = [](Moments& s, int) {
        for (float& x : s.m) x = rounded(formats::bf16, x);
        for (float& x : s.v) x = rounded(formats::bf16, x);
    };
    CHECK(differing_adamw("bf16_moments", keep, false) == 0);
    CHECK(differing_adamw("bf16", keep, false) > 0);
}

TEST_CASE("16-bit weights without masters: updates in fp32, new weights to nearest, stochastic or compensated") {
    CHECK(differing_adamw(
              "bf16_weights",
              [](Moments& s, int) {
                  for (float& x : s.w) x = rounded(formats::bf16, x);
              },
              false) == 0);
    CHECK(differing_adamw(
              "fp16_weights",
              [](Moments& s, int) {
                  for (float& x : s.w) x = rounded(formats::fp16, x);
              },
              false) == 0);
    const auto stochastic = [](std::uint64_t seed) {
        return [seed](Moments& s, int t) {
            const Random random(seed, hash_of("w") + static_cast<std::uint64_t>(t));
            for (std::size_t i = 0; i < s.w.size(); ++i) {
                Context how{.rounding = Rounding::stochastic, .random_bits = 24, .random = random.at(i) >> 40};
                s.w[i] = round_to(formats::bf16, s.w[i], how);
            }
        };
    };
    CHECK(differing_adamw("bf16_sr", stochastic(0), false) == 0);
    CHECK(differing_adamw("bf16_sr", stochastic(1), false) > 0);
}

TEST_CASE("assigning to a parameter rounds onto its grids, and a number written past them is refused by name") {
    for (const char* name : {"bf16", "bf16_weights", "fp16", "fp32", "msamp_o2"}) {
        CAPTURE(name);
        const Engine engine(name, "soft:ieee");
        Model model(engine.recipe, 1);
        Parameter& w = model.add("fc.weight", {2}, Init::constant(1));
        w.assign(Tensor({2}, std::vector<float>{0.1F, -3.0F}));
        CHECK(w.value[0] == rounded(engine.recipe.weights, 0.1F));
        CHECK(w.value.format() == engine.recipe.weights);
        // msamp_o2's master is in fp16 with the scale 2^14.
        if (!w.master.empty())
            CHECK(w.master[0] ==
                  (std::string(name) == "msamp_o2" ? rounded(formats::fp16, 0.1F * 0x1p14F) * 0x1p-14F : 0.1F));
        CHECK_THROWS_WITH_AS(w.assign(Tensor({3})), "fc.weight has the shape (2), not (3)", std::invalid_argument);
        CHECK(w.value[1] == -3.0F);
        {
            Tape tape(engine);
            CHECK(tape.parameter(w).value()[1] == -3.0F);
        }
        w.value[1] = 0.1F;
        Tape tape(engine);
        if (engine.recipe.weights == formats::fp32) {
            CHECK(tape.parameter(w).value()[1] == 0.1F);
        } else {
            CHECK_THROWS_WITH_AS((void)tape.parameter(w),
                                 doctest::Contains("fc.weight: element 1 is 0.1, which is not a number of"),
                                 std::invalid_argument);
        }
        w.value[1] = std::bit_cast<float>(0x7FC01234U);
        Tape again(engine);
        CHECK(std::isnan(again.parameter(w).value()[1]));
    }
}

TEST_CASE("a scaled tensor keeps its zeros, and one that is not finite stays as it is") {
    CHECK(power_of_two_scale(formats::e4m3, 448.0F) == 1.0F);
    CHECK(power_of_two_scale(formats::e4m3, 449.0F) == 0.5F);
    CHECK(power_of_two_scale(formats::fp16, 0x1p-60F) == 0x1p75F);
    CHECK(power_of_two_scale(formats::fp16, 0x1p-149F) == 0x1p125F);
    CHECK(power_of_two_scale(formats::fp16, std::numeric_limits<float>::max()) == 0x1p-113F);
    for (const float x : {0.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        CHECK(power_of_two_scale(formats::e4m3, x) == 1.0F);
        Tensor tensor({2}, std::vector<float>{x, x == 0 ? 0.0F : 0.3F});
        keep_in({formats::e4m3, true}, {}, tensor);
        CHECK(std::bit_cast<std::uint32_t>(tensor[0]) == std::bit_cast<std::uint32_t>(x));
        CHECK(tensor[1] == (x == 0 ? 0.0F : 0.3F));
    }
}

TEST_CASE("sums of gradients over micro-batches are kept in the format that the recipe says") {
    const auto sum_of = [](std::optional<StateFormat> kept) {
        Recipe recipe = recipe_by_name("bf16");
        recipe.state.gradient = kept;
        Trainer trainer(Engine(recipe, make_backend("soft:ieee")), 1);
        Parameter& w = trainer.model().add("w", {1}, Init::constant(1));
        trainer.optimize({.learning_rate = 1});
        const auto loss_of = [&](double factor) {
            return [&w, factor](Tape& tape) { return reshape(scaled(tape.parameter(w), factor), {}); };
        };
        trainer.step({loss_of(2), loss_of(0x1p-7)});  // each counts one half: 1 + 2^-8
        return 1.0F - w.updated()[0];
    };
    CHECK(sum_of(std::nullopt) == 1.0F);
    CHECK(sum_of(StateFormat{formats::fp32}) == 1.0F + 0x1p-8F);
}

TEST_CASE("the bytes of kept tensors are those of their formats, and a scale takes four") {
    const auto bytes_with = [](const char* recipe, ParameterKind kind = ParameterKind::ordinary) {
        Trainer trainer(Engine(recipe, "soft:ieee"), 1);
        trainer.model().add("w", {1000}, Init::constant(1), kind);
        trainer.optimize({.kind = OptimizerKind::adam});
        const auto bytes = trainer.bytes();
        return std::vector<std::int64_t>{bytes.weights.stored, bytes.masters.stored, bytes.gradients.stored,
                                         bytes.optimizer.stored};
    };
    CHECK(bytes_with("bf16") == std::vector<std::int64_t>{2000, 4000, 2000, 8000});
    CHECK(bytes_with("bf16_moments") == std::vector<std::int64_t>{2000, 4000, 2000, 4000});
    CHECK(bytes_with("bf16_weights") == std::vector<std::int64_t>{2000, 0, 2000, 8000});
    CHECK(bytes_with("bf16_kahan") == std::vector<std::int64_t>{2000, 0, 2000, 10000});
    CHECK(bytes_with("msamp_o2") == std::vector<std::int64_t>{2000, 2004, 1004, 3008});
    CHECK(bytes_with("msamp_o3") == std::vector<std::int64_t>{2000, 4000, 2000, 3008});
    CHECK(bytes_with("msamp_o3", ParameterKind::linear_weight) == std::vector<std::int64_t>{1004, 2004, 1004, 3008});
}

}  // namespace
