// Exercise: a sum of singles whose every bit counts. No type of a compiler holds it: 2^-149 to 2^128 are 277 bits.
#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/course/exercises/common.hpp"
#include "softfloat/matrix_units/exact_sum.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "sum_without_swamping";

float exact_sum(const Words& numbers) {
    ExactSum sum;
    for (const Word word : numbers) sum.add(decode<std::uint64_t>(formats::fp32, word));
    const auto value = sum.value();
    if (value.kind == Kind::zero) return 0;
    Context context;
    return single(
        static_cast<Word>(round_to_bits(formats::fp32, value.sign, value.exponent, value.significand, context)));
}

float in_double(const Words& numbers) {
    double sum = 0;
    for (const Word word : numbers) sum += static_cast<double>(single(word));
    return static_cast<float>(sum);
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
    if (mistake == "double_accumulator") return {bits(in_double(question))};
    if (mistake == "pairwise") return {bits(pairwise(question, 0, question.size()))};
    if (mistake == "kahan") return {bits(compensated(question))};
    if (mistake == "sorted") return {bits(sorted(question))};
    return {bits(exact_sum(question))};
}

Words random_numbers(Random& random, int count, int low, int high) {
    Words numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(random_single(random, low, high));
    return numbers;
}

/// The numbers in another order.
Words shuffled(Random& random, Words numbers) {
    for (std::size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
    return numbers;
}

/// A single, half a unit in its last place, and a number so far below that 113 bits do not reach it.
Words tie_and_a_hair(Random& random) {
    const auto exponent = static_cast<int>(random.between(0, 100));
    const Word sign = static_cast<Word>(random.below(2)) << 31;
    Words numbers{random_single(random, exponent, exponent), bits(std::ldexp(1.F, exponent - 24)) | sign};
    const auto below = static_cast<int>(random.between(60, 140));
    numbers.push_back(random_single(random, exponent - below, exponent - below));
    // Bystanders that cancel.
    for (const Word x : random_numbers(random, 3, exponent - 10, exponent + 10)) {
        numbers.push_back(x);
        numbers.push_back(x ^ 0x80000000);
    }
    return shuffled(random, numbers);
}

/// What is left when the large ones have gone lies 2^120 to 2^200 below them.
Words cancelling(Random& random) {
    Words numbers = random_numbers(random, 12, 60, 110);
    for (std::size_t i = 0, count = numbers.size(); i < count; ++i) numbers.push_back(numbers[i] ^ 0x80000000);
    for (const Word x : random_numbers(random, 12, -90, -60)) numbers.push_back(x);
    return shuffled(random, numbers);
}

/// Numbers of which a double loses nothing, and a single does.
Words cancelling_in_double(Random& random) {
    Words numbers = random_numbers(random, 8, 18, 20);
    for (std::size_t i = 0, count = numbers.size(); i < count; ++i) numbers.push_back(numbers[i] ^ 0x80000000);
    for (const Word x : random_numbers(random, 8, -2, 0)) numbers.push_back(x & 0xFFFFFF00);
    return shuffled(random, numbers);
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    return {ideas.group("many equal numbers, to one ulp", 2, {"half_accumulator", "single_accumulator", "sorted"}, 10,
                        [](Random& r) {
                            return Words(static_cast<std::size_t>(r.between(3000, 8000)),
                                         random_single(r, -10, 3) & 0x7FFFFFFF);
                        },
                        {.tolerance = 1}),
            ideas.group("numbers that cancel, within 53 bits", 1,
                        {"half_accumulator", "single_accumulator", "sorted", "pairwise", "kahan"}, 40,
                        cancelling_in_double),
            ideas.group("ties, and a number far below", 2,
                        {"half_accumulator", "single_accumulator", "sorted", "pairwise", "kahan", "double_accumulator"},
                        60, tie_and_a_hair),
            ideas.group("large numbers that cancel", 2,
                        {"half_accumulator", "single_accumulator", "sorted", "pairwise", "kahan", "double_accumulator"},
                        40, cancelling)};
}

}  // namespace

Exercise sum_without_swamping_exercise() {
    return {name,
            "Sum without swamping",
            "s",
            "s",
            {{"half_accumulator", "rounds the sum to a half after each addition: it swamps what is added to it"},
             {"single_accumulator", "adds one by one in a single: better than a half, but its 24 bits are too few"},
             {"double_accumulator", "adds in double: 53 bits are enough for many sums, not for ties and cancellation"},
             {"pairwise", "adds pairwise in singles: the error grows slowly, but it is there"},
             {"kahan", "uses Kahan's compensated sum in singles, which loses the compensation when numbers cancel"},
             {"sorted", "sorts by magnitude and adds in a single: the order helps, but 24 bits are too few"}},
            solve,
            hidden,
            "x[*]",
            "sum"};
}

}  // namespace ulp::course
