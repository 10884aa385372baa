// Learning rates over time, as functions of the step (counted from 0). Constexpr and without libm.
#pragma once

#include <cstdint>

namespace ulp {

/// Rises linearly over the first `warmup` steps to 1, then stays.
constexpr double warmup_factor(std::int64_t step, std::int64_t warmup) {
    return step < warmup ? static_cast<double>(step + 1) / static_cast<double>(warmup) : 1.0;
}

/// Multiplied by `factor` every `interval` steps.
constexpr double step_decay_factor(std::int64_t step, std::int64_t interval, double factor) {
    double result = 1;
    for (std::int64_t i = interval; i <= step; i += interval) result *= factor;
    return result;
}

/// Falls linearly from 1 at step 0 to 0 at step `total`.
constexpr double linear_decay_factor(std::int64_t step, std::int64_t total) {
    return step < total ? static_cast<double>(total - step) / static_cast<double>(total) : 0.0;
}

/// (1 + cos(pi step / total)) / 2: from 1 to 0 along half a cosine. The cosine by its Taylor series around pi / 2.
constexpr double cosine_decay_factor(std::int64_t step, std::int64_t total) {
    if (step >= total) return 0.0;
    const double x = (0.5 - static_cast<double>(step) / static_cast<double>(total)) * 3.14159265358979323846;
    double term = x;  // cos(pi / 2 - x) = sin x
    double sum = x;
    for (int n = 1; n <= 12; ++n) {
        term *= -x * x / (2 * n * (2 * n + 1));
        sum += term;
    }
    return (1 + sum) / 2;
}

static_assert(cosine_decay_factor(0, 10) == 1.0 && cosine_decay_factor(5, 10) == 0.5);
static_assert(warmup_factor(0, 4) == 0.25 && warmup_factor(4, 4) == 1.0 && step_decay_factor(20, 10, 0.5) == 0.25);

}  // namespace ulp
