// An NVFP4 quantiser: a solution.
#include <cmath>

#include "exercise.hpp"

namespace {

/// The code of a magnitude in a format with that many fraction bits, bias and largest code.
int code_of(float magnitude, int fraction_bits, int bias, int largest_code) {
    if (magnitude == 0) return 0;
    int exponent = std::ilogb(magnitude);
    if (exponent > 20) return largest_code;
    if (exponent < 1 - bias) exponent = 1 - bias;
    const double steps = std::ldexp(static_cast<double>(magnitude), fraction_bits - exponent);
    const int code = static_cast<int>(std::nearbyint(steps)) + ((exponent + bias - 1) << fraction_bits);
    return code > largest_code ? largest_code : code;
}

float value_of(std::uint8_t e4m3) {
    const int field = e4m3 >> 3;
    return field == 0 ? std::ldexp(static_cast<float>(e4m3 & 7), -9)
                      : std::ldexp(static_cast<float>(8 + (e4m3 & 7)), field - 10);
}

float largest_of(const float* x, int n) {
    float largest = 0;
    for (int i = 0; i < n; ++i) largest = std::fmax(largest, std::fabs(x[i]));
    return largest;
}

}  // namespace

float tensor_scale(const float* x, int n) {
    const float largest = largest_of(x, n);
    if (largest == 0) return 1;
    return 1 / (2688 / largest);
}

std::uint8_t block_scale(const float* x, float largest) {
    const float encode = 2688 / largest;
    const float scale = largest_of(x, 16) / 6 * encode;
    return static_cast<std::uint8_t>(code_of(scale, 3, 7, 0x7E));
}

std::uint8_t element(float x, float tensor, std::uint8_t block) {
    if (block == 0) return 0;
    const float encode = 1 / (value_of(block) * tensor);
    const float scaled = x * encode;
    const int code = code_of(std::fabs(scaled), 1, 1, 7);
    return static_cast<std::uint8_t>((std::signbit(x) ? 8 : 0) | code);
}
