// One question to a black box (discovery.hpp): numbers at the leaves of its sum, and its answer.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "softfloat/lab/discovery.hpp"
#include "softfloat/round.hpp"

namespace ulp::discovery {

/// The number (-1)^sign * significand * 2^exponent, significand 1, 3 or 9.
struct Number {
    bool sign;
    int significand;
    int exponent;
};
inline Number power_of_two(int exponent) { return {false, 1, exponent}; }
inline Number minus(Number number) {
    number.sign = !number.sign;
    return number;
}

inline std::string text(int exponent) { return "2^" + std::to_string(exponent); }

/// Builds inputs, lane by lane, and asks the unit.
class Question {
  public:
    explicit Question(const DotUnit& unit) : unit_(unit), a_(size(unit.k)), b_(size(unit.k)) {}

    /// Puts a number at a leaf; false if no operands of the formats make it.
    bool put(int leaf, const Number& number) {
        if (leaf == addend_leaf) {
            c_ = code(unit_.accumulator, number);
            return true;
        }
        // a = p 2^x, b = q 2^y with p q = significand: 9 is 3 * 3.
        const int p = number.significand == 9 ? 3 : 1;
        const int q = number.significand / p;
        const int low = std::max(least(unit_.a_format), number.exponent - most(unit_.b_format, q));
        const int high = std::min(most(unit_.a_format, p), number.exponent - least(unit_.b_format));
        if (low > high) return false;
        const int x = std::clamp(number.exponent / 2, low, high);
        a_[size(leaf)] = code(unit_.a_format, {number.sign, p, x});
        b_[size(leaf)] = code(unit_.b_format, {false, q, number.exponent - x});
        return true;
    }
    void put_codes(int leaf, std::uint64_t a, std::uint64_t b) {
        a_[size(leaf)] = a;
        b_[size(leaf)] = b;
    }
    [[nodiscard]] std::uint64_t answer() const { return unit_.dot(a_, b_, c_); }
    [[nodiscard]] double value() const {
        Context context;
        return std::bit_cast<double>(convert_bits(formats::fp64, unit_.accumulator, answer(), context));
    }

  private:
    static std::size_t size(int k) { return static_cast<std::size_t>(k); }
    static int least(const FloatFormat& format) { return format.smallest_exponent(); }
    static int most(const FloatFormat& format, int significand) { return format.emax() - (significand == 1 ? 0 : 1); }
    static std::uint64_t code(const FloatFormat& format, const Number& number) {
        Context context;
        return round_to_bits(format, number.sign, number.exponent, static_cast<std::uint64_t>(number.significand),
                             context);
    }

    const DotUnit& unit_;
    std::vector<std::uint64_t> a_, b_;
    std::uint64_t c_ = 0;
};

/// The rounding that takes +3/4 of a last place up or not, and -3/4 away from zero or not.
inline Rounding rounding_from(bool up, bool down) {
    if (up && down) return Rounding::nearest_even;
    if (up) return Rounding::up;
    return down ? Rounding::down : Rounding::toward_zero;
}

}  // namespace ulp::discovery
