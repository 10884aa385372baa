// Sums without rounding: a fixed-point register as wide as any products of 8-bit exponents need.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "softfloat/format.hpp"
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

// Sums of products of fp64 numbers without rounding: a fixed-point register of all bits that they may have.

/// Up to 2^20 products of finite numbers. Digits of 32 bits, carried when the value is read.
class ExactFp64Sum {
  public:
    void add_product(double x, double y) {
        const auto a = decode<std::uint64_t>(formats::fp64, std::bit_cast<std::uint64_t>(x));
        const auto b = decode<std::uint64_t>(formats::fp64, std::bit_cast<std::uint64_t>(y));
        if (a.kind != Kind::finite || b.kind != Kind::finite) return;
        const int place = a.exponent + b.exponent - lowest_exponent;
        const UInt128 product = UInt128{a.significand} * b.significand;
        const bool negative = a.sign != b.sign;
        auto digit = static_cast<std::size_t>(place / 32);
        const int shift = place % 32;
        add(digit, negative, static_cast<std::uint64_t>(product & 0xFFFFFFFF) << shift);
        add(digit + 1, negative, static_cast<std::uint64_t>(product >> 32 & 0xFFFFFFFF) << shift);
        add(digit + 2, negative, static_cast<std::uint64_t>(product >> 64 & 0xFFFFFFFF) << shift);
        add(digit + 3, negative, static_cast<std::uint64_t>(product >> 96) << shift);
    }

    /// The sum where fp64 holds it, else an fp64 number next to it.
    [[nodiscard]] double value() const {
        std::array<std::uint32_t, count> magnitude{};
        const bool negative = carry(1, magnitude) < 0;
        if (negative) carry(-1, magnitude);
        std::size_t top = count - 1;
        while (top > 0 && magnitude[top] == 0) --top;
        double sum = 0;
        for (std::size_t i = 0; i < 4 && i <= top; ++i) {  // from the top: what is below four digits is below 2^-96
            sum += std::ldexp(magnitude[top - i], lowest_exponent + 32 * static_cast<int>(top - i));
        }
        return negative ? -sum : sum;
    }

  private:
    static constexpr int lowest_exponent = -2148;        // the least subnormal number squared
    static constexpr std::size_t count = 4300 / 32 + 4;  // digits; the largest number squared is below 2^2048

    void add(std::size_t digit, bool negative, std::uint64_t word) {
        const auto low = static_cast<std::int64_t>(word & 0xFFFFFFFF);
        const auto high = static_cast<std::int64_t>(word >> 32);
        digits_[digit] += negative ? -low : low;
        digits_[digit + 1] += negative ? -high : high;
    }

    /// The digits of sign * sum, and what is carried out of them: negative of negative sums.
    std::int64_t carry(std::int64_t sign, std::array<std::uint32_t, count>& out) const {
        std::int64_t over = 0;
        for (std::size_t i = 0; i < count; ++i) {
            over += sign * digits_[i];
            out[i] = static_cast<std::uint32_t>(over & 0xFFFFFFFF);
            over >>= 32;
        }
        return over;
    }

    std::array<std::int64_t, count> digits_{};
};

}  // namespace ulp
