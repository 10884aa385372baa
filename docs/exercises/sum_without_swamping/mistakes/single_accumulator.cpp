// A planted mistake: single accumulator.
#include "exercise.hpp"

float sum(const float* x, int n) {
    float total = 0;
    for (int i = 0; i < n; ++i) total += x[i];
    return total;
}
