// A planted mistake: half accumulator.
#include <cmath>

#include "exercise.hpp"

namespace {
/// x on the grid of halves, to nearest even.
float to_half(float x) {
    if (x == 0 || std::isinf(x)) return x;
    int exponent = std::ilogb(x);
    if (exponent < -14) exponent = -14;
    const float rounded = std::ldexp(std::nearbyint(std::ldexp(x, 10 - exponent)), exponent - 10);
    return std::fabs(rounded) > 65504 ? std::copysign(INFINITY, x) : rounded;
}
}  // namespace

float sum(const float* x, int n) {
    float total = 0;
    for (int i = 0; i < n; ++i) total = to_half(total + x[i]);
    return total;
}
