// Training runs that are compared: the same task, data and order, another recipe, optimizer or seed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/training/trainer.hpp"
#include "experiments/framework/control.hpp"

namespace ulp {

/// What a net learns: the loss of a step's batch, and the share of unseen examples that it gets right.
struct Task {
    std::function<Var(Tape&, std::int64_t step)> loss;
    std::function<double(const Engine&)> accuracy;
};
/// Adds a net's parameters to the model; the seed decides the order of the examples.
using TaskBuilder = std::function<Task(Model&, std::uint64_t seed)>;

/// The recipe; under the control "wide" with fp32 in the place of its formats and without operand scales.
Recipe under_wide_control(const RunContext& context, Recipe recipe);

/// One training run. Runs with the same seed see the same batches in the same order and start from the same weights, up
/// to their format.
struct Trial {
    Recipe recipe;
    TaskBuilder task;
    OptimizerOptions optimizer;
    std::int64_t steps = 0;
    std::uint64_t seed = 1;
    std::string backend = "soft:ieee";
    bool decay = false;  // the learning rate falls linearly to 0, so that the last steps' noise does not decide
    /// Called before the first step, and after each.
    std::function<void(Trainer&)> prepare{};
    std::function<void(Trainer&, const StepResult&)> after_step{};
};

struct TrialResult {
    std::vector<double> losses;  // of each batch, before its step; fp32
    std::vector<double> scales;  // the loss scale in each step
    std::vector<bool> skipped;
    double accuracy = 0;  // after the last step

    [[nodiscard]] std::int64_t skips() const;
};

TrialResult run_trial(const Trial& trial);

/// All of them, side by side where their backends are software; the results are in the trials' order.
/// `progress` is told the share done.
std::vector<TrialResult> run_trials(const std::vector<Trial>& trials, const std::function<void(double)>& progress);

/// Least, middle (of the sorted, the lower one of two) and largest.
struct Spread {
    double least, middle, largest;
};
/// Throws std::invalid_argument for no values.
Spread spread_of(std::vector<double> values);
/// Of the accuracies of results first, first + 1, ... first + count - 1: the seeds of one setting.
Spread accuracy_of(const std::vector<TrialResult>& results, std::size_t first, std::size_t count);
/// "93.1 % (92.0 to 94.5)" of accuracies.
std::string percent_text(const Spread& spread);
/// Bars with ranges as two series: NAME holds the middles, "NAME range" the least and the largest of each.
struct Bars {
    Series middles, ranges;

    explicit Bars(const std::string& name) : middles{name}, ranges{name + " range"} {}
    void add(double x, const Spread& spread) {
        middles.points.push_back({x, spread.middle});
        ranges.points.push_back({x, spread.least});
        ranges.points.push_back({x, spread.largest});
    }
    void move_into(Figure& figure) {
        figure.series.push_back(std::move(middles));
        figure.series.push_back(std::move(ranges));
    }
};
/// As good as the reference: the middle lies at most `slack` below the reference's least.
bool as_good(const Spread& spread, const Spread& reference, double slack);

/// The backend that the products run on: each step rounded, in a written order, where none is named. Matrix units have
/// no products of fp32: their fp32 runs take those.
inline std::string backend_or_ieee(const std::string& chosen) {
    return chosen.empty() ? "soft:ieee" : "with_ieee(" + chosen + ")";
}

}  // namespace ulp
