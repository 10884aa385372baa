// Exercise: a * b + c of halves, rounded once.
#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "fuse_halves";

Word fused(Word a, Word b, Word c, Context context = {}) {
    return static_cast<Word>(fma_bits<std::uint64_t>(formats::fp16, a, b, c, context));
}

Words solve(const Words& question, std::string_view mistake) {
    const Word a = question[0];
    const Word b = question[1];
    const Word c = question[2];
    Context context;
    if (mistake == "product_rounded") {
        const std::uint64_t product = multiply_bits<std::uint64_t>(formats::fp16, a, b, context);
        return {static_cast<Word>(add_bits<std::uint64_t>(formats::fp16, product, c, context))};
    }
    if (mistake == "rounded_twice") {
        const std::uint64_t product = multiply_bits<std::uint64_t>(formats::fp32, widened(a), widened(b), context);
        const std::uint64_t sum = add_bits<std::uint64_t>(formats::fp32, product, widened(c), context);
        return {half_of(static_cast<Word>(sum))};
    }
    if (mistake == "truncated") {
        const Word right = fused(a, b, c);
        const Word cut = fused(a, b, c, {.rounding = Rounding::toward_zero});
        return {(right & 0x7FFF) == 0x7C00 ? right : cut};
    }
    if (mistake == "flushed_subnormals") {
        return {flushed_half(fused(flushed_half(a), flushed_half(b), flushed_half(c)))};
    }
    return {fused(a, b, c)};
}

/// Products of two halves in [1, 4) times 2^exponent that lie a hair beside a power of two.
Words product_beside_a_power(Random& random) {
    const auto x = static_cast<std::int64_t>(random.between(1025, 2047));
    const std::int64_t power = std::int64_t{1} << 21;
    const std::int64_t y = (power + x / 2) / x;  // x * y is near 2^21
    const auto exponent = static_cast<int>(random.between(-4, 4));
    // a * b is near 2^(1 + exponent): half a unit in the last place of c.
    const auto a = static_cast<Word>(x - 1024) | 15 << 10;
    const auto b = static_cast<Word>(y - 1024) | static_cast<Word>(15 + exponent) << 10;
    const Word c = static_cast<Word>(1 + exponent + 11 + 15) << 10 | static_cast<Word>(random.below(1024));
    return {a ^ static_cast<Word>(random.below(2) << 15), b, c ^ static_cast<Word>(random.below(2) << 15)};
}

/// A product that is a tie by itself, and an addend far below.
Words tie_and_a_hair(Random& random) {
    while (true) {
        const Word a = random_half(random, 12, 20);
        const Word b = random_half(random, 14, 20);
        const std::uint64_t product = std::uint64_t{(a & 0x3FF) + 1024} * ((b & 0x3FF) + 1024);
        const std::uint64_t low = product & ((product >> 21) != 0 ? 0x7FF : 0x3FF);
        const std::uint64_t tie = (product >> 21) != 0 ? 0x400 : 0x200;
        if (low == tie)
            return {a, b, static_cast<Word>(random.between(1, 3)) | static_cast<Word>(random.below(2) << 15)};
    }
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    const auto triple = [](Random& r) {
        return Words{random_half(r, 12, 18), random_half(r, 12, 18), random_half(r, 12, 18)};
    };
    return {ideas.group("to the nearest", 3, {"truncated"}, 1000, triple),
            ideas.group("no rounding of the product", 3, {"product_rounded"}, 1000, triple),
            ideas.group("one rounding, not one to a single first", 2, {"rounded_twice", "product_rounded", "truncated"},
                        800, [](Random& r) { return r.below(2) == 0 ? product_beside_a_power(r) : tie_and_a_hair(r); }),
            ideas.group("subnormals", 1, {"flushed_subnormals"}, 800,
                        [](Random& r) {
                            return Words{random_half(r, 0, 8), random_half(r, 5, 15), random_half(r, 0, 1)};
                        }),
            ideas.group("zeros, infinities and NaNs", 1, {}, 300, [](Random& r) {
                const Word special[] = {0x0000, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0x7BFF, random_half(r, 10, 30)};
                return Words{special[r.below(7)], special[r.below(7)], special[r.below(7)]};
            })};
}

}  // namespace

Exercise fuse_halves_exercise() {
    return {
        name,
        "Multiply and add with one rounding",
        "h",
        "h",
        {{"product_rounded", "rounds the product to a half before it adds: two roundings"},
         {"rounded_twice", "rounds the sum to 24 bits, as single precision does, and then again to 11: rounded twice"},
         {"truncated", "truncates the result instead of rounding it to nearest"},
         {"flushed_subnormals", "flushes subnormals: operands and results below 2^-14 count as zero"}},
        solve,
        hidden,
        "a b c",
        "result",
        {},
        false,
        Arithmetic::integers};
}

}  // namespace ulp::course
