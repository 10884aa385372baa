#include "softfloat/lab/integer_probes.hpp"

#include <limits>

namespace ulp {
namespace {

constexpr std::int32_t greatest_sum = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t least_sum = std::numeric_limits<std::int32_t>::min();

constexpr IntegerModel integers(int bits, bool is_signed, bool saturates = false, int instruction_k = 32) {
    return {.bits = bits,
            .a_signed = is_signed,
            .b_signed = is_signed,
            .saturates = saturates,
            .instruction_k = instruction_k};
}
constexpr IntegerModel bits_with(IntegerProduct product) {
    return {.bits = 1, .a_signed = false, .b_signed = false, .product = product};
}
constexpr IntegerModel bits_with_and = bits_with(IntegerProduct::conjunction);
constexpr IntegerModel bits_with_xor = bits_with(IntegerProduct::exclusive_or);

std::vector<IntegerProbe> make_integer_probes() {
    const std::vector<IntegerHypothesis> signs = {{"signed", integers(8, true)},
                                                  {"unsigned, 8 bits", integers(8, false)},
                                                  {"unsigned, 4 bits", integers(4, false)},
                                                  {"and of bits", bits_with_and},
                                                  {"xor of bits", bits_with_xor}};
    return {
        {"I1",
         "how many bits of an operand's byte count?",
         {0x52},
         {1},
         0,
         {{"8", integers(8, true)},
          {"4", integers(4, true)},
          {"1, and of bits", bits_with_and},
          {"1, xor of bits", bits_with_xor}}},
        {"I2", "are a's operands signed?", {0xFF}, {1}, 0, signs},
        {"I3", "are b's operands signed?", {1}, {0xFF}, 0, signs},
        {"I4",
         "is 1 with 0 nothing?",
         {1},
         {0},
         0,
         {{"a product, or and of bits", integers(8, true)}, {"xor of bits", bits_with_xor}}},
        {"I5",
         "what becomes of a sum above the range of s32?",
         {1, 1},
         {1, 0},
         greatest_sum,
         {{"it wraps", integers(8, true)}, {"it is clamped", integers(8, true, true)}}},
        {"I6",
         "what becomes of a sum below that range?",
         {0xFF},
         {1},
         least_sum,
         {{"it wraps", integers(8, true)},
          {"it is clamped", integers(8, true, true)},
          {"a's operands are unsigned, 8 bits", integers(8, false)},
          {"a's operands are unsigned, 4 bits", integers(4, false)}}},
        {"I7",
         "is a sum clamped after each product?",
         {1, 0xFF},
         {1, 1},
         greatest_sum,
         {{"no, signed", integers(8, true)},
          {"after each, signed", integers(8, true, true, 1)},
          {"unsigned, wraps, 8 bits", integers(8, false)},
          {"unsigned, wraps, 4 bits", integers(4, false)},
          {"unsigned, clamped", integers(8, false, true)}}},
    };
}

}  // namespace

std::span<const IntegerProbe> integer_probes() {
    static const std::vector<IntegerProbe> probes = make_integer_probes();
    return probes;
}

std::int32_t answer_of(const IntegerUnit& unit, const IntegerProbe& probe) {
    std::vector<std::uint8_t> a = probe.a, b = probe.b;
    a.resize(static_cast<std::size_t>(unit.k));
    b.resize(static_cast<std::size_t>(unit.k));
    return unit.dot(a, b, probe.c);
}

std::int32_t predicted(const IntegerProbe& probe, const IntegerHypothesis& hypothesis) {
    return unit_of(hypothesis.model).dot(probe.a, probe.b, probe.c);
}

}  // namespace ulp
