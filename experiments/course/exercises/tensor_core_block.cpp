// Exercise: one fused block of a Tensor Core, as recordings of GPUs show it.
#include "experiments/course/exercises/common.hpp"
#include "softfloat/matrix_units/block_dot.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "tensor_core_block";
constexpr std::size_t head = 3;  // n, F, c; then a and b

float fp32_sum(const Words& question, std::size_t n) {
    float sum = single(question[2]);
    for (std::size_t k = 0; k < n; ++k) {
        sum += single(widened(question[head + k])) * single(widened(question[head + n + k]));
    }
    return sum;
}

DecodedOperand renormalised(DecodedOperand x) {
    while (x.kind == Kind::finite && x.significand < 1024) {
        x.significand <<= 1;
        --x.exponent;
    }
    return x;
}

Words solve(const Words& question, std::string_view mistake) {
    const auto n = static_cast<std::size_t>(question[0]);
    TensorCoreModel model{.instruction_k = static_cast<int>(n),
                          .group_size = static_cast<int>(n),
                          .fraction_bits = static_cast<int>(question[1])};
    if (mistake == "fp32_sum") return {bits(fp32_sum(question, n))};
    if (mistake == "normalised_products") model.variation.normalise_products = true;
    if (mistake == "floored") model.variation.alignment = Rounding::down;
    if (mistake == "nearest") model.rounding = Rounding::nearest_even;
    if (mistake == "one_bit_less") model.fraction_bits -= 1;
    if (mistake == "one_bit_more") model.fraction_bits += 1;
    DecodedOperand a[max_group];
    DecodedOperand b[max_group];
    for (std::size_t k = 0; k < n; ++k) {
        const bool flush = mistake == "flushed_subnormals";
        const Word x = question[head + k];
        const Word y = question[head + n + k];
        a[k] = decoded(formats::fp16, flush ? flushed_half(x) : x);
        b[k] = decoded(formats::fp16, flush ? flushed_half(y) : y);
        if (mistake == "renormalised") {
            a[k] = renormalised(a[k]);
            b[k] = renormalised(b[k]);
        }
    }
    const int count = static_cast<int>(n);
    if (mistake == "late_addend") {
        const Word products = block_dot(model, a, b, Word{0}, count);
        Context context;
        return {static_cast<Word>(add_bits<std::uint64_t>(formats::fp32, products, question[2], context))};
    }
    return {block_dot(model, a, b, question[2], count)};
}

/// The blocks of V100, A100 and H100.
struct Unit {
    Word n, fraction_bits;
};
constexpr Unit units[] = {{4, 23}, {8, 24}, {16, 25}};

Words block(Random& random, Word c, int low, int high) {
    const Unit& unit = units[random.below(3)];
    Words question{unit.n, unit.fraction_bits, c};
    for (Word k = 0; k < 2 * unit.n; ++k) question.push_back(random_half(random, low, high));
    return question;
}

Words special_block(Random& random) {
    Words question = block(random, random_single(random, -4, 4), 10, 20);
    for (std::size_t i = head + 1; i < question.size(); ++i) question[i] &= 0xFC00;
    const Word specials[] = {0x7C00, 0xFC00, 0x7E00, 0x0000, 0x8000};
    for (int i = 0; i < 2; ++i) {
        question[head + random.below(question.size() - head)] = specials[random.below(5)];
    }
    if (random.below(4) == 0) question[2] = 0x7F800000 | static_cast<Word>(random.below(2) << 31);
    return question;
}

/// Small whole numbers, of which nothing is cut.
Words exact_block(Random& random) {
    const Unit& unit = units[random.below(3)];
    Words question{unit.n, unit.fraction_bits, bits(static_cast<float>(random.between(-100, 100)))};
    for (Word k = 0; k < 2 * unit.n; ++k) {
        question.push_back(half_of(bits(static_cast<float>(random.between(-30, 30)))));
    }
    return question;
}

/// Few products that are not zero: what the others would do to the sum is left out.
Words sparse(Random& random, Words question) {
    const std::size_t n = question[0];
    for (std::size_t k = 0; k < n; ++k) {
        if (random.below(2) == 0) question[head + k] = 0;
    }
    return question;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    const auto far = [](Random& r) { return sparse(r, block(r, random_single(r, -20, 20), 2, 24)); };
    const auto near = [](Random& r) { return sparse(r, block(r, random_single(r, -4, 4), 13, 16)); };
    return {ideas.group("whole numbers, nothing is cut", 3, {}, 300, exact_block),
            ideas.group("the sum is truncated once", 3, {"nearest", "fp32_sum"}, 300, near),
            ideas.group("what alignment cuts", 3, {"floored", "one_bit_less", "one_bit_more", "fp32_sum"}, 400, far),
            ideas.group("the largest exponent of products as they are", 2,
                        {"normalised_products", "one_bit_less", "fp32_sum"}, 400, far),
            ideas.group("c is aligned with the products", 2, {"late_addend", "fp32_sum"}, 300,
                        [](Random& r) { return sparse(r, block(r, random_single(r, 2, 24), 8, 16)); }),
            ideas.group("subnormal operands", 1,
                        {"renormalised", "flushed_subnormals", "one_bit_more", "one_bit_less", "late_addend",
                         "normalised_products", "fp32_sum"},
                        400,
                        [](Random& r) {
                            if (r.below(2) == 0) return block(r, 0, 0, 4);
                            return sparse(r, block(r, random_single(r, -44, -28), 0, 0));
                        }),
            ideas.group("zeros, infinities and NaNs", 1, {}, 200, special_block)};
}

}  // namespace

Exercise tensor_core_block_exercise() {
    return {name,
            "One Tensor Core block",
            "iish",
            "s",
            {{"fp32_sum", "adds the products one by one in fp32; the unit adds them as integers and rounds once"},
             {"normalised_products", "normalises products to [1, 2) before it seeks the largest exponent"},
             {"floored", "rounds negative terms down when it aligns them; the unit cuts magnitudes"},
             {"nearest", "rounds the sum to nearest; the unit truncates it"},
             {"late_addend", "adds c after the products; the unit aligns and adds it with them"},
             {"renormalised", "normalises subnormal operands; their exponent stays -14"},
             {"flushed_subnormals", "flushes subnormal operands to zero"},
             {"one_bit_less", "keeps one fraction bit too few in the alignment"},
             {"one_bit_more", "keeps one fraction bit too many in the alignment"}},
            solve,
            hidden,
            "n! fraction_bits! c a{n} b{n}",
            "d"};
}

}  // namespace ulp::course
