// Exercise: rounding up with the probability of the part that is cut off, by given random bits.
#include <algorithm>
#include <cmath>

#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "stochastic_rounding";
constexpr int random_bits = 13;  // as many as a single has more than a half
constexpr Word random_range = 1 << random_bits;

/// What a half leaves of the magnitude: the first 13 bits, and whether there is more.
struct Cut {
    Word down;      // the half toward zero
    Word fraction;  // in [0, 2^13)
    bool more;
};
Cut cut_of(Word value) {
    const Word down = half_of(value, {.rounding = Rounding::toward_zero});
    const double rest = std::fabs(static_cast<double>(single(value)) - static_cast<double>(single(widened(down))));
    const int exponent = std::max(static_cast<int>(value >> 23 & 0xFF) - 127, -14);
    const double scaled = rest / std::ldexp(1.0, exponent - 10) * random_range;  // exact: powers of two
    return {down, static_cast<Word>(scaled), scaled != std::floor(scaled)};
}

Words solve(const Words& question, std::string_view mistake) {
    const Word value = question[0];
    const Word random = question[1];
    const Cut cut = cut_of(value);
    const Word sign = value >> 16 & 0x8000;
    const bool inexact = cut.fraction != 0 || cut.more;
    const auto towards = [&](bool away) { return Words{cut.down + (away ? 1 : 0)}; };
    if (mistake == "nearest") return {half_of(value)};
    if (mistake == "coin") return towards(inexact && random >= random_range / 2);
    if (mistake == "mirrored") return towards(random < cut.fraction);
    if (mistake == "exact_values_move") return towards(cut.fraction + random + 1 >= random_range);
    if (mistake == "flushed_subnormals" && std::fabs(single(value)) < 0x1p-14F) return {sign};
    if (mistake == "random_bits_too_low") {
        return {half_of(value + random, {.rounding = Rounding::toward_zero})};
    }
    if (mistake == "toward_plus_infinity" && sign != 0 && inexact) {
        const Word above_floor = random_range - cut.fraction - (cut.more ? 1 : 0);
        return towards(above_floor + random < random_range);
    }
    return {half_of(value, {.rounding = Rounding::stochastic, .random_bits = random_bits, .random = random})};
}

Words question_of(Random& random, int low, int high) {
    const Word value = random_single(random, low, high);
    return {value, static_cast<Word>(random.below(random_range))};
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    const auto positive = [](Random& r) {
        Words question = question_of(r, -14, 14);
        question[0] &= 0x7FFFFFFF;
        return question;
    };
    return {ideas.group("up with the probability of the fraction", 3, {"nearest", "coin", "mirrored"}, 1000, positive),
            ideas.group("halves stay what they are", 2, {"exact_values_move"}, 400,
                        [](Random& r) {
                            return Words{widened(random_half(r, 1, 29)),
                                         static_cast<Word>(r.below(3) == 0 ? random_range - 1 : r.below(random_range))};
                        }),
            ideas.group("negative numbers", 1, {"toward_plus_infinity", "nearest", "coin", "mirrored"}, 600,
                        [](Random& r) {
                            Words question = question_of(r, -14, 14);
                            question[0] |= 0x80000000;
                            return question;
                        }),
            ideas.group("subnormals", 2, {"flushed_subnormals", "random_bits_too_low"}, 1000,
                        [](Random& r) { return question_of(r, -26, -15); })};
}

}  // namespace

Exercise stochastic_rounding_exercise() {
    return {
        name,
        "Stochastic rounding",
        "si",
        "h",
        {{"nearest", "rounds to nearest whatever the random bits"},
         {"coin", "tosses a coin: up with probability 1/2, not with that of the fraction cut off"},
         {"mirrored", "rounds up where random < fraction: the right probability, but not the rule asked for"},
         {"exact_values_move", "rounds up from a sum of 8191 on: an exact value moves now and then"},
         {"flushed_subnormals", "flushes subnormals: what lies below 2^-14 becomes zero"},
         {"random_bits_too_low", "adds the random bits at the end of the single; among subnormals the cut lies higher"},
         {"toward_plus_infinity", "rounds negative numbers up toward plus infinity; the rule is about magnitudes"}},
        solve,
        hidden,
        "x random!",
        "half"};
}

}  // namespace ulp::course
