// Exercise: a sum of halves whose every bit counts.
#include <algorithm>

#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "sum_without_swamping";

/// Halves are multiples of 2^-24 below 2^16: sums of 2^20 of them fit into 60 bits.
float exact_sum(const Words& numbers) {
    std::int64_t sum = 0;
    for (const Word word : numbers) {
        const auto x = decode<std::uint64_t>(formats::fp32, word);
        if (x.kind != Kind::finite) continue;
        const int up = x.exponent + 24;
        const std::uint64_t units = up >= 0 ? x.significand << up : x.significand >> -up;  // trailing zeros only
        sum += x.sign ? -static_cast<std::int64_t>(units) : static_cast<std::int64_t>(units);
    }
    Context context;
    const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
    if (magnitude == 0) return 0;
    return single(static_cast<Word>(round_to_bits(formats::fp32, sum < 0, -24, magnitude, context)));
}

float one_by_one(const Words& numbers, bool in_half) {
    float sum = 0;
    for (const Word word : numbers) sum = in_half ? on_half_grid(sum + single(word)) : sum + single(word);
    return sum;
}

float pairwise(const Words& numbers, std::size_t first, std::size_t count) {
    if (count == 1) return single(numbers[first]);
    const std::size_t left = count / 2;
    return pairwise(numbers, first, left) + pairwise(numbers, first + left, count - left);
}

float compensated(const Words& numbers) {
    float sum = 0;
    float lost = 0;
    for (const Word word : numbers) {
        const float next = single(word) - lost;
        const float total = sum + next;
        lost = (total - sum) - next;
        sum = total;
    }
    return sum;
}

float sorted(Words numbers) {
    std::stable_sort(numbers.begin(), numbers.end(),
                     [](Word a, Word b) { return (a & 0x7FFFFFFF) < (b & 0x7FFFFFFF); });
    return one_by_one(numbers, false);
}

Words solve(const Words& question, std::string_view mistake) {
    if (mistake == "half_accumulator") return {bits(one_by_one(question, true))};
    if (mistake == "single_accumulator") return {bits(one_by_one(question, false))};
    if (mistake == "pairwise") return {bits(pairwise(question, 0, question.size()))};
    if (mistake == "kahan") return {bits(compensated(question))};
    if (mistake == "sorted") return {bits(sorted(question))};
    return {bits(exact_sum(question))};
}

Words random_numbers(Random& random, int count, int low, int high) {
    Words numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(widened(random_half(random, low, high)));
    return numbers;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const auto group = [seed](const char* title, int points, int count, auto make) {
        return random_group(name, seed, title, points, count, make);
    };
    return {group("many equal numbers", 2, 10,
                  [](Random& r) {
                      const Word x = widened(random_half(r, 5, 25) | 1);
                      return Words(static_cast<std::size_t>(r.between(3000, 8000)), x);
                  }),
            group("wide exponents", 2, 40, [](Random& r) { return random_numbers(r, 500, 0, 30); }),
            group("large numbers that cancel", 3, 40, [](Random& r) {
                Words numbers = random_numbers(r, 20, 25, 30);
                const Words small = random_numbers(r, 20, 0, 10);
                const Words first = numbers;
                numbers.insert(numbers.end(), small.begin(), small.end());
                for (const Word x : first) numbers.push_back(x ^ 0x80000000);
                return numbers;
            })};
}

}  // namespace

Exercise sum_without_swamping_exercise() {
    return {name,
            "Sum without swamping",
            "s",
            "s",
            {{"half_accumulator", "adds one by one in a half: the sum swamps what is added to it"},
             {"single_accumulator", "adds one by one in a single: better than a half, but its 24 bits are too few"},
             {"pairwise", "adds pairwise in singles: the error grows slowly, but it is there"},
             {"kahan", "uses Kahan's compensated sum in singles, which loses the compensation when numbers cancel"},
             {"sorted", "sorts by magnitude and adds in a single: the order helps, but 24 bits are too few"}},
            solve,
            hidden};
}

}  // namespace ulp::course
