// Learning rates over time, as functions of the step (counted from 0). Constexpr and without libm.
#pragma once

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor/random.hpp"
#include "engine/tensor/tensor.hpp"

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

// The order in which a training visits its examples.

/// The order in which epoch `epoch` visits `count` examples: a permutation that depends on (seed, epoch) alone.
inline std::vector<Index> shuffled(Index count, std::uint64_t seed, std::uint64_t epoch) {
    std::vector<Index> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), Index{0});
    Random random(seed, hash_of("shuffle") + epoch);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    return order;
}

/// Minibatches without end: each epoch visits every example once in an order of its own (a last, smaller batch is
/// dropped). Depends on (count, size, seed) alone.
class BatchSchedule {
  public:
    /// Throws std::invalid_argument if there is not a single batch in `count` examples.
    BatchSchedule(Index count, Index batch_size, std::uint64_t seed)
        : count_(count), batch_size_(batch_size), seed_(seed) {
        if (batch_size < 1 || count < batch_size) {
            throw std::invalid_argument(std::to_string(count) + " examples hold no batch of " +
                                        std::to_string(batch_size));
        }
    }
    std::vector<Index> next() { return at(step_++); }
    /// The examples of step `step`.
    [[nodiscard]] std::vector<Index> at(std::int64_t step) {
        const std::int64_t epoch = step / steps_per_epoch();
        if (epoch != epoch_) {
            order_ = shuffled(count_, seed_, static_cast<std::uint64_t>(epoch));
            epoch_ = epoch;
        }
        const auto first = order_.begin() + (step % steps_per_epoch()) * batch_size_;
        return {first, first + batch_size_};
    }
    [[nodiscard]] std::int64_t steps_per_epoch() const { return count_ / batch_size_; }
    [[nodiscard]] std::int64_t position() const { return step_; }
    void seek(std::int64_t step) { step_ = step; }

  private:
    Index count_;
    Index batch_size_;
    std::uint64_t seed_;
    std::int64_t step_ = 0;
    std::int64_t epoch_ = -1;
    std::vector<Index> order_;
};

}  // namespace ulp
