#include "softfloat/lab/random_codes.hpp"

#include <algorithm>

#include "softfloat/round.hpp"

namespace ulp {

namespace {

/// A code with this exponent, moved into the format's finite range, and these random fraction bits.
std::uint64_t code_with_exponent(const FloatFormat& format, bool sign, int exponent, std::uint64_t fraction) {
    const int inside = std::clamp(exponent, format.emin(), format.emax());
    const auto field = static_cast<std::uint64_t>(inside + format.bias);
    const std::uint64_t magnitude = field << format.fraction_bits | (fraction & format.fraction_mask());
    return pack(format, sign, std::min(magnitude, format.max_finite_magnitude()));
}

std::uint64_t full_range_code(const FloatFormat& format, std::uint64_t word) {
    const bool sign = (word & 1) != 0;
    switch (word >> 1 & 31) {
        case 0: return infinity_bits(format, sign);
        case 1: return format.has_nan() ? nan_bits(format) : pack(format, sign, 1);
        case 2: return pack(format, sign, format.max_finite_magnitude());
        case 3: return pack(format, sign, word >> 20 & format.fraction_mask());
        default: break;
    }
    if ((word >> 6 & 3) == 0) return pack(format, sign, 0);
    // 44 bits of the word are left; a longer format takes them twice.
    const std::uint64_t bits = word >> 20;
    return pack(format, sign, (format.code_bits() > 44 ? bits << 20 ^ bits : bits) & format.magnitude_mask());
}

}  // namespace

std::uint64_t random_code(const FloatFormat& format, DataClass data, std::uint64_t word) {
    const bool sign = (word & 1) != 0;
    const std::uint64_t fraction = word >> 8;
    if (format.is_table()) return fraction & ((std::uint64_t{1} << format.storage_bits()) - 1);
    const auto spread = static_cast<int>(word >> 40 & 0xFFFF);
    const int range = format.emax() - format.emin();
    switch (data) {
        case DataClass::sparse:
            if ((word >> 1 & 1) == 0) return pack(format, sign, 0);
            [[fallthrough]];
        case DataClass::ordinary: {
            const int below = bit_length(static_cast<std::uint64_t>(spread) | 0x100);  // 9 to 16, 16 most often
            return code_with_exponent(format, sign, below - 16, fraction);
        }
        case DataClass::wide: return code_with_exponent(format, sign, spread % (range / 3 + 1) - range / 6, fraction);
        case DataClass::cancelling: {
            const std::uint64_t half = format.fraction_mask() ^ format.fraction_mask() >> 1;  // 0 without fraction bits
            return code_with_exponent(format, sign, -(spread % 3), (fraction & 1) * half);
        }
        case DataClass::large:
            return code_with_exponent(format, (word >> 1 & 127) == 0, 1, ~std::uint64_t{0} - (fraction & 1));
        case DataClass::subnormal: {
            const std::uint64_t top = format.fraction_mask() * 4 + 3;
            return pack(format, sign, spread % 4 == 0 ? 0 : fraction & top);
        }
        case DataClass::full_range: break;
    }
    return full_range_code(format, word);
}

const char* name_of(DataClass data) {
    constexpr const char* names[] = {"ordinary", "sparse", "wide", "cancelling", "large", "subnormal", "full range"};
    return names[static_cast<int>(data)];
}

/// SplitMix64's finalizer over a counter.
std::uint64_t random_word(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed * 0xD1B54A32D192ED03U + index * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

std::vector<std::uint32_t> random_codes(const FloatFormat& format, DataClass data, std::int64_t count,
                                        std::uint64_t seed) {
    std::vector<std::uint32_t> codes(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < codes.size(); ++i)
        codes[i] = static_cast<std::uint32_t>(random_code(format, data, random_word(seed, i)));
    return codes;
}

}  // namespace ulp
