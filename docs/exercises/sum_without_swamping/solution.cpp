// Sum without swamping: a solution. Sums of 10,000 multiples of 2^-24 below 2^16 need 54 bits.
#include <cmath>
#include <cstdint>

#include "exercise.hpp"

float sum(const float* x, int n) {
    std::int64_t units = 0;  // of 2^-24
    for (int i = 0; i < n; ++i) units += static_cast<std::int64_t>(std::ldexp(x[i], 24));
    return std::ldexp(static_cast<float>(units), -24);
}
