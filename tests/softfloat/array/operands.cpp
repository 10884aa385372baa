#include "operands.hpp"

#include <bit>

namespace ulp::test {

std::vector<TestFormat> array_formats() {
    return {
        {"fp16", formats::fp16},
        {"bf16", formats::bf16},
        {"tf32", formats::tf32},
        {"fp32", formats::fp32},
        {"e4m3", formats::e4m3},
        {"e5m2", formats::e5m2},
        {"e4m3fnuz", formats::e4m3fnuz},
        {"e5m2fnuz", formats::e5m2fnuz},
        {"e3m2", formats::e3m2},
        {"e2m3", formats::e2m3},
        {"e2m1", formats::e2m1},
        {"e6f9", ieee_format(6, 9)},
        {"e7f16", ieee_format(7, 16)},
        {"e5f22", ieee_format(5, 22)},
        {"e7f3 of small numbers", {.exponent_bits = 7, .fraction_bits = 3, .bias = 117}},
        {"e8f22", ieee_format(8, 22)},
        {"fp16 without its upper binades",
         {.exponent_bits = 5, .fraction_bits = 10, .bias = 15, .unused_exponents = 3}},
        {"bf16 without its upper binades",
         {.exponent_bits = 8, .fraction_bits = 7, .bias = 127, .unused_exponents = 9}},
        // Without kernels: other bias beside fp32's, every digit of fp32, no fraction, no sign, beyond fp32.
        {"e8f10 with bias 125", {.exponent_bits = 8, .fraction_bits = 10, .bias = 125, .unused_exponents = 2}},
        {"e5f23", ieee_format(5, 23)},
        {"e8f7 without -0",
         {.exponent_bits = 8, .fraction_bits = 7, .bias = 127, .specials = Specials::negative_zero_nan}},
        {"e5f0", {.exponent_bits = 5, .fraction_bits = 0, .bias = 15, .specials = Specials::none}},
        {"e8m0", formats::e8m0},
        {"fp64", formats::fp64},
    };
}

std::vector<Rounding> deterministic_roundings() {
    return {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero,
            Rounding::down,         Rounding::up,           Rounding::odd};
}

std::string name_of(Rounding rounding) {
    switch (rounding) {
        case Rounding::nearest_even: return "nearest_even";
        case Rounding::nearest_away: return "nearest_away";
        case Rounding::toward_zero: return "toward_zero";
        case Rounding::down: return "down";
        case Rounding::up: return "up";
        case Rounding::odd: return "odd";
        case Rounding::stochastic: return "stochastic";
        default: break;
    }
    return "?";
}

std::uint64_t Words::next() {
    // SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

std::vector<float> fp32_operands() {
    std::vector<float> operands;
    Words words(1);
    const auto add = [&](std::uint32_t magnitude) {
        operands.push_back(std::bit_cast<float>(magnitude));
        operands.push_back(std::bit_cast<float>(magnitude | 0x80000000));
    };
    for (std::uint32_t field = 0; field < 256; ++field) {
        for (std::uint32_t cut = 1; cut <= 23; ++cut) {
            // kept 1000 | 0111: just below half, half, just above, and the ends of the interval
            const std::uint32_t half = std::uint32_t{1} << (cut - 1);
            const std::uint32_t carries = cut % 2 == 0 ? 0x7FFFFF : 0;  // all kept bits are ones
            const std::uint32_t kept =
                (static_cast<std::uint32_t>(words.next()) | carries) & 0x7FFFFF & ~(2 * half - 1);
            for (const std::uint32_t dropped : {0U, 1U, half - 1, half, half + 1, 2 * half - 1}) {
                add(field << 23 | kept | (dropped & (2 * half - 1)));
            }
        }
    }
    const std::size_t count = operands.size() / 4;
    for (std::size_t i = 0; i < count; ++i) {
        operands.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(words.next())));
    }
    operands.push_back(1.0F);
    return operands;
}

std::vector<std::uint64_t> codes(const FloatFormat& format, std::size_t random_codes) {
    std::vector<std::uint64_t> result;
    const int bits = format.code_bits();
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const auto add = [&](std::uint64_t code) { result.push_back((code & mask) << format.padding_bits); };
    if (bits <= 8) {
        for (std::uint64_t code = 0; code <= mask; ++code) add(code);
        return result;
    }
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    for (int i = 0; i < bits - 1; ++i) {
        for (int offset = -1; offset <= 1; ++offset) {
            const std::uint64_t code = (std::uint64_t{1} << i) + static_cast<std::uint64_t>(offset);
            add(code);
            add(sign | code);
        }
    }
    for (const std::uint64_t middle : {format.max_finite_magnitude(), format.infinity_magnitude(), format.nan_code(),
                                       static_cast<std::uint64_t>(format.bias) << format.fraction_bits}) {
        for (const std::uint64_t code : {middle - 1, middle, middle + 1}) {
            add(code);
            add(sign | code);
        }
    }
    Words words(7);
    for (std::size_t i = 0; i < random_codes; ++i) add(words.next());
    return result;
}

std::vector<unsigned char> to_bytes(const std::vector<std::uint64_t>& words, std::size_t bytes) {
    std::vector<unsigned char> result;
    for (const std::uint64_t word : words) {
        for (std::size_t i = 0; i < bytes; ++i) result.push_back(static_cast<unsigned char>(word >> (8 * i)));
    }
    return result;
}

std::uint64_t word_at(const std::vector<unsigned char>& bytes, std::size_t word_bytes, std::size_t element) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < word_bytes; ++i) {
        word |= std::uint64_t{bytes[element * word_bytes + i]} << (8 * i);
    }
    return word;
}

}  // namespace ulp::test
