// Integer matrix products: int8, int4 and single bits, exhaustively where the width allows, and what happens at the end
// of int32.
#include <fmt/core.h>

#include <bit>
#include <limits>

#include "engine/tensor/random.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp::integer_products_experiment {
namespace {

/// A unit whose accumulators may be narrower than int32: a control, under which the claims fail.
struct Unit {
    IntegerModel model;
    int accumulator_bits;

    [[nodiscard]] std::int32_t dot(const std::int32_t* a, const std::int32_t* b, std::int32_t c, std::int64_t k) const {
        const auto sum = static_cast<std::uint32_t>(integer_dot(model, a, b, c, k));
        const int unused = 32 - accumulator_bits;
        return static_cast<std::int32_t>(sum << unused) >> unused;
    }
};

Unit unit_of(const RunContext& context, const std::string& key) {
    return {unit_model<IntegerModel>(key), static_cast<int>(context.settings.integer("accumulator_bits"))};
}

/// All pairs of operands, alone and in a group with a large c: how many results are not a * b + c in 64-bit arithmetic.
struct Exhaustive {
    int pairs = 0;
    int wrong = 0;
};
Exhaustive all_pairs(const Unit& unit) {
    const IntegerModel& model = unit.model;
    Exhaustive count;
    const IntegerRange left = operand_range(model, model.a_signed);
    const IntegerRange right = operand_range(model, model.b_signed);
    for (std::int32_t a = left.least; a <= left.greatest; ++a) {
        for (std::int32_t b = right.least; b <= right.greatest; ++b) {
            ++count.pairs;
            for (const std::int32_t c : {0, 1'000'000, -2'000'000}) {
                if (std::int64_t{unit.dot(&a, &b, c, 1)} != std::int64_t{a} * b + c) ++count.wrong;
            }
        }
    }
    return count;
}

void claim_exhaustive(const RunContext& context, Result& result) {
    const std::string slide = cite(sources::volta_talk, "Turing: Int8, Int4, Int1; all accumulate into int32");
    for (const char* types : {"s8", "u8", "s8_u8", "s4", "u4", "s4_u4"}) {
        const std::string key = fmt::format("sm_75:mma.{}.s32", types);
        evidence_of_row(key, result);
        const Exhaustive count = all_pairs(unit_of(context, key));
        result.arithmetic(
            fmt::format("exhaustive_{}", types), slide,
            fmt::format("Every one of the {} pairs of {} operands gives the exact product, added to an int32.",
                        count.pairs, types),
            equal(0, count.wrong, "wrong results"));
    }
}

/// Eight single bits on each side, all 65536 pairs.
void claim_bits(const RunContext& context, Result& result) {
    const Unit unit = unit_of(context, "sm_75:mma.b1_xor.s32");
    evidence_of_row("sm_75:mma.b1_xor.s32", result);
    int wrong_count = 0;
    int wrong_sign = 0;
    for (unsigned x = 0; x < 256; ++x) {
        for (unsigned y = 0; y < 256; ++y) {
            std::array<std::int32_t, 8> a{};
            std::array<std::int32_t, 8> b{};
            int signs = 0;  // the dot product of the same bits as +1 and -1
            for (unsigned i = 0; i < 8; ++i) {
                a[i] = static_cast<std::int32_t>(x >> i & 1);
                b[i] = static_cast<std::int32_t>(y >> i & 1);
                signs += (1 - 2 * a[i]) * (1 - 2 * b[i]);
            }
            const std::int32_t ones = unit.dot(a.data(), b.data(), 0, 8);
            wrong_count += ones == std::popcount(x ^ y) ? 0 : 1;
            wrong_sign += signs == 8 - 2 * ones ? 0 : 1;
        }
    }
    const std::string slide = cite(sources::volta_talk, "Int1 (XOR followed by popcount)");
    result.arithmetic("xor_popcount", slide,
                      "A 1-bit product counts the ones of a xor b: all 65536 pairs of eight bits.",
                      equal(0, wrong_count, "wrong results"));
    result.arithmetic("binary_net", slide,
                      "With bits for +1 and -1 that count is a dot product: k - 2 * popcount(a xor b), on all pairs.",
                      equal(0, wrong_sign, "wrong results"));
}

/// k products of -128 * -128.
std::int32_t largest_products(const Unit& unit, std::int64_t k) {
    const std::vector<std::int32_t> least(static_cast<std::size_t>(k), -128);
    return unit.dot(least.data(), least.data(), 0, k);
}

void claim_overflow(const RunContext& context, Result& result) {
    const Unit wraps = unit_of(context, "sm_75:mma.s8.s32");
    const Unit clamps = unit_of(context, "sm_75:mma.s8.s32.satfinite");
    evidence_of_row("sm_75:mma.s8.s32.satfinite", result);
    const std::string place = cite(sources::ptx, "mma, .satfinite");
    result.arithmetic("int32_holds", place, "int32 holds 131071 products of -128 * -128.",
                      equal(2147467264, largest_products(wraps, 131071)));
    result.arithmetic("int32_wraps", place, "One more wraps to the most negative number.",
                      equal(std::numeric_limits<std::int32_t>::min(), largest_products(wraps, 131072)));
    result.arithmetic("int32_saturates", place, "With .satfinite it stays at the largest.",
                      equal(2147483647, largest_products(clamps, 131072)));
}

/// The same products added in bf16: a control, in which the order matters.
std::int32_t dot_in_bf16(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
    bf16 sum{};
    for (std::size_t i = 0; i < a.size(); ++i) sum += bf16(static_cast<double>(a[i] * b[i]));
    return static_cast<std::int32_t>(static_cast<double>(sum));
}

/// Random int8 vectors in two orders.
void claim_order(const RunContext& context, Result& result) {
    const Unit unit = unit_of(context, "sm_75:mma.s8.s32");
    Random random(context.seed, "integer operands");
    const auto samples = context.settings.integer("samples");
    constexpr std::int64_t k = 256;
    const auto dot = [&](const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
        return has_control(context, "bf16_sums") ? dot_in_bf16(a, b) : unit.dot(a.data(), b.data(), 0, k);
    };
    std::int64_t differ = 0;
    for (std::int64_t i = 0; i < samples; ++i) {
        std::vector<std::int32_t> a;
        std::vector<std::int32_t> b;
        for (std::int64_t j = 0; j < k; ++j) {
            a.push_back(static_cast<std::int32_t>(random.between(-128, 127)));
            b.push_back(static_cast<std::int32_t>(random.between(-128, 127)));
        }
        differ += dot(a, b) == dot({a.rbegin(), a.rend()}, {b.rbegin(), b.rend()}) ? 0 : 1;
    }
    result.measured(
        "no_order", cite(sources::ptx, "mma, integer types"),
        fmt::format("Integer sums have no order: {} random products of length 256, forwards and backwards.", samples),
        equal(0, differ, "differ"));
}

void figure_overflow(const RunContext& context, Result& result) {
    Figure figure{
        "overflow", "The end of int32: sums of the largest int8 products",
        "k products of -128 · -128. Wrapping, as mma does by default, and saturating (.satfinite).", "",
        evidence_of_row("sm_75:mma.s8.s32", result) + ". " + evidence_of_row("sm_75:mma.s8.s32.satfinite", result)};
    const Unit wrapping = unit_of(context, "sm_75:mma.s8.s32");
    const Unit saturating = unit_of(context, "sm_75:mma.s8.s32.satfinite");
    constexpr std::int64_t held = std::numeric_limits<std::int32_t>::max() / (128 * 128);
    figure.meaning = fmt::format(
        "{} of these products add up to {}; with one more the sum is {} by default and {} with .satfinite.", held,
        largest_products(wrapping, held), largest_products(wrapping, held + 1), largest_products(saturating, held + 1));
    const auto sums = [](const std::string& name, const auto& of) {
        return curve(name, std::int64_t{0}, std::int64_t{262144}, of, std::int64_t{2048});
    };
    const auto by = [](const Unit& unit) {
        return [&unit](std::int64_t k) { return static_cast<double>(largest_products(unit, k)); };
    };
    figure.series = {sums("exact", [](std::int64_t k) { return 16384 * static_cast<double>(k); }),
                     sums("wrapping", by(wrapping)), sums("saturating", by(saturating))};
    figure.axes = {{.label = "k, number of products", .from = 0.0, .to = 262144.0, .step = 131072.0},
                   {.label = "sum",
                    .from = -2.6e9,
                    .to = 4.6e9,
                    .names = {{-0x1p31, "-2³¹"}, {0, "0"}, {0x1p31, "2³¹"}, {0x1p32, "2³²"}}}};
    figure.looks = {{.colour = grey, .width = 1.5, .dash = 2}, {.mark = Mark::points, .size = 0.6}, {}};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    claim_exhaustive(context, result);
    claim_bits(context, result);
    claim_overflow(context, result);
    claim_order(context, result);
    context.progress(0.5);
    figure_overflow(context, result);
}

}  // namespace

Experiment experiment() {
    return {"integer_products",
            "Integer matrix products: exact until int32 ends",
            "Are int8, int4 and 1-bit products on matrix units exact, and where do their sums end?",
            {Chapter::hardware, 3},
            {integer_setting("samples", "random products of length 256", 2000, 100000, 10, 10000000).smoke(50),
             integer_setting("accumulator_bits", "bits of the accumulators; fewer than 32 is a control", 32, 32, 8, 32),
             control_setting("bf16_sums adds the products of random vectors in bf16", {"bf16_sums"})},
            run,
            {Control("accumulator_bits=20",
                     "exhaustive_s8 exhaustive_u8 exhaustive_s8_u8 exhaustive_s4 exhaustive_u4 exhaustive_s4_u4 "
                     "int32_holds int32_wraps int32_saturates"),
             Control("control=bf16_sums", "no_order")},
            {},
            "its sums go to the integer units' models themselves, as backends multiply floats alone"};
}

}  // namespace ulp::integer_products_experiment
