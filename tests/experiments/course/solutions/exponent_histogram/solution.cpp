// An exponent histogram: a solution.
#include <cmath>

#include "exercise.hpp"

Histogram histogram(const float* x, int n) {
    Histogram result;
    float largest = 0;
    for (int i = 0; i < n; ++i) {
        const float size = std::fabs(x[i]);
        if (std::isnan(size)) {
            ++result.nans;
        } else if (std::isinf(size)) {
            ++result.infinities;
        } else if (size == 0) {
            ++result.zeros;
        } else {
            ++result.counts[std::ilogb(size) - lowest_exponent];
            if (size <= 0x1p-25F) ++result.lost_in_half;  // a tie goes to zero
            if (size > largest) largest = size;
        }
    }
    if (largest > 0) {
        result.largest_shift = 15 - std::ilogb(largest);
        if (std::ldexp(static_cast<double>(largest), result.largest_shift) >= 65520) --result.largest_shift;
    }
    return result;
}
