// Optimizers: the protocol (copy gradients to the update's format, unscale, step, round masters into the model) written
// once, and a rule an optimizer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/parameter.hpp"

namespace ulp {

enum class OptimizerKind : std::uint8_t { sgd };

/// As PyTorch's optimizers define them.
struct OptimizerOptions {
    OptimizerKind kind = OptimizerKind::sgd;
    double learning_rate = 0.1;
    double momentum = 0;  // sgd: v = momentum * v + g, the first v is g
    bool nesterov = false;
    double weight_decay = 0;  // g + weight_decay * w
};

/// Updates the parameters of a model. Every step of a rule is rounded to the recipe's update format.
template <class Real>
class Optimizer {
  public:
    Optimizer(Model<Real>& model, OptimizerOptions options);

    /// Copies the parameters' gradients (step 6 of the eleven) into the update's format. Parameters without a gradient
    /// are left alone by step(). Called by unscaling and by step() where they have not been called before.
    void collect_gradients();
    /// The collected gradients, one a parameter, in the model's order; empty where there is none. For clipping.
    [[nodiscard]] std::vector<Tensor<Real>>& gradients() { return gradients_; }
    [[nodiscard]] bool collected() const { return !gradients_.empty(); }

    /// Updates, rounds masters into the model, and drops the collected gradients and the parameters' own.
    void step();
    /// Drops the gradients without an update (a skipped step).
    void skip();

    [[nodiscard]] Model<Real>& model() { return *model_; }
    [[nodiscard]] const OptimizerOptions& options() const { return options_; }
    void set_learning_rate(double rate) { options_.learning_rate = rate; }
    /// Steps taken (skipped ones do not count).
    [[nodiscard]] std::int64_t steps() const { return steps_; }

    /// The optimizer's tensors by parameter and name ("fc1.weight", "momentum"), for checkpoints and byte counts.
    using State = std::map<std::string, std::map<std::string, Tensor<Real>>>;
    [[nodiscard]] const State& state() const { return state_; }

  private:
    void update(Parameter<Real>& parameter, const Tensor<Real>& gradient);

    Model<Real>* model_;
    OptimizerOptions options_;
    std::vector<Tensor<Real>> gradients_;
    State state_;
    std::int64_t steps_ = 0;
};

extern template class Optimizer<float>;
extern template class Optimizer<double>;

}  // namespace ulp
