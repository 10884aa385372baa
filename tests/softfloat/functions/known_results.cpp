#include "tests/softfloat/functions/known_results.hpp"

#include <cmath>

namespace ulp::test {

namespace {

// Where the second term of a series is less than 2^-40 of the first it decides a side, nothing else.
bool is_near_zero(double x) { return std::abs(x) < 0x1p-40; }         // 1 + x
bool is_square_near_zero(double x) { return std::abs(x) < 0x1p-20; }  // 1 - x^2/2
constexpr double far = 30;                                            // 1 - e^-x

}  // namespace

Known known_exp(double x) {
    if (x == 0) return number(1);
    if (std::isinf(x)) return x < 0 ? number(0) : infinity(1);
    if (std::abs(x) > 11000) return x < 0 ? tiny(1) : huge();
    if (is_near_zero(x)) return x < 0 ? inward_of(1) : outward_of(1);
    return nothing();
}
Known known_expm1(double x) {
    if (x == 0) return number(x);
    if (std::isinf(x)) return x < 0 ? number(-1) : infinity(1);
    if (x > 11000) return huge();
    if (x < -far) return inward_of(-1);
    if (is_near_zero(x)) return x < 0 ? inward_of(x) : outward_of(x);  // x + x^2/2
    return nothing();
}
Known known_log(double x) {
    if (x == 0) return pole(-1);
    if (x < 0) return invalid();
    if (std::isinf(x)) return infinity(1);
    return x == 1 ? number(0) : nothing();
}
Known known_log1p(double x) {
    if (x == 0) return number(x);
    if (x == -1) return pole(-1);
    if (x < -1) return invalid();
    if (std::isinf(x)) return infinity(1);
    if (is_near_zero(x)) return x < 0 ? outward_of(x) : inward_of(x);  // x - x^2/2
    return nothing();
}
Known known_sin(double x) {
    if (x == 0) return number(x);
    if (std::isinf(x)) return invalid();
    return is_square_near_zero(x) ? inward_of(x) : nothing();
}
Known known_cos(double x) {
    if (x == 0) return number(1);
    if (std::isinf(x)) return invalid();
    return is_square_near_zero(x) ? inward_of(1) : nothing();
}
Known known_tanh(double x) {
    if (x == 0) return number(x);
    if (std::isinf(x)) return number(std::copysign(1, x));
    if (is_square_near_zero(x)) return inward_of(x);
    return std::abs(x) > far ? inward_of(std::copysign(1, x)) : nothing();
}
Known known_sigmoid(double x) {
    if (x == 0) return number(0.5);
    if (std::isinf(x)) return number(x < 0 ? 0 : 1);
    if (is_near_zero(x)) return x < 0 ? inward_of(0.5) : outward_of(0.5);
    if (x > far) return inward_of(1);
    return x < -11000 ? tiny(1) : nothing();
}
Known known_erf(double x) {
    if (x == 0) return number(x);
    if (std::isinf(x)) return number(std::copysign(1, x));
    // 1 - |erf(x)| < e^(-x^2) < 2^-70: closer to 1 than any place that a judge asks for.
    return std::abs(x) > 7 ? inward_of(std::copysign(1, x)) : nothing();
}
Known known_gelu(double x) {
    if (x == 0) return number(x);
    if (std::isinf(x)) return x < 0 ? number(-0.0) : infinity(1);
    if (is_near_zero(x)) return x < 0 ? inward_of(x / 2) : outward_of(x / 2);
    if (x > 10) return inward_of(x);  // by less than e^(-x^2/2) < 2^-72 of it
    return x < -140 ? tiny(-1) : nothing();
}
Known known_softplus(double x) {
    if (std::isinf(x)) return x < 0 ? number(0) : infinity(1);
    if (x > far) return outward_of(x);
    return x < -11000 ? tiny(1) : nothing();
}
Known known_rsqrt(double x) {
    if (x == 0) return pole(std::copysign(1, x));
    if (x < 0) return invalid();
    return std::isinf(x) ? number(0) : nothing();
}
Known known_cbrt(double x) {
    if (std::isinf(x)) return infinity(x);
    return x == 0 ? number(x) : nothing();
}

}  // namespace ulp::test
