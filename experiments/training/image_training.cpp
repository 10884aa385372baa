#include "experiments/training/image_training.hpp"

#include <algorithm>
#include <numeric>

#include "experiments/training/small_nets.hpp"

namespace ulp {

void note(const StepResult& step, Learned& learned) {
    learned.losses.push_back(step.loss);
    learned.scales.push_back(step.loss_scale);
    learned.skipped += step.skipped ? 1 : 0;
}

double last_tenth(const std::vector<double>& losses) {
    const auto count = std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(losses.size() / 10));
    return std::accumulate(losses.end() - count, losses.end(), 0.0) / static_cast<double>(count);
}

Learned train_images(const Arithmetic& arithmetic, std::uint64_t seed, const DataSplit& data,
                     const ImageTraining& training) {
    const NetBuilder net = [&](Model& model) { return training.net(model, shape_of(data.train)); };
    const TrialResult result = run_trial({.recipe = arithmetic.recipe,
                                          .task = images_task(net, data, training.batch),
                                          .optimizer = training.optimizer,
                                          .steps = training.steps,
                                          .seed = seed,
                                          .backend = arithmetic.backend,
                                          .decay = training.decay});
    return {result.losses, result.scales, {result.accuracy, last_tenth(result.losses)}, result.skips()};
}

}  // namespace ulp
