#include "experiments/training/training.hpp"

#include <algorithm>
#include <memory>

#include "engine/training/schedule.hpp"

namespace ulp {

std::int64_t Learned::skips() const { return std::count(skipped.begin(), skipped.end(), true); }

TrainingRun::TrainingRun(const Training& training, std::uint64_t seed)
    : training_(training),
      trainer_(Engine(training_.arithmetic.recipe, make_backend(training_.arithmetic.backend)), seed),
      task_(training_.task(trainer_.model(), seed)) {
    training_.optimizer.seed = seed;
    learned_.parameters = trainer_.model().parameter_count();
    trainer_.optimize(training_.optimizer);
    trainer_.keep_trace = training_.keep_trace;
    trainer_.before_update = [this](Optimizer& optimizer) {
        if (training_.clip_norm > 0) optimizer.clip_by_norm(training_.clip_norm);
        if (task_.before_update) task_.before_update(optimizer);
    };
    trainer_.observers().product_tap = task_.product_tap;
    if (task_.tap) {
        trainer_.watch(task_.watched, [this](const TapEvent& event) { task_.tap(trainer_.steps(), event); });
    }
}

StepResult TrainingRun::step() {
    const std::int64_t number = trainer_.steps();
    if (training_.schedule) {
        const double factor = training_.schedule(number, training_.steps);
        trainer_.optimizer().set_learning_rate(training_.optimizer.learning_rate * factor);
    }
    const StepResult done = trainer_.step([&](Tape& tape) { return task_.loss(tape, number); });
    learned_.losses.push_back(done.loss);
    learned_.scales.push_back(done.loss_scale);
    learned_.skipped.push_back(done.skipped);
    if (task_.after_step) task_.after_step(trainer_, done);
    return done;
}

Learned TrainingRun::measured(const Engine& arithmetic) const {
    Learned learned = learned_;
    Evaluation evaluation = trainer_.evaluation(arithmetic);
    if (task_.measure) task_.measure(evaluation, learned);
    return learned;
}

Learned train(const Training& training, std::uint64_t seed) {
    TrainingRun run(training, seed);
    for (std::int64_t step = 0; step < training.steps; ++step) run.step();
    return run.measured();
}

std::function<std::vector<Index>(std::int64_t)> batches(Index count, Index batch, std::uint64_t seed) {
    return [order = std::make_shared<BatchSchedule>(count, batch, seed)](std::int64_t step) { return order->at(step); };
}

}  // namespace ulp
