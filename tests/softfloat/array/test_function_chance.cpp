// Functions on arrays with stochastic rounding against the scalar functions.
#include <doctest/doctest.h>

#include <bit>
#include <vector>

#include "function_cases.hpp"
#include "softfloat/array/kernels/function_kernels.hpp"
#include "softfloat/array/kernels/function_plan.hpp"
#include "softfloat/functions/functions.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace {

using ulp::Context;
using ulp::Rounding;
using ulp::array::Function;
using ulp::test::every_third_code;
using ulp::test::function_at;
using ulp::test::many_operands;
using ulp::test::mismatches;

/// fp32 words, and random numbers that carry just about, or just not, as far as a double tells: what they add up to
/// lies up to `within` units of the double away from the next fp32 number.
struct NearCarries {
    std::vector<std::uint32_t> words, random;
    NearCarries(std::size_t count, std::int64_t within) {
        for (std::uint32_t i = 0; i < count; ++i) {
            words.push_back(0x3D000001 + 4099 * i);
            const double y = ulp::quick_phase::exp(static_cast<double>(std::bit_cast<float>(words.back())));
            const std::int64_t rest = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(y) & 0x1FFFFFFF);
            const std::int64_t off = static_cast<std::int64_t>(i) * 7919 % (2 * within + 1) - within;
            random.push_back(static_cast<std::uint32_t>((0x20000000 - rest + off) << 3));
        }
    }
};
struct Decisions {
    std::size_t wrong = 0, undecided = 0;
};
Decisions decisions_of(ulp::array::FunctionPlan plan, const NearCarries& near, ulp::Simd simd) {
    std::vector<std::uint32_t> out(near.words.size());
    std::vector<std::uint16_t> places(out.size());
    plan.random = near.random.data();
    const auto kernel =
        ulp::kernels_of<ulp::array::FunctionKernels>(simd).kernel[static_cast<std::size_t>(Function::exp)];
    Decisions decisions;
    decisions.undecided = kernel(plan, near.words.data(), out.data(), out.size(), places.data());
    for (std::size_t i = 0, next = 0; i < out.size(); ++i) {
        if (next < decisions.undecided && places[next] == i) {
            ++next;
            continue;
        }
        Context context{.rounding = Rounding::stochastic, .random_bits = 32, .random = near.random[i]};
        const auto expected =
            ulp::evaluate_bits_accurately<ulp::functions::Exp>(ulp::formats::fp32, near.words[i], context);
        decisions.wrong += expected != out[i] ? 1 : 0;
    }
    return decisions;
}

}  // namespace

TEST_CASE("stochastic functions of short formats equal the scalar functions, by table") {
    for (const auto& format : {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::e4m3, ulp::formats::e5m2fnuz,
                               ulp::formats::e2m1, ulp::formats::e8m0}) {
        const auto words = every_third_code(format);
        for (int i = 0; i < ulp::array::functions; ++i) {
            const bool few_bits = i % 2 == 0;
            Context context{.rounding = Rounding::stochastic, .random_bits = few_bits ? 1 : 12, .seed = 9, .first = 3};
            CAPTURE(i);
            CHECK(mismatches(format, function_at(i), function_at(i), context, words) == 0);
            context.saturate = context.flush_inputs = context.flush_outputs = true;
            context.random_bits = few_bits ? 20 : 2;
            CHECK(mismatches(format, function_at(i), function_at(i), context, words) == 0);
        }
        Context before{.rounding = Rounding::stochastic,
                       .tininess = ulp::Tininess::before_rounding,
                       .flush_outputs = true,
                       .random_bits = 32};
        CHECK(mismatches(format, Function::exp, Function::exp, before, words) == 0);
        before.first = (std::uint64_t{1} << 34) - 100;
        CHECK(mismatches(format, Function::exp, Function::exp, before, words) == 0);
    }
}

TEST_CASE("the chance of a result is that of the scalar function, to one random number") {
    std::size_t wrong = 0;
    std::size_t by_chance = 0;
    for (const auto& format : {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::e4m3, ulp::formats::e2m1}) {
        for (const bool flushes : {false, true}) {
            for (const int bits : {3, 11, 30, 32}) {
                Context context{.rounding = Rounding::stochastic, .flush_outputs = flushes, .random_bits = bits};
                const std::uint64_t numbers = std::uint64_t{1} << bits;
                const auto result = [&](std::uint64_t code, std::uint64_t random) {
                    context.random = random;
                    return ulp::exp_bits(format, code, context);
                };
                for (const std::uint64_t code : every_third_code(format)) {
                    const auto chance = ulp::evaluate_chance<ulp::functions::Exp>(format, code, context);
                    if (chance.fraction == 0) {
                        wrong += result(code, 0) != chance.down || result(code, numbers - 1) != chance.down ? 1 : 0;
                        continue;
                    }
                    ++by_chance;
                    const std::uint64_t first_up = numbers - chance.fraction;
                    wrong += result(code, first_up) != chance.up || result(code, first_up - 1) != chance.down ? 1 : 0;
                }
            }
        }
    }
    CHECK(wrong == 0);
    CHECK(by_chance > 100000);
}

TEST_CASE("from twice a function's end on, a result's chance does not change") {
    const Context context{.rounding = Rounding::stochastic, .random_bits = 32};
    const auto chance_at = [&](ulp::array::Function function, float x) {
        return ulp::array::chance_function(function)(ulp::formats::fp32, std::bit_cast<std::uint32_t>(x), context);
    };
    const float largest = 0x1.FFFFFEp127F;
#define ULPLAB_FUNCTION(name, Definition) ulp::functions::Definition::ends(),
    const ulp::functions::Ends ends[] = {ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)};
#undef ULPLAB_FUNCTION
    std::size_t changed = 0;
    for (int i = 0; i < ulp::array::functions; ++i) {
        const auto [low, high, beside, step] = ends[i];
        CAPTURE(i);
        if (low >= -largest) CHECK(chance_at(function_at(i), 2 * low) == chance_at(function_at(i), -largest));
        if (high <= largest) CHECK(chance_at(function_at(i), 2 * high) == chance_at(function_at(i), largest));
        if (high <= largest) changed += chance_at(function_at(i), high) == chance_at(function_at(i), largest) ? 0 : 1;
    }
    CHECK(changed == 3);  // tanh, sigmoid, erf
}

TEST_CASE("stochastic functions of fp32 and tf32 equal the scalar functions in every set of instructions") {
    for (const auto& format : {ulp::formats::fp32, ulp::formats::tf32}) {
        const auto words = many_operands(format, 4003);
        for (const ulp::Simd simd : ulp::supported_simd()) {
            for (int i = 0; i < ulp::array::functions; ++i) {
                for (const int bits : {1, 12, 29, 32}) {
                    CAPTURE(i);
                    CAPTURE(bits);
                    Context context{.rounding = Rounding::stochastic, .random_bits = bits, .seed = 9, .first = 3};
                    CHECK(mismatches(format, function_at(i), function_at(i), context, words, simd) == 0);
                    if (bits != 12) continue;
                    context.saturate = context.flush_inputs = context.flush_outputs = true;
                    CHECK(mismatches(format, function_at(i), function_at(i), context, words, simd) == 0);
                }
            }
        }
    }
    const auto words = many_operands(ulp::formats::fp32, 2000);
    const Context made{.rounding = Rounding::stochastic, .random_bits = 32, .first = (std::uint64_t{1} << 34) - 1001};
    CHECK(mismatches(ulp::formats::fp32, Function::tanh, Function::tanh, made, words) == 0);
}

TEST_CASE("results that a random number only just carries are left undecided, and decided wrongly without a margin") {
    auto plan = ulp::array::function_plan(ulp::formats::fp32, Rounding::stochastic);
    REQUIRE(plan);
    const NearCarries within(2000, 1 << 12);
    const NearCarries around(2000, 1 << 15);
    for (const ulp::Simd simd : ulp::supported_simd()) {
        CHECK(decisions_of(*plan, within, simd).undecided == within.words.size());
        const Decisions some = decisions_of(*plan, around, simd);
        CHECK(some.wrong == 0);
        CHECK(some.undecided > around.words.size() / 8);
        CHECK(some.undecided < around.words.size() / 2);
        ulp::array::FunctionPlan mutant = *plan;
        mutant.from_boundary += std::uint64_t{1} << 28;  // the boundaries of rounding to nearest
        const Decisions blind = decisions_of(mutant, NearCarries(2000, 2), simd);
        CHECK(blind.undecided == 0);
        CHECK(blind.wrong > 0);
        mutant = *plan;
        ++mutant.random_shift;
        CHECK(decisions_of(mutant, around, simd).wrong > around.words.size() / 8);
    }
}
