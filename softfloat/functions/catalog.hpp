// The functions of one operand: what is special about each, and its two phases. Special values follow C's annex F (ISO
// C23) and IEEE 754-2019 section 9.2; exact results are all there are (Lindemann's theorem and similar ones leave no
// other).
#pragma once

#include <bit>
#include <optional>

#include "softfloat/functions/accurate_erf.hpp"
#include "softfloat/functions/accurate_exp_log.hpp"
#include "softfloat/functions/accurate_trig.hpp"
#include "softfloat/functions/evaluate.hpp"
#include "softfloat/functions/quick_erf.hpp"
#include "softfloat/functions/quick_exp_log.hpp"
#include "softfloat/functions/quick_root.hpp"
#include "softfloat/functions/quick_trig.hpp"

namespace ulp::functions {

using Operand = Unpacked<std::uint64_t>;

/// The fp32 numbers from low to high.
struct Domain {
    float low, high;
    [[nodiscard]] constexpr bool contains(float x) const { return x >= low && x <= high; }
};
/// Where the results of finite operands need no computing, in fp32 and the formats within it of 8 exponent bits, in
/// any rounding but the stochastic one: at or below `low` all round as the result of `low`, at or above `high` as that
/// of `high`; at or above `beside` the results lie beside the operand, on the side of `step`, by less than 2^-30 of it.
/// With stochastic rounding by any number of bits the former holds from twice `low` and twice `high` on.
struct Ends {
    float low = -__builtin_inff();
    float high = __builtin_inff();
    float beside = __builtin_inff();
    int step = 0;
};

constexpr Domain finite() { return {-0x1.FFFFFEp127F, 0x1.FFFFFEp127F}; }
constexpr Domain positive() { return {0x1p-149F, 0x1.FFFFFEp127F}; }

/// |x| lies in [2^this, 2^(this + 1)); x finite.
constexpr int leading_exponent(const Operand& x) { return x.exponent + bit_length(x.significand) - 1; }

/// The exponent of |x| where it is a power of two.
constexpr std::optional<int> power_of_two(const Operand& x) {
    if (x.kind != Kind::finite || !is_power_of_two(x.significand)) return std::nullopt;
    return leading_exponent(x);
}
/// Whether x is 1 or -1.
constexpr bool is_one(const Operand& x) { return power_of_two(x) == 0; }
constexpr Special integer(int n) { return Special::number(n < 0, 0, static_cast<std::uint64_t>(n < 0 ? -n : n)); }

/// 2^x for finite x that is a whole number. Beyond 2^14 it only matters that the result is out of range.
constexpr Special whole_power(const Operand& x) {
    if (x.exponent + trailing_zeros(x.significand) < 0) return Special::none();
    if (leading_exponent(x) >= 14) return Special::number(false, x.sign ? -(1 << 14) : 1 << 14, 1);
    const auto whole = static_cast<int>(x.exponent >= 0 ? x.significand << x.exponent : x.significand >> -x.exponent);
    return Special::number(false, x.sign ? -whole : whole, 1);
}

/// The cube root of finite x that is a cube: of an odd number below 2^24, so the root is below 256, times 8^n.
constexpr Special cube_root(const Operand& x) {
    const int zeros = trailing_zeros(x.significand);
    const std::uint64_t cube = x.significand >> zeros;
    const int exponent = x.exponent + zeros;
    if (exponent % 3 != 0) return Special::none();
    std::uint64_t root = 0;
    for (std::uint64_t bit = 128; bit != 0; bit >>= 1) {
        const std::uint64_t trial = root | bit;
        if (trial * trial * trial <= cube) root = trial;
    }
    return root * root * root == cube ? Special::number(x.sign, exponent / 3, root) : Special::none();
}

/// e^x.
struct Exp {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::number(false, 0, 1);
        if (x.kind == Kind::infinity) return x.sign ? Special::zero(false) : Special::infinity(false);
        return Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::exp(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::exp(x); }
    static constexpr Domain fp32_domain() { return {-103, 88}; }
    static constexpr Ends ends() { return {-105, 89}; }
};

/// 2^x; exact for whole x.
struct Exp2 {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::number(false, 0, 1);
        if (x.kind == Kind::infinity) return x.sign ? Special::zero(false) : Special::infinity(false);
        return whole_power(x);
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::exp2(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::exp2(x); }
    static constexpr Domain fp32_domain() { return {-149, 127}; }
    static constexpr Ends ends() { return {-151, 128}; }
};

/// e^x - 1.
struct Expm1 {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::zero(x.sign);
        if (x.kind == Kind::infinity) return x.sign ? Special::number(true, 0, 1) : Special::infinity(false);
        return Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::expm1(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::expm1(x); }
    static constexpr Domain fp32_domain() { return {finite().low, 88}; }
    static constexpr Ends ends() { return {-24, 89}; }
};

/// The natural logarithm.
struct Log {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::pole(true);
        if (x.sign) return Special::invalid();
        if (x.kind == Kind::infinity) return Special::infinity(false);
        return is_one(x) ? Special::zero(false) : Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::log(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::log(x); }
    static constexpr Domain fp32_domain() { return positive(); }
    static constexpr Ends ends() { return {}; }
};

/// The logarithm to base 2; exact for powers of two.
struct Log2 {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::pole(true);
        if (x.sign) return Special::invalid();
        if (x.kind == Kind::infinity) return Special::infinity(false);
        const std::optional<int> exponent = power_of_two(x);
        return exponent ? integer(*exponent) : Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::log2(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::log2(x); }
    static constexpr Domain fp32_domain() { return positive(); }
    static constexpr Ends ends() { return {}; }
};

/// log(1 + x).
struct Log1p {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::zero(x.sign);
        if (x.sign && is_one(x)) return Special::pole(true);
        if (x.sign && (x.kind == Kind::infinity || leading_exponent(x) >= 0)) return Special::invalid();
        return x.kind == Kind::infinity ? Special::infinity(false) : Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::log1p(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::log1p(x); }
    static constexpr Domain fp32_domain() { return {-0x1.FFFFFEp-1F, finite().high}; }
    static constexpr Ends ends() { return {}; }
};

/// Sine of radians.
struct Sin {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::zero(x.sign);
        if (x.kind == Kind::infinity) return Special::invalid();
        return Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::sin(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::sin(x); }
    static constexpr Domain fp32_domain() { return finite(); }
    static constexpr Ends ends() { return {}; }
};

/// Cosine of radians.
struct Cos {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::number(false, 0, 1);
        if (x.kind == Kind::infinity) return Special::invalid();
        return Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::cos(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::cos(x); }
    static constexpr Domain fp32_domain() { return finite(); }
    static constexpr Ends ends() { return {}; }
};

/// Hyperbolic tangent.
struct Tanh {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::zero(x.sign);
        if (x.kind == Kind::infinity) return Special::number(x.sign, 0, 1);
        return Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::tanh(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::tanh(x); }
    static constexpr Domain fp32_domain() { return finite(); }
    static constexpr Ends ends() { return {-12, 12}; }
};

/// 1 / (1 + e^-x).
struct Sigmoid {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::number(false, -1, 1);
        if (x.kind == Kind::infinity) return x.sign ? Special::zero(false) : Special::number(false, 0, 1);
        return Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::sigmoid(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::sigmoid(x); }
    static constexpr Domain fp32_domain() { return {-103, finite().high}; }
    static constexpr Ends ends() { return {-105, 24}; }
};

/// The error function, 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x.
struct Erf {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::zero(x.sign);
        if (x.kind == Kind::infinity) return Special::number(x.sign, 0, 1);
        return Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::erf(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::erf(x); }
    static constexpr Domain fp32_domain() { return finite(); }
    static constexpr Ends ends() { return {-5, 5}; }
};

/// x Phi(x) with the normal distribution Phi, not its tanh approximation. The limit at minus infinity is -0.
struct Gelu {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::zero(x.sign);
        if (x.kind == Kind::infinity) return x.sign ? Special::zero(true) : Special::infinity(false);
        return Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::gelu(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::gelu(x); }
    static constexpr Domain fp32_domain() { return {-14, finite().high}; }
    static constexpr Ends ends() { return {.low = -14.5F, .beside = 7, .step = -1}; }
};

/// log(1 + e^x).
struct Softplus {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::infinity) return x.sign ? Special::zero(false) : Special::infinity(false);
        return Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::softplus(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::softplus(x); }
    static constexpr Domain fp32_domain() { return {-103, finite().high}; }
    static constexpr Ends ends() { return {.low = -105, .beside = 24, .step = 1}; }
};

/// 1 / sqrt(x); exact for powers of four. rsqrt(-0) is minus infinity (IEEE 754-2019 section 9.2.1).
struct Rsqrt {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::pole(x.sign);
        if (x.sign) return Special::invalid();
        if (x.kind == Kind::infinity) return Special::zero(false);
        const std::optional<int> exponent = power_of_two(x);
        return exponent && *exponent % 2 == 0 ? Special::number(false, -*exponent / 2, 1) : Special::none();
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::rsqrt(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::rsqrt(x); }
    static constexpr Domain fp32_domain() { return positive(); }
    static constexpr Ends ends() { return {}; }
};

/// The cube root; exact for cubes.
struct Cbrt {
    static constexpr Special special(const Operand& x) {
        if (x.kind == Kind::zero) return Special::zero(x.sign);
        if (x.kind == Kind::infinity) return Special::infinity(x.sign);
        return cube_root(x);
    }
    template <class Real>
    static constexpr Real quick(Real x) {
        return quick_phase::cbrt(x);
    }
    static constexpr Float127 accurate(const Float127& x) { return accurate_phase::cbrt(x); }
    static constexpr Domain fp32_domain() { return finite(); }
    static constexpr Ends ends() { return {}; }
};

}  // namespace ulp::functions
