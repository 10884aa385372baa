// The order in which a training visits its examples.
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
