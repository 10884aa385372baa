// Sums without rounding: a fixed-point register as wide as any products of 8-bit exponents need.
#pragma once

#include <cstdint>

#include "softfloat/round.hpp"
#include "softfloat/support/bits.hpp"

namespace ulp {

/// A sum of numbers m * 2^e with m below 2^64 and 2^-320 <= m * 2^e < 2^300; up to 2^20 of them. Two's complement.
class ExactSum {
  public:
    static constexpr int lowest_exponent = -320;

    /// Adds (-1)^sign * significand * 2^exponent.
    constexpr void add(bool sign, int exponent, std::uint64_t significand) {
        const int place = exponent - lowest_exponent;
        const int limb = place / 64;
        const int shift = place % 64;
        const std::uint64_t low = significand << shift;
        const std::uint64_t high = shift == 0 ? 0 : significand >> (64 - shift);
        if (sign) {
            subtract_at(limb, low);
            subtract_at(limb + 1, high);
        } else {
            add_at(limb, low);
            add_at(limb + 1, high);
        }
    }
    constexpr void add(const Unpacked<std::uint64_t>& value) {
        if (value.kind == Kind::finite) add(value.sign, value.exponent, value.significand);
    }

    /// The sum as sign, significand and exponent; bits below the top 64 are one sticky bit. Kind zero if it vanishes.
    [[nodiscard]] constexpr Unpacked<std::uint64_t> value() const {
        const bool negative = (limbs_[limb_count - 1] >> 63) != 0;
        std::uint64_t magnitude[limb_count] = {};
        std::uint64_t carry = negative ? 1 : 0;
        for (int i = 0; i < limb_count; ++i) {
            const std::uint64_t word = negative ? ~limbs_[i] : limbs_[i];
            magnitude[i] = word + carry;
            carry = magnitude[i] < word ? 1 : 0;
        }
        int top = limb_count - 1;
        while (top >= 0 && magnitude[top] == 0) --top;
        if (top < 0) return {Kind::zero, false, 0, 0};
        const int length = bit_length(magnitude[top]);
        std::uint64_t significand = magnitude[top] << (64 - length);
        std::uint64_t below = top > 0 ? magnitude[top - 1] : 0;
        if (length < 64) significand |= below >> length;
        below = length < 64 ? below << (64 - length) : below;
        bool sticky = below != 0;
        for (int i = 0; i + 1 < top; ++i) sticky = sticky || magnitude[i] != 0;
        return {Kind::finite, negative, lowest_exponent + 64 * top + length - 64, significand | (sticky ? 1 : 0)};
    }

  private:
    static constexpr int limb_count = 11;

    constexpr void add_at(int limb, std::uint64_t word) {
        for (int i = limb; word != 0 && i < limb_count; ++i) {
            limbs_[i] += word;
            word = limbs_[i] < word ? 1 : 0;
        }
    }
    constexpr void subtract_at(int limb, std::uint64_t word) {
        for (int i = limb; word != 0 && i < limb_count; ++i) {
            const std::uint64_t before = limbs_[i];
            limbs_[i] = before - word;
            word = before < word ? 1 : 0;
        }
    }

    std::uint64_t limbs_[limb_count] = {};
};

static_assert([] {
    ExactSum sum;
    sum.add(false, 100, 1);
    sum.add(false, -140, 3);
    sum.add(true, 100, 1);
    const auto value = sum.value();
    return !value.sign && value.significand == std::uint64_t{3} << 62 && value.exponent == -202;
}());

}  // namespace ulp
