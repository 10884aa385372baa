// A planted mistake: pairwise.
#include "exercise.hpp"

float sum(const float* x, int n) {
    if (n == 1) return x[0];
    const int left = n / 2;
    return sum(x, left) + sum(x + left, n - left);
}
