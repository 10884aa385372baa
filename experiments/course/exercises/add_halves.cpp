// Exercise: the sum of two halves.
#include <cmath>
#include <utility>

#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "add_halves";

Word sum_of(Word a, Word b, Context context = {}) {
    return static_cast<Word>(add_bits<std::uint64_t>(formats::fp16, a, b, context));
}

/// The smaller operand moved right to the larger one's exponent, with `guard_bits` more places; what falls off is lost.
Word aligned_sum(Word a, Word b, int guard_bits) {
    if ((a & 0x7FFF) < (b & 0x7FFF)) std::swap(a, b);
    const auto x = decode<std::uint64_t>(formats::fp16, a);
    const auto y = decode<std::uint64_t>(formats::fp16, b);
    if (x.kind != Kind::finite || y.kind != Kind::finite) return sum_of(a, b);
    const auto large = static_cast<std::int64_t>(x.significand << guard_bits);
    const auto small = static_cast<std::int64_t>(y.significand << guard_bits >> (x.exponent - y.exponent));
    const std::int64_t sum = x.sign == y.sign ? large + small : large - small;
    if (sum == 0) return 0;
    Context context;
    return static_cast<Word>(
        round_to_bits(formats::fp16, x.sign, x.exponent - guard_bits, static_cast<std::uint64_t>(sum), context));
}

Words solve(const Words& question, std::string_view mistake) {
    const Word a = question[0];
    const Word b = question[1];
    const Word right = sum_of(a, b);
    if (mistake == "truncated") {
        const Word cut = sum_of(a, b, {.rounding = Rounding::toward_zero});
        return {(right & 0x7FFF) == 0x7C00 && (cut & 0x7FFF) == 0x7BFF ? right : cut};
    }
    if (mistake == "lost_carry") return {without_carry(right, sum_of(a, b, {.rounding = Rounding::toward_zero}))};
    if (mistake == "infinity_above_65504" && right == ((right & 0x8000) | 0x7BFF)) {
        const double exact = static_cast<double>(single(widened(a))) + static_cast<double>(single(widened(b)));
        return {std::fabs(exact) > 65504 ? right + 1 : right};
    }
    if (mistake == "ties_away") return {sum_of(a, b, {.rounding = Rounding::nearest_away})};
    if (mistake == "no_guard_bits") return {aligned_sum(a, b, 0)};
    if (mistake == "no_sticky_bit") return {aligned_sum(a, b, 3)};
    if (mistake == "flushed_subnormals") return {flushed_half(sum_of(flushed_half(a), flushed_half(b)))};
    if (mistake == "infinities_cancel" && is_nan_half(right) && !is_nan_half(a) && !is_nan_half(b)) return {0};
    if (mistake == "negative_zero" && (right & 0x7FFF) == 0) return {a & 0x8000};
    return {right};
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    const auto pair = [](Random& r, int low, int high) {
        return Words{random_half(r, low, high), random_half(r, low, high)};
    };
    const auto near = [&](Random& r) {
        const auto field = static_cast<int>(r.between(4, 26));
        return pair(r, field - 1, field + 1);
    };
    Group specials =
        ideas.group("zeros, infinities and NaNs", 1, {"infinities_cancel", "negative_zero"}, 100, [](Random& r) {
            const Word special[] = {0x0000, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0x7C01, random_half(r, 1, 30)};
            const Word a = special[r.below(7)];
            return Words{a, r.below(4) == 0 ? a ^ 0x8000 : special[r.below(7)]};
        });
    for (const Word a : {0x0000U, 0x8000U, 0x7C00U, 0xFC00U}) {
        for (const Word b : {0x0000U, 0x8000U, 0x7C00U, 0xFC00U, 0x3C00U}) ideas.add(specials, {a, b});
    }
    return {ideas.group("to the nearest", 3, {"truncated"}, 1000, near),
            ideas.group("ties", 1, {"ties_away", "truncated"}, 600, near),
            ideas.group("what the smaller operand loses", 3, {"no_guard_bits", "no_sticky_bit"}, 1500,
                        [&](Random& r) { return pair(r, 1, 29); }),
            ideas.group("subnormals", 1, {"flushed_subnormals"}, 600, [&](Random& r) { return pair(r, 0, 2); }),
            ideas.group("carries and the end of the range", 1,
                        {"lost_carry", "infinity_above_65504", "truncated", "no_guard_bits"}, 300,
                        [&](Random& r) {
                            if (r.below(2) == 0) {  // 1.1111111111 and a little more
                                const Word a = random_half(r, 8, 28) | 0x3FF;
                                return Words{a, (a & 0xFC00) - 0x2C00 + static_cast<Word>(r.below(0x400))};
                            }
                            // Every other sum lies beside 65504 or beside 65520.
                            const Word small = random_half(r, 14, 19) & 0x7FFF;
                            const Word sign = static_cast<Word>(r.below(2)) << 15;
                            return Words{(0x7BFF - static_cast<Word>(r.below(2))) | sign, small | sign};
                        }),
            specials};
}

}  // namespace

Exercise add_halves_exercise() {
    return {
        name,
        "Add two halves",
        "h",
        "h",
        {{"lost_carry", "loses the carry where rounding up overflows the fraction"},
         {"infinity_above_65504", "gives infinity for every sum above 65504; up to 65520 the nearest half is 65504"},
         {"truncated", "truncates the sum instead of rounding it to nearest"},
         {"ties_away", "rounds ties away from zero; they go to the neighbour with the even significand"},
         {"no_guard_bits", "cuts the smaller operand at the larger one's last place before it adds"},
         {"no_sticky_bit", "keeps a few guard bits but forgets whether anything below them was cut (the sticky bit)"},
         {"flushed_subnormals", "flushes subnormals: operands and sums below 2^-14 count as zero"},
         {"infinities_cancel", "gives zero for infinity minus infinity; that is invalid: NaN"},
         {"negative_zero", "gives an exact zero the sign of the first operand; x + (-x) is +0 to nearest"}},
        solve,
        hidden,
        "a b",
        "sum",
        {},
        false,
        Arithmetic::integers};
}

}  // namespace ulp::course
