#include "experiments/training/trials.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "engine/training/schedule.hpp"
#include "experiments/framework/side_by_side.hpp"

namespace ulp {

Recipe under_wide_control(const RunContext& context, Recipe recipe) {
    if (!has_control(context, "wide")) return recipe;
    for (FloatFormat* format : {&recipe.low, &recipe.weights, &recipe.inputs, &recipe.compute, &recipe.operand,
                                &recipe.accumulator, &recipe.update}) {
        *format = formats::fp32;
    }
    recipe.scaling = OperandScaling::none;
    return recipe;
}

std::int64_t TrialResult::skips() const { return std::count(skipped.begin(), skipped.end(), true); }

TrialResult run_trial(const Trial& trial) {
    Trainer trainer(Engine(trial.recipe, make_backend(trial.backend)), trial.seed);
    const Task task = trial.task(trainer.model(), trial.seed);
    OptimizerOptions optimizer = trial.optimizer;
    optimizer.seed = trial.seed;
    trainer.optimize(optimizer);
    trainer.keep_trace = false;
    if (trial.prepare) trial.prepare(trainer);
    TrialResult result;
    for (std::int64_t step = 0; step < trial.steps; ++step) {
        if (trial.decay) {
            trainer.optimizer().set_learning_rate(optimizer.learning_rate * linear_decay_factor(step, trial.steps));
        }
        const StepResult done = trainer.step([&](Tape& tape) { return task.loss(tape, step); });
        result.losses.push_back(done.loss);
        result.scales.push_back(done.loss_scale);
        result.skipped.push_back(done.skipped);
        if (trial.after_step) trial.after_step(trainer, done);
    }
    trainer.engine().training = false;
    result.accuracy = task.accuracy(trainer.engine());
    return result;
}

std::vector<TrialResult> run_trials(const std::vector<Trial>& trials, const std::function<void(double)>& progress) {
    std::vector<TrialResult> results(trials.size());
    const bool parallel = std::ranges::all_of(trials, [](const Trial& t) { return may_run_side_by_side(t.backend); });
    run_side_by_side(
        trials.size(), parallel, [&](std::size_t i) { results[i] = run_trial(trials[i]); }, progress);
    return results;
}

Spread spread_of(std::vector<double> values) {
    if (values.empty()) throw std::invalid_argument("no values have no spread");
    std::sort(values.begin(), values.end());
    return {values.front(), values[(values.size() - 1) / 2], values.back()};
}

Spread accuracy_of(const std::vector<TrialResult>& results, std::size_t first, std::size_t count) {
    std::vector<double> values;
    for (std::size_t i = first; i < first + count; ++i) values.push_back(results.at(i).accuracy);
    return spread_of(std::move(values));
}

std::string percent_text(const Spread& spread) {
    return fmt::format("{:.1f} % ({:.1f} to {:.1f})", 100 * spread.middle, 100 * spread.least, 100 * spread.largest);
}

bool as_good(const Spread& spread, const Spread& reference, double slack) {
    return spread.middle >= reference.least - slack;
}

}  // namespace ulp
