// An MXFP8 quantiser: a solution.
#include <cmath>

#include "exercise.hpp"

std::uint8_t block_scale(const float* x) {
    float largest = 0;
    for (int i = 0; i < 32; ++i) {
        const float size = std::fabs(x[i]);
        if (!std::isfinite(size)) return 255;
        if (size > largest) largest = size;
    }
    if (largest == 0) return 0;
    int exponent = std::ilogb(largest) - 8;
    if (exponent < -127) exponent = -127;
    return static_cast<std::uint8_t>(exponent + 127);
}

std::uint8_t element(float x, std::uint8_t scale) {
    if (scale == 255) return 0;
    const double value = std::ldexp(std::fabs(static_cast<double>(x)), 127 - scale);
    const int sign = std::signbit(x) ? 0x80 : 0;
    if (value == 0) return static_cast<std::uint8_t>(sign);
    int exponent = std::ilogb(value);
    if (exponent < -6) exponent = -6;
    const double steps = std::ldexp(value, 3 - exponent);
    const auto kept = static_cast<int>(std::nearbyint(std::fmin(steps, 100)));
    const int code = kept + 8 * (exponent + 6);
    if (value > 448 || code > 0x7E) return static_cast<std::uint8_t>(sign | 0x7E);
    return static_cast<std::uint8_t>(sign | code);
}
