#pragma once

#include <vector>

/// x rounded to the nearest half, ties to even; infinite from 65520 on. Given.
float to_half(float x);

/// What training keeps from step to step.
struct Trainer {
    std::vector<float> wa, wb, wo;  // masters, one for each hidden unit: of the two inputs, and of the output
    float rate;
    float scale;  // of the loss
    float growth;
    float backoff;
    int interval;
    int tracker = 0;  // clean steps since the scale last changed
};

/// One step on the inputs x[0] and x[1]. The loss before it.
float train_step(Trainer& trainer, const float* x, float target);
