#include "exercise.hpp"

Histogram histogram(const float* x, int n) {
    (void)x;
    (void)n;
    return {};  // to be written
}
