// A planted mistake: kahan.
#include "exercise.hpp"

float sum(const float* x, int n) {
    float total = 0;
    float compensation = 0;
    for (int i = 0; i < n; ++i) {
        const float y = x[i] - compensation;
        const float t = total + y;
        compensation = (t - total) - y;
        total = t;
    }
    return total;
}
