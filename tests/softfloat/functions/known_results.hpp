// What is known about the functions' results without computing them: special operands (C23 annex F, IEEE 754-2019
// section 9.2), and results that are a known number plus or minus next to nothing.
#pragma once

#include <cstdint>

namespace ulp::test {

/// What is known about a result without computing it.
struct Known {
    enum class Kind : std::uint8_t { nothing, number, beside, huge, tiny, infinity, invalid, pole } kind;
    double value = 0;      // number: the result. beside: next to this ...
    bool outward = false;  // ... but farther from zero, or nearer
};
inline Known nothing() { return {Known::Kind::nothing}; }
inline Known number(double value) { return {Known::Kind::number, value}; }
inline Known outward_of(double value) { return {Known::Kind::beside, value, true}; }
inline Known inward_of(double value) { return {Known::Kind::beside, value, false}; }
inline Known huge(double sign = 1) { return {Known::Kind::huge, sign}; }
inline Known tiny(double sign) { return {Known::Kind::tiny, sign}; }
inline Known infinity(double sign) { return {Known::Kind::infinity, sign}; }
inline Known pole(double sign) { return {Known::Kind::pole, sign}; }
inline Known invalid() { return {Known::Kind::invalid}; }

/// exp, and exp2 as well.
Known known_exp(double x);
Known known_expm1(double x);
/// log, and log2 as well.
Known known_log(double x);
Known known_log1p(double x);
Known known_sin(double x);
Known known_cos(double x);
Known known_tanh(double x);
Known known_sigmoid(double x);
Known known_erf(double x);
Known known_gelu(double x);
Known known_softplus(double x);
Known known_rsqrt(double x);
Known known_cbrt(double x);

}  // namespace ulp::test
