#include "experiments/image_training.hpp"

#include <algorithm>
#include <numeric>

#include "engine/schedule.hpp"

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
    Trainer<float> trainer(Engine(arithmetic.recipe, make_backend(arithmetic.backend)), seed);
    trainer.keep_trace = false;
    const ImageNet net = training.net(trainer.model(), shape_of(data.train));
    trainer.optimize(training.optimizer);
    BatchSchedule batches(data.train.size(), training.batch, seed);
    Learned learned;
    for (std::int64_t step = 0; step < training.steps; ++step) {
        if (training.decay) {
            const double share = linear_decay_factor(step, training.steps);
            trainer.optimizer().set_learning_rate(training.optimizer.learning_rate * share);
        }
        const Batch batch = batch_of(data.train, batches.next());
        const auto forward = [&](Tape<float>& tape) {
            return cross_entropy(net(images_on(tape, batch.images)), batch.labels);
        };
        note(trainer.step(forward), learned);
    }
    trainer.engine().training = false;
    learned.scores = {accuracy(trainer.engine(), net, data.test), last_tenth(learned.losses)};
    if (training.after) training.after(trainer, net);
    return learned;
}

}  // namespace ulp
