#include "exercise.hpp"

bool unscale(const Scaler& scaler, float* gradients, int n) {
    (void)scaler;
    (void)gradients;
    (void)n;
    return false;  // to be written
}

void update(Scaler& scaler, bool found_infinity) {
    (void)scaler;
    (void)found_infinity;  // to be written
}
