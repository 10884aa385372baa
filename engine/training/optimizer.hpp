// Optimizers: the protocol (copy gradients to the update's format, unscale, clip, step, round masters into the model)
// written once, and a rule an optimizer.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tape/parameter.hpp"
#include "engine/watching/watch.hpp"

namespace ulp::inline ULPLAB_MODE {

enum class OptimizerKind : std::uint8_t { sgd, adam, adamw, adagrad, rmsprop, sophia };
std::string_view name_of(OptimizerKind kind);
/// All of them.
std::span<const OptimizerKind> optimizer_kinds();
/// Throws std::invalid_argument that lists the names.
OptimizerKind optimizer_by_name(std::string_view name);

struct OptimizerOptions;
/// What is said of an optimizer outside of its rule (optimizer_rules.hpp).
struct OptimizerRow {
    OptimizerKind kind;
    std::string_view name;
    std::array<std::string_view, 2> states;  // tensors that it keeps for each parameter, momentum aside
    bool has_momentum;                       // keeps one where the option is not 0
    bool decays_weights;                     // weight_decay goes into the update, not into the gradient
    /// What its updates are at most by its own rule, in learning rates; 0 where eps plays no part.
    double (*own_bound)(const OptimizerOptions& options);
};
const OptimizerRow& row_of(OptimizerKind kind);

/// As PyTorch's optimizers define them, with its defaults; Sophia-G as in Liu et al., arXiv 2305.14342.
struct OptimizerOptions {
    OptimizerKind kind = OptimizerKind::sgd;
    double learning_rate = 0.1;
    double momentum = 0;  // sgd: v = momentum v + g (the first v is g); rmsprop
    bool nesterov = false;
    double beta1 = 0.9;                        // adam, adamw; sophia usually 0.965
    double beta2 = 0.999;                      // sophia usually 0.99
    double alpha = 0.99;                       // rmsprop
    double eps = 1e-8;                         // adagrad usually 1e-10
    double rho = 0.04;                         // sophia
    double weight_decay = 0;                   // times the weight into the gradient; adamw, sophia: into the update
    std::optional<UpdateRounding> rounding{};  // of new weights; none: the recipe's
    std::uint64_t seed = 0;                    // of stochastic rounding
};

/// What became of the weights in a step.
struct UpdateCounts {
    std::int64_t weights = 0;
    std::int64_t zero_gradients = 0;  // +0 and -0
    std::int64_t swamped = 0;         // an update that is not zero left the weight as it was
    std::int64_t clipped = 0;         // sophia: updates that met the clip
    double largest = 0;               // magnitude of an update, while a watch searches
};

/// The first finite numbers of an update that gave one that is not.
using FoundInUpdate = std::function<void(NonFinite)>;

/// Updates the parameters of a model. Every step of a rule is rounded to the format of the parameter's updates.
class Optimizer {
  public:
    /// Throws std::invalid_argument, naming the option, for one that is negative, infinite or NaN, for a mean's factor
    /// above 1, and for stochastic rounding where no new weight needs rounding.
    Optimizer(Model& model, OptimizerOptions options);

    /// Copies the parameters' gradients (step 6 of the eleven) into the update's format. Parameters without a gradient
    /// are left alone by step(). Called by unscaling, and by step() where it has not been called.
    void collect_gradients();
    /// The collected gradients, one a parameter, in the model's order; empty where there is none.
    [[nodiscard]] std::vector<Tensor>& gradients() { return gradients_; }
    [[nodiscard]] bool collected() const { return !gradients_.empty(); }
    /// Scales the collected gradients down to a total Euclidean norm of at most `limit`; returns the norm before.
    /// Squares add up in the widest of the updates' formats, parameter by parameter. Throws std::logic_error where
    /// nothing was collected: clipping gradients that still carry the loss scale would clip by the wrong amount.
    Real clip_by_norm(double limit);
    /// Bounds each collected gradient to [-limit, limit]. Throws as clip_by_norm.
    void clip_by_value(double limit);

    /// Updates, rounds masters into the model, and drops the collected gradients and the parameters' own.
    void step();
    /// Drops the gradients without an update (a skipped step).
    void skip();
    /// Sophia-G: moves the curvature towards batch_size * g^2 with the collected gradients g, which must come from
    /// labels drawn from the model's own predictions, and drops them.
    void update_curvature(double batch_size);

    [[nodiscard]] Model& model() { return *model_; }
    [[nodiscard]] const OptimizerOptions& options() const { return options_; }
    /// Throws std::invalid_argument for what the constructor refuses, as set_eps().
    void set_learning_rate(double rate);
    [[nodiscard]] UpdateRounding rounding() const {
        return options_.rounding.value_or(model_->recipe().update_rounding);
    }
    /// Steps taken (skipped ones do not count).
    [[nodiscard]] std::int64_t steps() const { return steps_; }
    /// The optimizer's tensors by parameter and name ("fc1.weight", "momentum"), for checkpoints and byte counts.
    using State = std::map<std::string, std::map<std::string, Tensor>>;

    /// Everything that step() changes, so that one can be tried and taken back.
    struct Snapshot {
        std::deque<Parameter> parameters;
        std::vector<Tensor> gradients;
        State state;
        std::int64_t steps;
        OptimizerOptions options;
    };

    /// Where set, step() and collect_gradients() look for the first number that is not finite though all that it was
    /// made from is, and report it here (its step is left 0).
    FoundInUpdate on_nonfinite;
    /// As all was before the last step, its gradients collected, where that step reported something.
    std::optional<Snapshot> before_bad_step;
    /// Of the last step.
    [[nodiscard]] const UpdateCounts& counts() const { return counts_; }

    [[nodiscard]] const State& state() const { return state_; }
    /// What the state takes once every parameter has been updated.
    [[nodiscard]] ByteCount state_bytes() const;
    /// Takes the place of the state: as it was after `steps` steps. Throws std::invalid_argument for a parameter that
    /// the model does not have or of another shape, and where there is no tensor though steps were taken.
    void load(State state, std::int64_t steps);

    [[nodiscard]] Snapshot snapshot() const { return {model_->parameters(), gradients_, state_, steps_, options_}; }
    void restore(const Snapshot& snapshot);
    void set_eps(double eps);

  private:
    [[nodiscard]] std::vector<std::string> tensor_names() const;
    [[nodiscard]] StateFormat kept_format(std::string_view tensor, const Parameter& parameter) const;
    void require_rounding() const;
    void keep(const std::string& name, const Parameter& parameter);
    void update_parameter(Parameter& parameter, const Tensor& gradient);
    void require_collected(const char* call) const;
    void complete(Snapshot& before) const;
    template <class F>
    void for_collected(F&& f);
    void search(const std::string& label, const char* pass, const Tensor& made);

    Model* model_;
    OptimizerOptions options_;
    std::vector<Tensor> gradients_;
    State state_;
    std::map<std::string, std::vector<Storage<Real>>> before_;  // while a search is on: what step() changes, as it was
    std::int64_t steps_ = 0;
    UpdateCounts counts_;
};

}  // namespace ulp::inline ULPLAB_MODE
