// The accurate exponential and logarithm: classic argument reduction and Taylor series. Relative error below 2^-110 for
// every argument (2^-120 but for exponentials of large ones, where k * ln2 brings its own error).
//
// Where a result is "exact + tiny" (1 + x, x - x^2/2) the last operation is that sum, so its jammed bit keeps the side.
#pragma once

#include "softfloat/functions/float127.hpp"

namespace ulp::accurate_phase {

constexpr Float127 ln2() { return Float127::constant(-127, 0x58B90BFBE8E7BCD5, 0xE4F1D9CC01F97B58); }
constexpr Float127 log2e() { return Float127::constant(-126, 0x5C551D94AE0BF85D, 0xDF43FF68348E9F44); }

/// e^r - 1 = r + r^2 (1/2! + r/3! + r^2/4! + ...) for |r| <= 0.35: 29 terms, the next is 0.35^29/30! < 2^-150.
constexpr Float127 expm1_core(const Float127& r) {
    Float127 sum{1};
    for (std::uint64_t n = 30; n >= 3; --n) sum = Float127{1} + divide(r * sum, n);
    return r + r * r * scale(sum, -1);
}

/// x = k ln2 + r with |r| <= ln2/2. Arguments beyond 2^14 become 2^14, far beyond every format's overflow.
struct ExpReduction {
    int k;
    Float127 r;
};
constexpr ExpReduction reduce_exp(Float127 x) {
    if (!x.is_zero() && x.leading() >= 14) x = Float127{x.sign, 14, 1};
    const int k = nearest_integer(x * log2e());
    return {k, x - Float127{k} * ln2()};
}

constexpr Float127 exp(const Float127& x) {
    const auto [k, r] = reduce_exp(x);
    return scale(Float127{1} + expm1_core(r), k);
}
constexpr Float127 expm1(const Float127& x) {
    const auto [k, r] = reduce_exp(x);
    if (k == 0) return expm1_core(r);
    return scale(Float127{1} + expm1_core(r), k) - Float127{1};
}
constexpr Float127 exp2(const Float127& x) {
    if (!x.is_zero() && x.leading() >= 14) return {false, x.sign ? -(1 << 14) : 1 << 14, 1};
    const int k = nearest_integer(x);
    return scale(Float127{1} + expm1_core((x - Float127{k}) * ln2()), k);
}

/// Near zero by its series, x - x^3/3 + 2x^5/15 (the next is below x 2^-180), so that the side of x is kept; elsewhere
/// by e^2x - 1, in a form that ends in a sum where the result comes close to 1.
constexpr Float127 tanh(const Float127& x) {
    if (x.leading() < -30) {
        const Float127 x2 = x * x;
        return x + x * x2 * (scale(divide(x2, 15), 1) - divide(Float127{1}, 3));
    }
    const Float127 e = expm1(scale(abs(x), 1));
    const Float127 magnitude = x.leading() < -1 ? e / (e + Float127{2}) : Float127{1} - Float127{2} / (e + Float127{2});
    return x.sign ? -magnitude : magnitude;
}

/// Around zero as a sum, 1/2 + tanh(x/2)/2; left of it as a quotient, which stays accurate as it goes to zero.
constexpr Float127 sigmoid(const Float127& x) {
    if (!x.sign || x.leading() < 0) return Float127{false, -1, 1} + scale(tanh(scale(x, -1)), -1);
    const Float127 e = exp(x);
    return e / (e + Float127{1});
}

/// log(1 + u) = 2 atanh(s), s = u / (2 + u), for sqrt(1/2) <= 1 + u <= sqrt(2), where s^2 < 0.0295:
///     2s + 2s (s^2/3 + s^4/5 + ...) = u - u s + 2s (...)
/// 26 terms; the next is 0.0295^26/53 < 2^-137.
constexpr Float127 log1p_core(const Float127& u) {
    const Float127 s = u / (Float127{2} + u);
    const Float127 s2 = s * s;
    Float127 sum{};
    for (std::uint64_t n = 53; n >= 3; n -= 2) sum = s2 * (divide(Float127{1}, n) + sum);
    return u + s * (scale(sum, 1) - u);
}

/// x = 2^k (1 + u) with sqrt(1/2) <= 1 + u <= sqrt(2), x > 0; u is exact where x has fewer than 120 bits.
struct LogReduction {
    int k;
    Float127 u;
};
constexpr LogReduction reduce_log(const Float127& x) {
    const int k = x.leading();
    const Float127 mantissa = scale(x, -k);
    const Float127 sqrt2 = Float127::constant(-126, 0x5A827999FCEF3242, 0x2CBEC4D9BAA55F50);
    if (mantissa < sqrt2) return {k, mantissa - Float127{1}};
    return {k + 1, scale(mantissa, -1) - Float127{1}};
}

constexpr Float127 log(const Float127& x) {
    const auto [k, u] = reduce_log(x);
    return Float127{k} * ln2() + log1p_core(u);
}
constexpr Float127 log2(const Float127& x) {
    const auto [k, u] = reduce_log(x);
    return Float127{k} + log1p_core(u) * log2e();
}
/// x > -1.
constexpr Float127 log1p(const Float127& x) {
    if (x.is_zero() || x.leading() < -2) return log1p_core(x);
    return log(Float127{1} + x);
}

constexpr Float127 softplus(const Float127& x) { return x.sign ? log1p(exp(x)) : x + log1p(exp(-x)); }

/// Roots by way of the logarithm: what is not exact is far from every boundary, as the n-th power of a boundary differs
/// from x by a unit of a product of n significands (relative 2^-75 for cubes of 25 bits).
constexpr Float127 rsqrt(const Float127& x) { return exp(-scale(log(x), -1)); }
constexpr Float127 cbrt(const Float127& x) {
    const Float127 magnitude = exp(divide(log(abs(x)), 3));
    return x.sign ? -magnitude : magnitude;
}

static_assert(abs(exp(Float127{1}) * exp(Float127{-1}) - Float127{1}) < Float127(false, -120, 1));
static_assert(abs(log(Float127{3}) + log(Float127{5}) - log(Float127{15})) < Float127(false, -120, 1));
static_assert(abs(exp2(log2(Float127{10})) - Float127{10}) < Float127(false, -115, 1));

}  // namespace ulp::accurate_phase
