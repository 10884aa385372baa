#include "exercise.hpp"

float sum(const float* x, int n) {
    (void)x;
    (void)n;
    return 0;  // to be written
}
