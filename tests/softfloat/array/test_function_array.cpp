// Functions on arrays against the scalar functions.
#include <doctest/doctest.h>

#include <bit>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "operands.hpp"
#include "softfloat/array/function_tables.hpp"
#include "softfloat/array/functions.hpp"
#include "softfloat/array/kernels/function_kernel.hpp"
#include "softfloat/array/kernels/function_plan.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/functions/functions.hpp"
#include "softfloat/vector/dispatch.hpp"
#include "softfloat/vector/vec_portable.hpp"

namespace {

using ulp::Context;
using ulp::FloatFormat;
using ulp::Rounding;
using ulp::array::bytes_of;
using ulp::array::Function;
using Words = std::vector<std::uint64_t>;

Function function_at(int index) { return static_cast<Function>(index); }

/// How many elements differ from the scalar function's.
std::size_t mismatches(const FloatFormat& format, Function made, Function claimed, const Context& context,
                       const Words& words, ulp::Simd simd = ulp::simd_choice()) {
    const auto in = ulp::test::to_bytes(words, bytes_of(format));
    std::vector<unsigned char> out(in.size());
    ulp::array::evaluate_words(format, made, in.data(), out.data(), words.size(), context, simd);
    const auto evaluate = ulp::array::scalar_function(claimed);
    std::size_t count = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        Context scalar = scalar_context(context, i);
        const std::uint64_t expected = evaluate(format, words[i], scalar);
        count += expected != ulp::test::word_at(out, bytes_of(format), i) ? 1 : 0;
    }
    return count;
}

Words every_third_code(const FloatFormat& format) {
    Words words;
    const std::uint64_t step = format.storage_bits() <= 8 ? 1 : 3;
    const std::uint64_t end = std::uint64_t{1} << (8 * bytes_of(format));
    for (std::uint64_t code = 0; code < end; code += step) words.push_back(code);
    return words;
}

}  // namespace

TEST_CASE("array functions of short formats equal the scalar functions") {
    for (const auto& format :
         {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::e4m3, ulp::formats::e5m2fnuz, ulp::formats::e2m1}) {
        const Words words = every_third_code(format);
        for (int i = 0; i < ulp::array::functions; ++i) {
            CHECK_MESSAGE(mismatches(format, function_at(i), function_at(i), {}, words) == 0, i);
        }
        const Context up{.rounding = Rounding::up, .flush_outputs = true, .saturate = true};
        CHECK(mismatches(format, Function::exp, Function::exp, up, words) == 0);
        CHECK(mismatches(format, Function::tanh, Function::tanh, {.rounding = Rounding::odd}, words) == 0);
    }
}

TEST_CASE("array functions of long formats and by chance equal the scalar functions") {
    for (const auto& format : {ulp::formats::fp32, ulp::formats::tf32}) {
        const Words words = ulp::test::codes(format, 1000);
        for (int i = 0; i < ulp::array::functions; ++i) {
            CHECK_MESSAGE(mismatches(format, function_at(i), function_at(i), {}, words) == 0, i);
            CHECK(mismatches(format, function_at(i), function_at(i), {.rounding = Rounding::down}, words) == 0);
        }
    }
    const Context stochastic{.rounding = Rounding::stochastic, .random_bits = 12, .seed = 4};
    const Words words = ulp::test::codes(ulp::formats::fp16, 2000);
    CHECK(mismatches(ulp::formats::fp16, Function::log, Function::log, stochastic, words) == 0);
}

/// Operands whose results lie near boundaries, at the ends of a range, or in the middle: any bits, numbers from -32 to
/// 32, tiny ones, small integers and their neighbours.
Words many_operands(const FloatFormat& format, std::size_t count) {
    Words words = ulp::test::codes(format, 100);
    std::uint64_t state = 7;
    const std::uint64_t kept = ~std::uint64_t{0} << format.padding_bits & 0xFFFFFFFF;
    for (std::size_t i = 0; words.size() < count; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const auto random = static_cast<std::uint32_t>(state >> 32);
        const float ordinary = static_cast<float>(static_cast<std::int32_t>(random) >> 8) * 0x1p-18F;
        const float near_integer = static_cast<float>(static_cast<int>(random % 256) - 128);
        const auto word = [](float x) { return std::bit_cast<std::uint32_t>(x); };
        const std::uint32_t choices[] = {random, word(ordinary), word(ordinary * 0x1p-20F),
                                         word(near_integer) + static_cast<std::uint32_t>(random >> 8) % 5 - 2};
        words.push_back(choices[i % 4] & kept);
    }
    return words;
}

TEST_CASE("vector functions of fp32 and tf32 equal the scalar functions: every rounding, every set of instructions") {
    const Context options{.flush_inputs = true, .flush_outputs = true, .saturate = true};
    for (const auto& format : {ulp::formats::fp32, ulp::formats::tf32}) {
        const Words words = many_operands(format, 4003);
        for (const ulp::Simd simd : ulp::supported_simd()) {
            for (int i = 0; i < ulp::array::functions; ++i) {
                for (const Rounding rounding : ulp::test::deterministic_roundings()) {
                    CAPTURE(i);
                    CAPTURE(static_cast<int>(rounding));
                    CHECK(mismatches(format, function_at(i), function_at(i), {.rounding = rounding}, words, simd) == 0);
                }
                CHECK(mismatches(format, function_at(i), function_at(i), options, words, simd) == 0);
            }
        }
    }
}

TEST_CASE("stochastic functions of short formats equal the scalar functions, by table") {
    for (const auto& format : {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::e4m3, ulp::formats::e5m2fnuz,
                               ulp::formats::e2m1, ulp::formats::e8m0}) {
        const Words words = every_third_code(format);
        for (int i = 0; i < ulp::array::functions; ++i) {
            const bool few_bits = i % 2 == 0;
            Context context{.rounding = Rounding::stochastic, .random_bits = few_bits ? 1 : 12, .seed = 9, .first = 3};
            CAPTURE(i);
            CHECK(mismatches(format, function_at(i), function_at(i), context, words) == 0);
            context.flush_inputs = context.flush_outputs = context.saturate = true;
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
        const Words words = many_operands(format, 4003);
        for (const ulp::Simd simd : ulp::supported_simd()) {
            for (int i = 0; i < ulp::array::functions; ++i) {
                for (const int bits : {1, 12, 29, 32}) {
                    CAPTURE(i);
                    CAPTURE(bits);
                    Context context{.rounding = Rounding::stochastic, .random_bits = bits, .seed = 9, .first = 3};
                    CHECK(mismatches(format, function_at(i), function_at(i), context, words, simd) == 0);
                    if (bits != 12) continue;
                    context.flush_inputs = context.flush_outputs = context.saturate = true;
                    CHECK(mismatches(format, function_at(i), function_at(i), context, words, simd) == 0);
                }
            }
        }
    }
    const Words words = many_operands(ulp::formats::fp32, 2000);
    const Context made{.rounding = Rounding::stochastic, .random_bits = 32, .first = (std::uint64_t{1} << 34) - 1001};
    CHECK(mismatches(ulp::formats::fp32, Function::tanh, Function::tanh, made, words) == 0);
}

TEST_CASE("vector functions of fp32 equal the scalar functions: 50,000 operands of each") {
    const Words words = many_operands(ulp::formats::fp32, 50000);
    for (int i = 0; i < ulp::array::functions; ++i) {
        CHECK_MESSAGE(mismatches(ulp::formats::fp32, function_at(i), function_at(i), {}, words) == 0, i);
    }
}

/// fp32 results of a kernel that it takes for decided and that are wrong.
std::size_t wrongly_decided(const ulp::array::FunctionPlan& plan, Function function, const Words& words,
                            std::size_t& undecided) {
    const auto& kernels = ulp::kernels_of<ulp::array::FunctionKernels>(ulp::simd_choice());
    std::size_t wrong = 0;
    std::vector<std::uint32_t> in(words.begin(), words.end());
    std::vector<std::uint32_t> out(in.size());
    std::vector<std::uint16_t> places(in.size());
    undecided =
        kernels.kernel[static_cast<std::size_t>(function)](plan, in.data(), out.data(), in.size(), places.data());
    const auto evaluate = ulp::array::scalar_function(function);
    for (std::size_t i = 0, next = 0; i < in.size(); ++i) {
        if (next < undecided && places[next] == i) {
            ++next;
            continue;
        }
        ulp::Context context;
        wrong += evaluate(ulp::formats::fp32, in[i], context) != out[i] ? 1 : 0;
    }
    return wrong;
}

/// exp with a quick phase that is off by 2^-`bits`.
template <int bits>
struct ExpOff : ulp::functions::Exp {
    template <class Real>
    static constexpr Real quick(Real x) {
        const Real y = ulp::functions::Exp::quick(x);
        return y + y * ulp::quick_phase::power_of_two(-bits);
    }
};
/// Results that the kernel and the scalar code with this quick phase decide wrongly.
struct WrongResults {
    std::size_t kernel = 0;
    std::size_t scalar = 0;
};
template <class Function>
WrongResults wrong_with(const std::vector<std::uint32_t>& in) {
    const auto plan = ulp::array::function_plan(ulp::formats::fp32, Rounding::nearest_even);
    std::vector<std::uint32_t> out(in.size());
    std::vector<std::uint16_t> undecided(in.size());
    undecided.resize(ulp::array::evaluate_array<ulp::vec::Portable, Function>(*plan, in.data(), out.data(), in.size(),
                                                                              undecided.data()));
    for (const std::size_t place : undecided) {
        Context context;
        out[place] = static_cast<std::uint32_t>(ulp::exp_bits(ulp::formats::fp32, in[place], context));
    }
    WrongResults wrong;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto x = std::bit_cast<float>(in[i]);
        Context context;
        const std::uint64_t expected =
            ulp::evaluate_bits_accurately<ulp::functions::Exp>(ulp::formats::fp32, in[i], context);
        wrong.kernel += out[i] != expected ? 1 : 0;
        wrong.scalar += std::bit_cast<std::uint32_t>(ulp::evaluate_fp32<Function>(x)) != expected ? 1 : 0;
    }
    return wrong;
}

/// fp32 numbers whose exponential, as a double, lies within so many of the double's last places of a midpoint of fp32.
Words near_midpoints(std::size_t count, std::uint64_t within) {
    Words words;
    for (std::uint32_t word = 0x3D000001; words.size() < count; ++word) {
        const double y = ulp::quick_phase::exp(static_cast<double>(std::bit_cast<float>(word)));
        const std::uint64_t rest = std::bit_cast<std::uint64_t>(y) & 0x1FFFFFFF;
        if (rest > 0x10000000 - within && rest < 0x10000000 + within) words.push_back(word);
    }
    return words;
}

TEST_CASE("the rounding test catches results near a boundary, one that tests another boundary does not") {
    const Words words = near_midpoints(1000, 1 << 15);
    const auto plan = ulp::array::function_plan(ulp::formats::fp32, Rounding::nearest_even);
    REQUIRE(plan);
    std::size_t undecided = 0;
    CHECK(wrongly_decided(*plan, Function::exp, words, undecided) == 0);
    CHECK(undecided > words.size() / 8);
    CHECK(undecided < words.size() / 2);
    ulp::array::FunctionPlan mutant = *plan;
    mutant.from_boundary = ulp::array::quick_margin;  // that of rounding toward zero
    wrongly_decided(mutant, Function::exp, words, undecided);
    CHECK(undecided == 0);
    const Words nearest = near_midpoints(20, 1 << 8);
    CHECK(wrongly_decided(*plan, Function::exp, nearest, undecided) == 0);
    CHECK(undecided == nearest.size());
    mutant = *plan;
    mutant.push_positive = 0;
    CHECK(wrongly_decided(mutant, Function::exp, words, undecided) > words.size() / 4);
}

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

TEST_CASE("an error bound that is too small is seen: results near a midpoint come out wrong") {
    const Words words = near_midpoints(1000, std::uint64_t{1} << 18);
    const std::vector<std::uint32_t> in(words.begin(), words.end());
    const WrongResults none = wrong_with<ulp::functions::Exp>(in);
    CHECK(none.kernel == 0);
    CHECK(none.scalar == 0);
    // Within the bound of 2^-40, though not of what the phases keep.
    const WrongResults at_bound = wrong_with<ExpOff<41>>(in);
    CHECK(at_bound.kernel == 0);
    CHECK(at_bound.scalar == 0);
    const WrongResults beyond = wrong_with<ExpOff<37>>(in);
    CHECK(beyond.kernel > 10);
    CHECK(beyond.scalar > 10);
}

TEST_CASE("subnormal results are decided in vectors too, on their own grid") {
    Words words;
    for (std::uint32_t word = 0xC2AEAC50; word < 0xC2D00000; word += 97) words.push_back(word);  // exp: 2^-126 and less
    words.resize(20000);
    const auto plan = ulp::array::function_plan(ulp::formats::fp32, Rounding::nearest_even);
    std::size_t undecided = 0;
    CHECK(wrongly_decided(*plan, Function::exp, words, undecided) == 0);
    CHECK(undecided < words.size() / 100);
    ulp::array::FunctionPlan mutant = *plan;
    mutant.to_subnormal_grid *= 2;
    CHECK(wrongly_decided(mutant, Function::exp, words, undecided) > words.size() / 4);
    for (const auto& format : {ulp::formats::fp32, ulp::formats::tf32}) {
        for (std::uint64_t& word : words) word &= ~std::uint64_t{0} << format.padding_bits;
        for (const ulp::Simd simd : ulp::supported_simd()) {
            CHECK(mismatches(format, Function::exp, Function::exp, {}, words, simd) == 0);
            CHECK(mismatches(format, Function::exp, Function::exp, {.flush_outputs = true}, words, simd) == 0);
        }
    }
}

TEST_CASE("the comparison finds another function and another rounding") {
    for (const auto& format : {ulp::formats::fp16, ulp::formats::e5m2, ulp::formats::fp32}) {
        const Words words = ulp::test::codes(format, 1000);
        for (int i = 0; i < ulp::array::functions; ++i) {
            CHECK(mismatches(format, function_at((i + 1) % ulp::array::functions), function_at(i), {}, words) != 0);
        }
    }
    // The table of one rounding is not taken for another's.
    const Words words = every_third_code(ulp::formats::fp16);
    for (const Rounding rounding : ulp::test::deterministic_roundings()) {
        CHECK(mismatches(ulp::formats::fp16, Function::sigmoid, Function::sigmoid, {.rounding = rounding}, words) == 0);
    }
}

TEST_CASE("typed functions, of one operand and of two, in place and from several threads") {
    std::vector<ulp::fp16> x;
    for (int i = 0; i < 1001; ++i) x.push_back(ulp::fp16{static_cast<double>(i - 500) / 64});
    std::vector<std::thread> threads;
    std::vector<std::size_t> wrong(4);
    for (std::size_t t = 0; t < wrong.size(); ++t) {
        threads.emplace_back([&x, &count = wrong[t]] {
            std::vector<ulp::fp16> y = x;
            ulp::gelu_array<ulp::fp16>(y, y, {.rounding = Rounding::down});
            Context down{.rounding = Rounding::down};
            for (std::size_t i = 0; i < x.size(); ++i) count += y[i].bits() != gelu(x[i], down).bits() ? 1 : 0;
        });
    }
    for (auto& thread : threads) thread.join();
    for (const std::size_t count : wrong) CHECK(count == 0);

    std::vector<ulp::fp16> y(x.size());
    ulp::pow_array<ulp::fp16>(x, x, y);
    CHECK(y[600].bits() == pow(x[600], x[600]).bits());
    ulp::hypot_array<ulp::fp16>(x, y, y, {.rounding = Rounding::toward_zero});
    Context toward_zero{.rounding = Rounding::toward_zero};
    CHECK(y[700].bits() == hypot(x[700], pow(x[700], x[700]), toward_zero).bits());
}

TEST_CASE("arrays of different sizes and formats that are too long are refused") {
    std::vector<ulp::bf16> five(5);
    std::vector<ulp::bf16> four(4);
    CHECK_THROWS_WITH_AS(ulp::tanh_array<ulp::bf16>(five, four),
                         "tanh_array: arrays of 5 and 4 elements; give arrays of the same size", std::invalid_argument);
    CHECK_THROWS_AS(ulp::pow_array<ulp::bf16>(five, four, five), std::invalid_argument);
    std::vector<double> doubles(5);
    CHECK_THROWS_AS(ulp::exp_array<double>(doubles, doubles), std::invalid_argument);
}
