// Inputs for bulk runs and recordings: a code is a function of (seed, operand, row, k), the same on host and device, so
// that any case of a run of billions can be made again from its number.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "gpu/instructions/element.hpp"
#include "gpu/instructions/instruction.hpp"
#include "softfloat/round.hpp"

namespace ulp::gpu {

enum class InputClass : std::uint8_t {
    ordinary,  // exponents within 2^-12 to 2^3: what layers of a network multiply; c is zero in a quarter of the cases
    wide,      // exponents over the format's whole range, subnormals included, all finite
    bits,      // random bit patterns, infinities and NaNs included, a quarter of them zeros
    cancellation,  // products in pairs that cancel but for the last bits
    tiny,          // few nonzero products, all near the accumulator's smallest numbers, c too: where floors show
    chain          // as ordinary, over four instructions
};
inline constexpr std::array input_classes{InputClass::ordinary,     InputClass::wide, InputClass::bits,
                                          InputClass::cancellation, InputClass::tiny, InputClass::chain};

constexpr std::string_view name_of(InputClass input_class) {
    switch (input_class) {
        case InputClass::ordinary: return "ordinary";
        case InputClass::wide: return "wide";
        case InputClass::bits: return "bits";
        case InputClass::cancellation: return "cancellation";
        case InputClass::tiny: return "tiny";
        case InputClass::chain: return "chain";
    }
    return "";
}
/// Instructions in a row on one accumulator.
constexpr std::uint32_t steps_of(InputClass input_class) { return input_class == InputClass::chain ? 4 : 1; }

enum class OperandName : std::uint8_t { a, b, c, a_scales, b_scales };

/// splitmix64's finaliser (Steele, Lea and Flood, OOPSLA 2014): a bijection that spreads every bit.
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

/// Where a code is used.
struct InputPlace {
    std::uint64_t seed;
    OperandName operand;
    std::uint64_t row;     // of A and C; column of B
    std::uint64_t column;  // k; column of C; block of k
    [[nodiscard]] constexpr std::uint64_t random() const {
        return mix(mix(mix(seed + static_cast<std::uint64_t>(operand)) ^ row) ^ column);
    }
};

/// Random bits and, for what they do not suffice, more.
struct InputRandom {
    std::uint64_t bits;
    std::uint64_t more;
    explicit constexpr InputRandom(std::uint64_t random) : bits(random), more(mix(random)) {}
};

/// A number with random sign and fraction and an exponent field in [low, high]; field 0 holds the subnormals.
constexpr std::uint64_t float_with_exponent(const FloatFormat& format, InputRandom random, int low, int high) {
    const std::uint64_t fraction = random.bits & format.fraction_mask();
    const std::uint64_t more = random.more;
    // Scaled, not modulo: a GPU has no fast division, and the bias of 2^-32 does not matter here.
    const auto range = static_cast<std::uint64_t>(high - low + 1);
    const std::uint64_t field = static_cast<std::uint64_t>(low) + ((more >> 32) * range >> 32);
    const std::uint64_t magnitude = field << format.fraction_bits | fraction;
    const std::uint64_t largest = format.max_finite_magnitude();
    return pack(format, (more & 1) != 0, magnitude < largest ? magnitude : largest);
}

constexpr std::uint64_t ordinary_float(const FloatFormat& format, InputRandom random) {
    const int low = format.emin() > -12 ? format.emin() : -12;
    const int high = format.emax() < 3 ? format.emax() : 3;
    return float_with_exponent(format, random, low + format.bias, high + format.bias);
}

constexpr std::uint64_t float_code(InputClass input_class, const FloatFormat& format, InputRandom random) {
    switch (input_class) {
        case InputClass::wide: return float_with_exponent(format, random, 0, format.emax() + format.bias);
        case InputClass::bits: {
            if (random.more % 4 == 0) return pack(format, (random.more & 4) != 0, 0);
            const int unused = 64 - format.storage_bits();
            return random.bits << unused >> unused;  // padding bits, too
        }
        default: return ordinary_float(format, random);
    }
}

/// Five of eight are zeros, the others such that products lie around the accumulator's smallest normal number or, where
/// the format does not reach that far down, as close to it as they can.
constexpr std::uint64_t tiny_float(const FloatFormat& format, const FloatFormat& accumulator, InputRandom random) {
    if ((random.more >> 1) % 8 < 5) return pack(format, (random.more & 1) != 0, 0);
    const int middle = accumulator.emin() / 2 + format.bias;  // exponent field
    return float_with_exponent(format, random, middle > 12 ? middle - 12 : 0, middle > 1 ? middle + 2 : 3);
}

/// Integers: all codes alike; in the class `wide` mostly the extremes, where sums saturate.
constexpr std::uint64_t integer_code(InputClass input_class, int bits, std::uint64_t random) {
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    if (input_class != InputClass::wide || mix(random) % 4 == 0) return random & mask;
    const std::uint64_t top = std::uint64_t{1} << (bits - 1);
    return (random & 1) != 0 ? top : top - 1;
}

/// A scale: within 2^-4 to 2^4; in the class `wide` any number above zero, in the class `bits` any byte.
constexpr std::uint64_t scale_code(InputClass input_class, const FloatFormat& format, std::uint64_t random) {
    if (input_class == InputClass::bits) return random & 0xFF;
    const std::uint64_t more = mix(random);
    if (input_class == InputClass::wide) {
        const std::uint64_t least = format.has_subnormals ? 1 : 0;
        return least + ((more >> 32) * (format.max_finite_magnitude() + 1 - least) >> 32);
    }
    const std::uint64_t field = static_cast<std::uint64_t>(format.bias - 4) + more % 8;
    return field << format.fraction_bits | (random & format.fraction_mask());
}

/// The bits of a register's element that inputs may set. A tf32 instruction must not see its 13 bits of padding; of the
/// padding around FP4 nothing is claimed.
constexpr std::uint64_t input_mask(Element element) {
    return element == Element::e2m1 ? pack(format_of(element), true, formats::e2m1.magnitude_mask())
                                    : ~std::uint64_t{0};
}

/// An operand of a or b. In the class `cancellation` an odd k repeats the product before it, negated, and in half of
/// the cases one unit in a's last place off.
constexpr std::uint64_t operand_code(InputClass input_class, Element element, InputPlace place) {
    if (!is_float(element)) return integer_code(input_class, bits_of(element), place.random());
    const FloatFormat format = format_of(element);
    if (input_class != InputClass::cancellation || place.column % 2 == 0) {
        return float_code(input_class, format, InputRandom(place.random())) & input_mask(element);
    }
    const std::uint64_t random = place.random();
    --place.column;
    const std::uint64_t partner = float_code(input_class, format, InputRandom(place.random()));
    if (place.operand == OperandName::b) return partner ^ pack(format, true, 0);
    return partner ^ ((random & 1) << format.padding_bits);
}

/// The addend.
constexpr std::uint64_t addend_code(InputClass input_class, Element element, InputPlace place) {
    const InputRandom random(place.random());
    if (!is_float(element)) {
        // Within 2^20 of zero; in the class `wide` within 2^20 of the largest and the smallest.
        const std::uint64_t near_zero = (random.bits & 0x1FFFFF) - 0x100000;
        return (near_zero + (input_class == InputClass::wide ? 0x80000000 : 0)) & 0xFFFFFFFF;
    }
    const FloatFormat format = format_of(element);
    if (input_class == InputClass::tiny) {
        if (random.more % 4 < 2) return pack(format, (random.bits & 1) != 0, 0);
        return float_with_exponent(format, random, 0, 6);
    }
    const bool sometimes_zero = input_class == InputClass::ordinary || input_class == InputClass::cancellation;
    if (sometimes_zero && random.more % 4 == 0) return 0;
    return float_code(input_class, format, random);
}

/// An operand of an instruction.
constexpr std::uint64_t operand_code(const Instruction& row, InputClass input_class, Element element,
                                     const InputPlace& place) {
    if (input_class != InputClass::tiny || !is_float(element)) return operand_code(input_class, element, place);
    return tiny_float(format_of(element), format_of(row.accumulator), InputRandom(place.random())) &
           input_mask(element);
}

/// The code at `place` of an instruction's inputs.
constexpr std::uint64_t input_code(const Instruction& row, InputClass input_class, const InputPlace& place) {
    switch (place.operand) {
        case OperandName::a: return operand_code(row, input_class, row.a, place);
        case OperandName::b: return operand_code(row, input_class, row.b, place);
        case OperandName::c: return addend_code(input_class, row.accumulator, place);
        case OperandName::a_scales:
        case OperandName::b_scales: return scale_code(input_class, scale_format_of(row.scaling), place.random());
    }
    return 0;
}

/// Bits of an operand's code in memory.
constexpr int operand_bits(const Instruction& row, OperandName operand) {
    switch (operand) {
        case OperandName::a: return bits_of(row.a);
        case OperandName::b: return bits_of(row.b);
        case OperandName::c: return bits_of(row.accumulator);
        case OperandName::a_scales:
        case OperandName::b_scales: break;
    }
    return 8;
}

/// A 32-bit word of packed inputs: word `index` of a row that is `columns` codes long.
constexpr std::uint32_t input_word(const Instruction& row, InputClass input_class, std::uint64_t seed,
                                   OperandName operand, std::uint64_t columns, std::uint64_t index) {
    const auto bits = static_cast<std::uint64_t>(operand_bits(row, operand));
    if (bits == 64) {
        const std::uint64_t at = index / 2;
        const std::uint64_t code = input_code(row, input_class, {seed, operand, at / columns, at % columns});
        return static_cast<std::uint32_t>(index % 2 == 0 ? code : code >> 32);
    }
    const std::uint64_t per_word = 32 / bits;
    std::uint64_t word = 0;
    for (std::uint64_t e = 0; e < per_word; ++e) {
        const std::uint64_t at = index * per_word + e;
        const std::uint64_t code = input_code(row, input_class, {seed, operand, at / columns, at % columns});
        word |= code << (e * bits);
    }
    return static_cast<std::uint32_t>(word);
}

// A 64-bit digest of words that does not depend on the order in which they are visited.

/// What word `index` adds to a digest, modulo 2^64.
constexpr std::uint64_t digest_term(std::uint64_t index, std::uint32_t word) { return mix(mix(index) ^ word); }

constexpr std::uint64_t digest(std::span<const std::uint32_t> words) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < words.size(); ++i) sum += digest_term(i, words[i]);
    return sum;
}

}  // namespace ulp::gpu
