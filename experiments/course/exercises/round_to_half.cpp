// Exercise: a single to the nearest half, ties to even.
#include <cmath>

#include "experiments/course/exercises/common.hpp"
#include "softfloat/neighbours.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "round_to_half";

/// To 11 significant bits first, as if exponents had no end, and then to a half.
Word rounded_twice(Word value) {
    const Word odd = value >> 13 & 1;
    return half_of((value + 0xFFF + odd) & ~Word{0x1FFF});
}

Words solve(const Words& question, std::string_view mistake) {
    const Word value = question[0];
    const float magnitude = std::fabs(single(value));
    const Word sign = value >> 16 & 0x8000;
    if (std::isnan(magnitude) && mistake == "nan_payload_cut") return {sign | 0x7C00 | (value >> 13 & 0x3FF)};
    if (std::isnan(magnitude)) return {mistake == "nan_becomes_infinity" ? sign | 0x7C00 : 0x7E00};
    if (mistake == "lost_carry")
        return {without_carry(half_of(value), half_of(value, {.rounding = Rounding::toward_zero}))};
    if (mistake == "infinity_above_65504" && magnitude > 65504) return {sign | 0x7C00};
    if (mistake == "truncated" && magnitude < 65536) return {half_of(value, {.rounding = Rounding::toward_zero})};
    if (mistake == "ties_away") return {half_of(value, {.rounding = Rounding::nearest_away})};
    if (mistake == "flushed_subnormals" && magnitude < 0x1p-14F) return {sign};
    if (mistake == "rounded_twice") return {rounded_twice(value)};
    if (mistake == "saturated") return {half_of(value, {.saturate = true})};
    if (mistake == "overflow_at_65536" && magnitude < 65536 && magnitude >= 65520) return {sign | 0x7BFF};
    return {half_of(value)};
}

/// A number that lies exactly in the middle of two halves, or next to such a middle.
Words near_tie(Random& random, int low, int high, Word fraction = 0) {
    Context exact;
    const Word half = random_half(random, low, high) | fraction;
    const float here = single(widened(half));
    const float next = single(widened(static_cast<Word>(next_up_bits(formats::fp16, half, exact))));
    const float middle = (here + next) / 2;
    return {bits(middle) + static_cast<Word>(random.between(-1, 1)) * static_cast<Word>(random.below(2))};
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    Group range =
        ideas.group("the end of the range", 1, {"saturated", "overflow_at_65536", "infinity_above_65504", "truncated"},
                    200, [](Random& r) { return Words{random_single(r, 14, 17)}; });
    for (const float x : {65504.F, 65519.996F, 65520.F, 65520.004F, 65536.F, 1e30F, 0x1.FFEFFEp15F}) {
        ideas.add(range, {bits(x)});
        ideas.add(range, {bits(-x)});
    }
    Group specials =
        ideas.group("zeros, infinities and NaNs", 1, {"nan_payload_cut", "nan_becomes_infinity"}, 20, [](Random& r) {
            return Words{0x7F800000 | static_cast<Word>(r.below(1 << 23)) | static_cast<Word>(r.below(2) << 31)};
        });
    for (const Word word : {0U, 0x80000000U, 0x7F800000U, 0xFF800000U, 0x7F800001U}) ideas.add(specials, {word});
    return {
        ideas.group("to the nearest", 3, {"truncated"}, 1000,
                    [](Random& r) { return Words{random_single(r, -14, 14)}; }),
        ideas.group("ties", 2, {"ties_away", "truncated"}, 1000, [](Random& r) { return near_tie(r, 1, 29); }),
        ideas.group("carries into the exponent", 1, {"lost_carry", "truncated", "ties_away"}, 300,
                    [](Random& r) { return near_tie(r, 1, 28, 0x3FF); }),
        ideas.group("subnormals", 2, {"flushed_subnormals", "rounded_twice"}, 1000,
                    [](Random& r) { return r.below(4) == 0 ? near_tie(r, 0, 0) : Words{random_single(r, -27, -15)}; }),
        range,
        specials};
}

}  // namespace

Exercise round_to_half_exercise() {
    return {
        name,
        "Round to nearest even",
        "s",
        "h",
        {{"truncated", "truncates: it cuts the low bits off instead of rounding to nearest"},
         {"ties_away", "rounds ties away from zero; they go to the neighbour with the even significand"},
         {"rounded_twice", "rounds twice among subnormals: to 11 significant bits first, then to the coarser grid"},
         {"flushed_subnormals", "flushes subnormals: what lies below 2^-14 becomes zero"},
         {"saturated", "gives 65504 where the result is infinite"},
         {"overflow_at_65536", "keeps 65504 from 65520 up to 65536; from 65520 on the nearest half is infinity"},
         {"infinity_above_65504", "gives infinity for everything above 65504; up to 65520 the nearest half is 65504"},
         {"lost_carry",
          "loses the carry where rounding up overflows the fraction: 1.1111111111 must become 10.0, not 1.0"},
         {"nan_payload_cut", "cuts a NaN's fraction to ten bits: a NaN whose upper bits are 0 becomes infinity"},
         {"nan_becomes_infinity", "makes an infinity of a NaN"}},
        solve,
        hidden,
        "x",
        "half"};
}

}  // namespace ulp::course
