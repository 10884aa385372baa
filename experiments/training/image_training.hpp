// Training of a net that tells images apart: what the experiments on classifiers share.
#pragma once

#include "experiments/training/comparison.hpp"
#include "experiments/training/nets.hpp"

namespace ulp {

struct ImageTraining {
    std::int64_t steps = 0;
    Index batch = 64;
    OptimizerOptions optimizer{};
    bool decay = false;  // the learning rate falls linearly to 0, so that running statistics settle
    std::function<ImageNet(Model&, const ImageShape&)> net;
};

/// Scores: accuracy on the test set; mean loss of the last tenth of the steps.
Learned train_images(const Arithmetic& arithmetic, std::uint64_t seed, const DataSplit& data,
                     const ImageTraining& training);
inline constexpr std::size_t test_accuracy = 0;
inline constexpr std::size_t final_loss = 1;
inline const ScoreText accuracy_text{"right on the test set", "%", 100, 1};

/// Adds a step to what was learned.
void note(const StepResult& step, Learned& learned);
/// Mean of the last tenth of the losses, at least one.
double last_tenth(const std::vector<double>& losses);

}  // namespace ulp
