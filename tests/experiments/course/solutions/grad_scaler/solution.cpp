// A GradScaler: a solution.
#include <cmath>

#include "exercise.hpp"

bool unscale(const Scaler& scaler, float* gradients, int n) {
    const auto inverse = static_cast<float>(1 / static_cast<double>(scaler.scale));
    bool found = false;
    for (int i = 0; i < n; ++i) {
        found = found || !std::isfinite(gradients[i]);
        gradients[i] *= inverse;
    }
    return found;
}

void update(Scaler& scaler, bool found_infinity) {
    if (found_infinity) {
        scaler.scale *= scaler.backoff;
        scaler.tracker = 0;
        return;
    }
    ++scaler.tracker;
    if (scaler.tracker < scaler.interval) return;
    const float grown = scaler.scale * scaler.growth;
    if (std::isfinite(grown)) scaler.scale = grown;
    scaler.tracker = 0;
}
