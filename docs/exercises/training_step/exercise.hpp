#pragma once

#include <vector>

/// x rounded to the nearest half, ties to even; infinite from 65520 on. Given.
float to_half(float x);

struct Model {
    std::vector<float> masters;  // singles
    std::vector<float> weights;  // halves
};

struct Settings {
    float scale;  // of the loss, a power of two
    float rate;
    float limit;  // of the gradients' norm
};

/// One training step. Whether it stepped (and was not skipped).
bool training_step(Model& model, const std::vector<float>& x, float target, const Settings& settings);
