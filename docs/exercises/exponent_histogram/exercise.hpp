#pragma once

constexpr int lowest_exponent = -149;
constexpr int highest_exponent = 127;

struct Histogram {
    int counts[highest_exponent - lowest_exponent + 1] = {};
    int zeros = 0;
    int infinities = 0;
    int nans = 0;
    int lost_in_half = 0;
    int largest_shift = 0;
};

/// Of x[0] ... x[n - 1].
Histogram histogram(const float* x, int n);
