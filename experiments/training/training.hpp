// The training harness: an experiment that trains describes its training runs here, and only the harness makes steps,
// watches and evaluations.
//
//     const Training training{.task = images_task(dense_net({32}), data, 32),
//                             .optimizer = {.learning_rate = 0.1},
//                             .steps = 200};
//     const Comparison runs = compare(context, result, {fp32_arithmetic(), ...}, training, seeds);  // comparison.hpp
//     claim_parity(result, runs, test_accuracy, accuracy_text, margin, "parity", source, text);  // comparison.hpp
#pragma once

#include <any>

#include "engine/recipes/loss_scale.hpp"
#include "engine/training/schedule.hpp"
#include "engine/training/trainer.hpp"
#include "experiments/framework/experiment.hpp"

namespace ulp {

/// A way to compute: a recipe, and the backend of its products.
struct Arithmetic {
    std::string name;  // of the curve
    Recipe recipe;
    std::string backend{};
};

/// What one run of training left.
struct Learned {
    std::vector<double> losses{};  // of each step's batch before the step, unscaled; values of fp32
    std::vector<double> scales{};  // the loss scale in each step
    std::vector<bool> skipped{};   // whether an infinite or NaN gradient kept the optimizer from stepping
    std::vector<double> scores{};  // what the task measures at the end, in an order of its own
    std::any more{};               // what else the task keeps
    std::int64_t parameters = 0;   // of the net
    std::int64_t examples = 0;     // of the test set of which scores are shares; 0: not counted

    [[nodiscard]] std::int64_t skips() const;
    /// The task's `more`, of the type that it stored.
    template <class T>
    [[nodiscard]] const T& kept() const {
        return std::any_cast<const T&>(more);
    }
};

/// What one run learns, measures and looks at. Each run has a task of its own, so what a run collects can live in it.
struct Task {
    /// Puts the loss of a step's batch on the tape.
    std::function<Var(Tape&, std::int64_t step)> loss;
    /// After the last step: fills the scores.
    std::function<void(Evaluation& evaluation, Learned& learned)> measure{};
    /// Shown the tensors of the steps that `watched` picks.
    std::function<void(std::int64_t step, const TapEvent& event)> tap{};
    std::function<bool(std::int64_t step)> watched = [](std::int64_t) { return true; };
    /// Told every product.
    ProductTap product_tap{};
    /// Between unscaling and the update.
    std::function<void(Optimizer&)> before_update{};
    std::function<void(Trainer&, const StepResult&)> after_step{};
};
constexpr bool is_gradient(TensorRole role) {
    return role == TensorRole::weight_gradient || role == TensorRole::activation_gradient;
}
/// Adds a net's parameters to the model; the seed decides the order of the examples.
using TaskBuilder = std::function<Task(Model&, std::uint64_t seed)>;

/// The run keeps a copy of what was collected on its way.
template <class T>
void keep(Task& task, const std::shared_ptr<T>& collected) {
    task.measure = [collected, measure = task.measure](Evaluation& evaluation, Learned& learned) {
        if (measure) measure(evaluation, learned);
        learned.more = *collected;
    };
}

/// The task with hooks of `watch(task, collected)`, which fill a T that the run keeps.
template <class T, class Watch>
TaskBuilder watching(const TaskBuilder& task, const Watch& watch) {
    return [=](Model& model, std::uint64_t seed) {
        Task watched = task(model, seed);
        const auto collected = std::make_shared<T>();
        watch(watched, collected);
        keep(watched, collected);
        return watched;
    };
}

/// All that a training depends on but the seed. Runs with the same seed see the same batches in the same order and
/// start from the same weights, up to their format.
struct Training {
    Arithmetic arithmetic{};
    TaskBuilder task{};
    OptimizerOptions optimizer{};
    std::int64_t steps = 0;
    /// Times the optimizer's learning rate, in each step from 0 on; 1 where none is given. Where it ends at 0, as
    /// linear_decay_factor, the last steps' noise does not decide.
    std::function<double(std::int64_t step, std::int64_t steps)> schedule{};
    double clip_norm = 0;     // of a step's unscaled gradients; 0: they are not clipped
    bool keep_trace = false;  // of every step's bits
};

/// One run, step by step: for experiments that go through several runs in step.
class TrainingRun {
  public:
    TrainingRun(const Training& training, std::uint64_t seed);
    TrainingRun(const TrainingRun&) = delete;
    TrainingRun& operator=(const TrainingRun&) = delete;

    StepResult step();
    /// What the run has left so far, with the task's scores, in the run's arithmetic or in another.
    [[nodiscard]] Learned measured() const { return measured(trainer_.engine()); }
    [[nodiscard]] Learned measured(const Engine& arithmetic) const;

    [[nodiscard]] Trainer& trainer() { return trainer_; }
    [[nodiscard]] const Trainer& trainer() const { return trainer_; }
    [[nodiscard]] const Learned& learned() const { return learned_; }

  private:
    Training training_;
    Trainer trainer_;
    Task task_;
    Learned learned_;
};

/// A run from its first step to its scores.
Learned train(const Training& training, std::uint64_t seed);

/// The examples of each step, of `count` in batches, shuffled by the seed.
std::function<std::vector<Index>(std::int64_t step)> batches(Index count, Index batch, std::uint64_t seed);

// The arithmetics that experiments train in, and what the controls put in their place.

/// The backend of mixed runs: the one that was asked for, else the model of an H100.
std::string mixed_backend(const RunContext& context);
/// mixed_backend() for the products that it has, IEEE sums for the others (fp32): for runs in any recipe.
std::string unit_or_ieee(const RunContext& context);

/// fp32 on soft:ieee: the reference.
Arithmetic fp32_arithmetic();
/// A recipe on mixed_backend(), or on soft:ieee where its products are of fp32, which matrix units lack.
Arithmetic arithmetic_of(const RunContext& context, std::string name, Recipe recipe);
/// fp16 storage, fp32 masters and loss, on mixed_backend().
Arithmetic mixed_arithmetic(const RunContext& context, std::string name, LossScaleOptions loss_scale);
/// The same with the dynamic scale of the setting "scale_window", called "fp16 dynamic".
Arithmetic dynamic_fp16(const RunContext& context);
/// PyTorch's scaler with another window (steps between growths), for runs shorter than 2000 steps.
LossScaleOptions dynamic_loss_scale(std::int64_t window, double initial = 0x1p16);

/// Adam at the rate of the setting "learning_rate".
OptimizerOptions adam_of(const Settings& settings);

/// The setting "control" of experiments that compare mixed precision with fp32: each value spoils one thing, from
/// all of fp16 ("pure_fp16") to no masters or no loss scale. `more` are controls of the experiment's own, which `help`
/// tells of.
Setting mixed_control(std::string help = "", std::vector<std::string> more = {});
/// Leaves out of a recipe in a 16-bit format what the setting "without" names: "scale" (the loss scale becomes 1),
/// "masters" (the weights are kept in 16 bits alone), "sums" (products of fp16 are accumulated in fp16), "norms" (the
/// steps inside norms, softmax and other operations are rounded to 16 bits), or "all" of these. Tells the context.
void leave_out(const RunContext& context, Recipe& recipe);

/// The same arithmetics, without what the setting "without" names; under a control of mixed_control() all but the first
/// are spoilt.
std::vector<Arithmetic> under_control(const RunContext& context, std::vector<Arithmetic> arithmetics);
/// The recipe; under the control "wide" with fp32 instead of its formats and without operand scales.
Recipe under_wide_control(const RunContext& context, Recipe recipe);

}  // namespace ulp
