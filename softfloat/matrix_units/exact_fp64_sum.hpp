// Sums of products of fp64 numbers without rounding: a fixed-point register of all bits that they may have.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "softfloat/format.hpp"
#include "softfloat/round.hpp"
#include "softfloat/support/bits.hpp"

namespace ulp {

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
