// The functions of one operand: what is special about each, and its two phases. Special values follow C's annex F (ISO
// C23) and IEEE 754-2019 section 9.2; exact results are all there are (Lindemann's theorem and its kin leave no other).
#pragma once

#include "softfloat/functions/evaluate.hpp"
#include "softfloat/functions/fast_exp_log.hpp"
#include "softfloat/functions/wide_exp_log.hpp"

namespace ulp::functions {

using Operand = Unpacked<std::uint64_t>;

/// The largest fp32 number.
inline constexpr float fp32_max = 0x1.FFFFFEp127F;

/// A power of two, 2^exponent: exponent; anything else: no value.
struct PowerOfTwo {
    bool is;
    int exponent;
};
constexpr PowerOfTwo power_of_two(const Operand& x) {
    return {std::has_single_bit(x.significand), x.exponent + bit_length(x.significand) - 1};
}
constexpr bool is_one(const Operand& x) {
    const auto [is_power, exponent] = power_of_two(x);
    return x.kind == Kind::finite && is_power && exponent == 0;
}

struct Exp {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::number(false, 0, 1);
        if (x.kind == Kind::infinity) return x.sign ? Special::zero(false) : Special::infinity(false);
        return Special::none();
    }
    static constexpr double fast(double x) { return fast::exp(x); }
    static constexpr Wide wide(const Wide& x) { return wide::exp(x); }
    static constexpr bool pinned_domain(float x) { return x > -87 && x < 88; }
};

struct Log {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::pole(true);
        if (x.sign) return Special::invalid();
        if (x.kind == Kind::infinity) return Special::infinity(false);
        return is_one(x) ? Special::zero(false) : Special::none();
    }
    static constexpr double fast(double x) { return fast::log(x); }
    static constexpr Wide wide(const Wide& x) { return wide::log(x); }
    static constexpr bool pinned_domain(float x) { return x > 0 && x <= fp32_max; }
};

struct Tanh {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::zero(x.sign);
        if (x.kind == Kind::infinity) return Special::number(x.sign, 0, 1);
        return Special::none();
    }
    static constexpr double fast(double x) { return fast::tanh(x); }
    static constexpr Wide wide(const Wide& x) { return wide::tanh(x); }
    static constexpr bool pinned_domain(float x) { return x >= -fp32_max && x <= fp32_max; }
};

}  // namespace ulp::functions
