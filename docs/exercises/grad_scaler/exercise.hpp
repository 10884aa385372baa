#pragma once

struct Scaler {
    float scale;
    float growth;
    float backoff;
    int interval;
    int tracker = 0;  // clean steps since the scale last changed
};

/// gradients[0] ... gradients[n - 1] times 1 / scale; whether any of them was infinite or NaN before.
bool unscale(const Scaler& scaler, float* gradients, int n);

/// After a step: moves scale and tracker.
void update(Scaler& scaler, bool found_infinity);
