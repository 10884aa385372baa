// Exercise: the exponents of a tensor's numbers, and what a half keeps of them.
#include <algorithm>
#include <cmath>

#include "engine/watching/histogram.hpp"
#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "exponent_histogram";
constexpr int lowest = ExponentHistogram::lowest;
constexpr int highest = ExponentHistogram::highest;
constexpr std::size_t head = 5;  // zeros, infinities, NaNs, lost, shift; then a count for each exponent

/// The largest n for which every finite number times 2^n is finite in a half; 0 where all are zero.
int largest_shift(const std::vector<float>& values, bool at_65504) {
    float largest = 0;
    for (const float x : values) {
        if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
    }
    if (largest == 0) return 0;
    int shift = 15 - std::ilogb(largest);
    const double scaled = std::ldexp(static_cast<double>(largest), shift);
    return scaled > 65504 && (at_65504 || scaled >= 65520) ? shift - 1 : shift;
}

void move_count(Words& answer, int from, int to) {
    --answer[head + static_cast<std::size_t>(from - lowest)];
    ++answer[head + static_cast<std::size_t>(to - lowest)];
}

Words solve(const Words& question, std::string_view mistake) {
    std::vector<float> values;
    for (const Word word : question) {
        const bool skipped = mistake == "negatives_ignored" && (word >> 31) != 0;
        if (!skipped) values.push_back(single(word));
    }
    ExponentHistogram histogram;
    histogram.add(values);
    Words answer{static_cast<Word>(histogram.zeros()), static_cast<Word>(histogram.infinities()),
                 static_cast<Word>(histogram.nans()), 0,
                 static_cast<Word>(largest_shift(values, mistake == "shift_to_65504"))};
    for (int e = lowest; e <= highest; ++e) answer.push_back(static_cast<Word>(histogram.at(e)));
    for (const float x : values) {
        const float size = std::fabs(x);
        const bool lost =
            size != 0 && (mistake == "lost_below_smallest" ? size < 0x1p-24F : (half_of(bits(x)) & 0x7FFF) == 0);
        answer[3] += lost ? 1 : 0;
        if (mistake == "zeros_are_lost" && size == 0) ++answer[3];
        if (mistake == "negative_zero" && size == 0 && std::signbit(x)) {
            --answer[0];
            ++answer[3];
            ++answer[head + static_cast<std::size_t>(-1 - lowest)];  // where frexp puts it
        }
        if (size == 0 || !std::isfinite(x)) continue;
        const int exponent = std::ilogb(x);
        if (mistake == "subnormals_by_field" && exponent < -126) move_count(answer, exponent, -127);
        if (mistake == "rounded_logarithm" && exponent < highest &&
            std::ldexp(static_cast<double>(size), -exponent) >= 0x1.6A09E667F3BCDp0) {
            move_count(answer, exponent, exponent + 1);
        }
    }
    return answer;
}

/// `plain`: positive, of a significand below 1.25.
Words gradients(Random& random, int low, int high, bool zeros = false, bool plain = true) {
    Words words;
    const auto count = static_cast<std::size_t>(random.between(20, 60));
    while (words.size() < count) {
        const bool zero = zeros && random.below(3) == 0;
        const Word word = random_single(random, low, high);
        words.push_back(zero ? static_cast<Word>(random.below(2) << 31) : plain ? word & 0x7F9FFFFF : word);
    }
    return words;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    const auto group = [&](const char* title, std::vector<std::string_view> catches, auto make) {
        return ideas.group(title, 1, std::move(catches), 40, make);
    };
    return {
        group("ordinary gradients", {"negatives_ignored", "rounded_logarithm"},
              [](Random& r) { return gradients(r, -20, -4, false, false); }),
        group("zeros of both signs", {"negative_zero", "zeros_are_lost", "negatives_ignored"},
              [](Random& r) { return gradients(r, -20, -4, true); }),
        group("at the threshold of fp16", {"lost_below_smallest"}, [](Random& r) { return gradients(r, -27, -22); }),
        group("at the end of fp16", {"shift_to_65504", "rounded_logarithm"},
              [](Random& r) {
                  Words words = gradients(r, -12, -4);
                  const auto shift = static_cast<int>(r.between(-3, 20));
                  const float edges[] = {65504, 65512, 65519.9F, 65520, 65535};
                  words.push_back(bits(std::ldexp(edges[r.below(5)], -shift)));
                  return words;
              }),
        group("subnormals of fp32, infinities and NaNs", {"subnormals_by_field"}, [](Random& r) {
            Words words = gradients(r, -126, -100);
            for (int i = 0; i < 5; ++i) {
                const auto high = static_cast<int>(r.between(3, 22));
                words.push_back(Word{1} << high | static_cast<Word>(r.below(Word{1} << (high - 3))));
            }
            for (const Word special : {0x7F800000U, 0x7FC00000U}) {
                if (r.below(2) == 0) words.push_back(special);
            }
            return words;
        })};
}

}  // namespace

Exercise exponent_histogram_exercise() {
    return {
        name,
        "An exponent histogram",
        "s",
        "i",
        {{"negative_zero", "takes -0 for a number that is not zero"},
         {"zeros_are_lost", "counts numbers that are zero already among those that a half loses"},
         {"lost_below_smallest", "counts as lost what lies below 2^-24; to nearest only 2^-25 and less becomes zero"},
         {"subnormals_by_field", "takes fp32's subnormals by their exponent field, not by their leading bit"},
         {"rounded_logarithm", "rounds the logarithm to nearest; the exponent is its floor"},
         {"negatives_ignored", "ignores negative numbers"},
         {"shift_to_65504", "keeps the shifted numbers up to 65504; rounding is finite up to 65520"}},
        solve,
        hidden,
        "x[*]",
        "zeros infinities nans lost_in_half largest_shift counts[277]",
        {},
        true};
}

}  // namespace ulp::course
