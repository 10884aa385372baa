// The training loop. Stable: experiments build on this header.
//
//     using namespace ulp;
//     Trainer trainer(Engine("mixed_fp16", "soft:h100"), 1);          // recipe, backend, seed
//     const Mlp net(trainer.model(), {784, 128, 10});
//     trainer.optimize({.learning_rate = 0.1, .momentum = 0.9});
//     const DataSplit data = generated_digit_split(8000, 1000, 28, 1);           // or read_mnist("folder")
//     trainer.watch([](std::int64_t step) { return step % 100 == 0; }, [](const TapEvent& event) { ... });
//     BatchSchedule batches(data.train.size(), 64, 1);
//     for (int i = 0; i < 500; ++i) {
//         const Batch batch = batch_of(data.train, batches.next());
//         const StepResult result = trainer.step([&](Tape& tape) {
//             return cross_entropy(net(images_on(tape, batch.images)), batch.labels);
//         });
//         fmt::print("{} {} {}\n", result.step, result.loss, result.loss_scale);
//     }
//     const double right = accuracy(trainer.evaluation(), net, data.test);
//     fmt::print("{}\n{}\n", right, trainer.trace().digest());
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/layers/layers.hpp"
#include "engine/tape/run.hpp"
#include "engine/training/averages.hpp"
#include "engine/training/grad_scaler.hpp"
#include "engine/training/optimizer.hpp"
#include "engine/training/trace.hpp"

namespace ulp::inline ULPLAB_MODE {

struct StepResult {
    std::int64_t step;  // counted from 0
    double loss;        // unscaled
    double loss_scale;  // during the step
    bool skipped;       // an infinite or NaN gradient kept the optimizer from stepping
};

/// Which numbers stand for the parameters in an evaluation.
enum class EvaluatedWeights : std::uint8_t {
    model,    // as the model sees them
    masters,  // what the optimizer updates
    averages  // of average()
};

/// How to evaluate. In fp32, products are the backend's where it has them in fp32, else Eigen's.
struct EvaluationOptions {
    EvaluatedWeights weights = EvaluatedWeights::model;
    bool fp32 = false;  // whatever the recipe
};

/// A model, its optimizer and its loss scaler under one recipe and backend.
class Trainer {
  public:
    /// A forward pass: puts the loss (one number) on the tape.
    using Forward = std::function<Var(Tape&)>;

    Trainer(Engine engine, std::uint64_t seed);
    /// Call once, after the net has asked the model for its parameters.
    void optimize(OptimizerOptions options);

    /// Forward, scale, backward, unscale, update (or skip), move the scale. Throws std::logic_error before optimize().
    StepResult step(const Forward& forward) { return step(std::vector<Forward>{forward}); }
    /// The same over several micro-batches whose gradients add up (in the gradients' format); the loss is their mean.
    StepResult step(const std::vector<Forward>& micro_batches);

    /// A mean loss, and of how many answers.
    struct MeanLoss {
        Var loss;
        double samples;
    };
    /// Sophia-G's estimate of the curvature (Liu et al., arXiv 2305.14342, algorithm 2) by a forward and backward pass
    /// that nothing watches: `drawn` puts on the tape the loss of answers that are drawn from the model's own
    /// predictions. Scaled as the loss is; where a gradient is not finite, the curvature stays. Throws std::logic_error
    /// for another optimizer.
    void estimate_curvature(const std::function<MeanLoss(Tape&)>& drawn);

    /// Shows tensors to `tap` in the steps that `when` picks.
    void watch(std::function<bool(std::int64_t step)> when, Tap tap);
    /// Keep a trace of every step (off: saves the hashing).
    bool keep_trace = true;

    [[nodiscard]] const Engine& engine() const { return engine_; }
    /// What moves: the next step's number, the seed, what scales remember.
    [[nodiscard]] const Run& run() const { return run_; }
    /// Who looks on in every step. The tap is watch()'s.
    [[nodiscard]] Observers& observers() { return run_.observers; }
    /// The only way to evaluate: the training as it is now, in its own arithmetic or in another.
    [[nodiscard]] Evaluation evaluation() const { return {engine_, run_}; }
    [[nodiscard]] Evaluation evaluation(const Engine& arithmetic) const { return {arithmetic, run_}; }
    /// With other weights, or in fp32. Throws std::logic_error for averages before average().
    [[nodiscard]] Evaluation evaluation(const EvaluationOptions& options) const;
    /// Keeps averages of the weights, which start as the weights are now.
    void average(const AverageOptions& options) { averages_.emplace(model_, options); }
    /// None before average().
    [[nodiscard]] std::optional<Averages>& averages() { return averages_; }
    [[nodiscard]] const std::optional<Averages>& averages() const { return averages_; }
    [[nodiscard]] Model& model() { return model_; }
    [[nodiscard]] Optimizer& optimizer() { return *optimizer_; }
    [[nodiscard]] GradScaler& scaler() { return scaler_; }
    [[nodiscard]] const Trace& trace() const { return trace_; }
    [[nodiscard]] std::int64_t steps() const { return run_.step; }
    /// The next step is number `step`, delayed scales remember `history`, and the trace continues `before`
    /// (checkpoints).
    void continue_at(std::int64_t step, ScalingHistory history, Trace before) {
        run_.step = step;
        run_.scaling_history = std::move(history);
        trace_ = std::move(before);
    }
    /// As optimize() got them: a schedule moves the learning rate of the optimizer's own.
    [[nodiscard]] const OptimizerOptions& optimizer_options() const { return optimizer_options_; }

    /// What a training takes, by role. Activation gradients and workspace (what an operation needs beside its operands
    /// and results) are the most of a step.
    struct Bytes {
        ByteCount weights, masters, gradients, optimizer, activations, activation_gradients, workspace;
        [[nodiscard]] ByteCount total() const;
    };
    /// Gradients as backward() leaves them; the last three of the last step's (last) tape, 0 before the first.
    [[nodiscard]] Bytes bytes() const;
    /// The same before training: takes one forward and backward pass and puts everything back that it moved.
    [[nodiscard]] Bytes planned_bytes(const Forward& forward);

    /// Between unscaling and the update: clip here, or look at the gradients.
    std::function<void(Optimizer&)> before_update;

  private:
    bool update();
    bool searched_update(Watch& watch);
    void judge(Watch& watch, const std::vector<Forward>& micro_batches);
    std::optional<NonFinite> step_again(const std::vector<Forward>& micro_batches, const Recipe& recipe, double scale);
    void record(const StepResult& result, Real loss);
    void count_bytes(const Tape& tape);

    Engine engine_;
    Run run_;
    Model model_;
    GradScaler scaler_;
    OptimizerOptions optimizer_options_;
    std::optional<Optimizer> optimizer_;
    std::optional<Averages> averages_;
    std::function<bool(std::int64_t)> when_;
    Tap tap_;
    Trace trace_;
    Bytes of_step_;  // the last three fields
};

}  // namespace ulp::inline ULPLAB_MODE
