#pragma once

#include <limits>

/// e^x, rounded to a single. Given.
float exponential(float x);

struct Row {
    float largest = -std::numeric_limits<float>::infinity();  // score so far
    float sum = 0;                                            // of exp(score - largest)
    float out = 0;                                            // of exp(score - largest) * value
};

/// Takes scores[0] ... scores[n - 1] and their values.
void next_tile(Row& row, const float* scores, const float* values, int n);

/// The softmax's mean of the values so far.
float result(const Row& row);
