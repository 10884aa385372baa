// A natural number of any size: just what exact decimal text needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "softfloat/support/bits.hpp"

namespace ulp {

/// Limbs of 32 bits, least significant first, no leading zero limbs; zero has none.
class BigInteger {
  public:
    BigInteger() = default;
    explicit BigInteger(std::uint64_t value) {
        for (; value != 0; value >>= 32) limbs_.push_back(static_cast<std::uint32_t>(value));
    }
    [[nodiscard]] bool is_zero() const { return limbs_.empty(); }
    [[nodiscard]] int length_in_bits() const {
        if (limbs_.empty()) return 0;
        return static_cast<int>(limbs_.size() - 1) * 32 + bit_length(std::uint64_t{limbs_.back()});
    }
    /// *this = *this * factor + addend.
    void multiply_add(std::uint32_t factor, std::uint32_t addend) {
        std::uint64_t carry = addend;
        for (std::uint32_t& limb : limbs_) {
            carry += std::uint64_t{limb} * factor;
            limb = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        if (carry != 0) limbs_.push_back(static_cast<std::uint32_t>(carry));
    }
    void multiply_by_power_of_ten(int power) {
        for (; power >= 9; power -= 9) multiply_add(1'000'000'000, 0);
        for (; power > 0; --power) multiply_add(10, 0);
    }
    void shift_left(int distance) {
        if (limbs_.empty()) return;
        multiply_add(std::uint32_t{1} << (distance % 32), 0);
        limbs_.insert(limbs_.begin(), static_cast<std::size_t>(distance / 32), 0);
    }
    [[nodiscard]] bool at_least(const BigInteger& other) const {
        if (limbs_.size() != other.limbs_.size()) return limbs_.size() > other.limbs_.size();
        return !std::lexicographical_compare(limbs_.rbegin(), limbs_.rend(), other.limbs_.rbegin(),
                                             other.limbs_.rend());
    }
    void add(const BigInteger& other) {
        limbs_.resize(std::max(limbs_.size(), other.limbs_.size()));
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i < limbs_.size(); ++i) {
            carry += std::uint64_t{limbs_[i]} + (i < other.limbs_.size() ? other.limbs_[i] : 0);
            limbs_[i] = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
        if (carry != 0) limbs_.push_back(static_cast<std::uint32_t>(carry));
    }
    /// *this -= other; needs at_least(other).
    void subtract(const BigInteger& other) {
        std::int64_t borrow = 0;
        for (std::size_t i = 0; i < limbs_.size(); ++i) {
            const std::int64_t taken = i < other.limbs_.size() ? other.limbs_[i] : 0;
            const std::int64_t difference = std::int64_t{limbs_[i]} - taken - borrow;
            borrow = difference < 0 ? 1 : 0;
            limbs_[i] = static_cast<std::uint32_t>(difference);
        }
        trim();
    }
    /// *this /= divisor; returns the remainder.
    std::uint32_t divide(std::uint32_t divisor) {
        std::uint64_t remainder = 0;
        for (auto limb = limbs_.rbegin(); limb != limbs_.rend(); ++limb) {
            remainder = remainder << 32 | *limb;
            *limb = static_cast<std::uint32_t>(remainder / divisor);
            remainder %= divisor;
        }
        trim();
        return static_cast<std::uint32_t>(remainder);
    }
    [[nodiscard]] std::string to_decimal() const {
        if (is_zero()) return "0";
        BigInteger rest = *this;
        std::string digits;
        while (!rest.is_zero()) {
            std::uint32_t nine = rest.divide(1'000'000'000);
            for (int i = 0; i < 9 && (nine != 0 || !rest.is_zero()); ++i, nine /= 10) {
                digits += static_cast<char>('0' + nine % 10);
            }
        }
        std::reverse(digits.begin(), digits.end());
        return digits;
    }

  private:
    void trim() {
        while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
    }
    std::vector<std::uint32_t> limbs_;
};

}  // namespace ulp
