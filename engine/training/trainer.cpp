#include "engine/training/trainer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "engine/tape/operation.hpp"
#include "engine/training/remedy.hpp"
#include "engine/watching/histogram.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

/// Puts back what a forward and a backward pass move of a model: statistics and gradients.
class Unmoved {
  public:
    explicit Unmoved(Model& model) : model_(&model), statistics_(model.statistics()) {
        for (Parameter& p : model.parameters()) gradients_.push_back(std::exchange(p.gradient, {}));
    }
    ~Unmoved() {
        // In place: layers hold their addresses.
        for (std::size_t i = 0; i < statistics_.size(); ++i) model_->statistics()[i].second = statistics_[i].second;
        std::size_t i = 0;
        for (Parameter& p : model_->parameters()) p.gradient = std::move(gradients_[i++]);
    }
    Unmoved(const Unmoved&) = delete;
    Unmoved& operator=(const Unmoved&) = delete;

  private:
    Model* model_;
    std::deque<std::pair<std::string, BatchStatistics>> statistics_;
    std::vector<Tensor> gradients_;
};

}  // namespace

Trainer::Trainer(Engine engine, std::uint64_t seed)
    : engine_(std::move(engine)), model_(engine_.recipe, seed), scaler_(engine_.recipe.loss_scale) {
    run_.seed = seed;
}

void Trainer::optimize(OptimizerOptions options) {
    optimizer_options_ = options;
    run_.layers = LayerRecipes(engine_.recipe, linear_layers_of(model_));
    optimizer_.emplace(model_, std::move(options));
}

void Trainer::watch(std::function<bool(std::int64_t)> when, Tap tap) {
    when_ = std::move(when);
    tap_ = std::move(tap);
}

StepResult Trainer::step(const std::vector<Forward>& micro_batches) {
    if (!optimizer_) throw std::logic_error("call optimize() before the first step");
    if (micro_batches.empty()) throw std::invalid_argument("a step needs at least one batch");
    run_.observers.tap = when_ && when_(run_.step) ? tap_ : Tap{};
    run_.loss_scale = scaler_.value();
    Watch* const watch = run_.observers.watch;
    const bool searches = watch != nullptr && watch->searches();
    Real value = 0;
    const double share = 1.0 / static_cast<double>(micro_batches.size());
    for (const Forward& forward : micro_batches) {
        Tape tape(engine_, run_);
        const Var loss = forward(tape);
        value += loss.value()[0];
        tape.backward(scaler_.scale(micro_batches.size() == 1 ? loss : scaled(loss, share)));
        count_bytes(tape);
    }
    if (micro_batches.size() > 1) value *= static_cast<Real>(share);
    if (searches && watch->first_nonfinite) judge(*watch, micro_batches);
    const bool stepped = searches && !watch->first_nonfinite ? searched_update(*watch) : update();
    scaler_.update();
    if (averages_ && stepped) averages_->update(model_, optimizer_->steps());
    run_.observers.tap = {};
    const StepResult result{run_.step, static_cast<double>(value), run_.loss_scale, !stepped};
    if (keep_trace) record(result, value);
    ++run_.step;
    return result;
}

void Trainer::estimate_curvature(const std::function<MeanLoss(Tape&)>& drawn) {
    Run quiet = run_;
    quiet.observers = {};
    Tape tape(engine_, quiet);
    GradScaler scaler(constant_loss_scale(scaler_.value()));
    const MeanLoss mean = drawn(tape);
    tape.backward(scaler.scale(mean.loss));
    scaler.unscale(*optimizer_);
    const auto& gradients = optimizer_->gradients();
    if (std::ranges::all_of(gradients, [](const auto& g) { return all_finite(g.values()); })) {
        optimizer_->update_curvature(mean.samples);
    } else {
        optimizer_->skip();
    }
}

Evaluation Trainer::evaluation(const EvaluationOptions& options) const {
    const bool own = engine_.backend->has_product({formats::fp32, formats::fp32});
    const Recipe plain = recipe_by_name("fp32");
    Evaluation evaluation(!options.fp32 ? engine_
                          : own         ? Engine(plain, engine_.backend)
                                        : Engine(plain, make_backend("eigen")),
                          run_);
    if (options.weights == EvaluatedWeights::model) return evaluation;
    const bool averages = options.weights == EvaluatedWeights::averages;
    if (averages && !averages_) throw std::logic_error("call average() before an evaluation of averages");
    const auto weights = std::make_shared<WeightsByName>();
    for (const Parameter& parameter : model_.parameters()) {
        (*weights)[parameter.name] = averages ? averages_->tensors().at(parameter.name) : parameter.updated();
    }
    evaluation.run.weights = weights;
    return evaluation;
}

bool Trainer::update() {
    scaler_.unscale(*optimizer_);
    if (before_update) before_update(*optimizer_);
    return scaler_.step(*optimizer_);
}

/// The same, and looks for the first number that is not finite.
bool Trainer::searched_update(Watch& watch) {
    optimizer_->on_nonfinite = [&](NonFinite found) {
        if (watch.first_nonfinite) return;
        found.step = run_.step;
        watch.first_nonfinite = std::move(found);
    };
    scaler_.unscale(*optimizer_);
    if (before_update) before_update(*optimizer_);
    const bool stepped = scaler_.step(*optimizer_);
    watch.skips += stepped ? 0 : 1;
    if (watch.first_nonfinite && watch.first_nonfinite->pass.starts_with("update")) {
        const auto before = std::move(*optimizer_->before_bad_step);
        optimizer_->restore(before);
        watch.first_nonfinite->remedy = remedy_of_update(*optimizer_, before);
        optimizer_->step();  // as it was
    }
    optimizer_->on_nonfinite = {};
    return stepped;
}

/// What was found in the step's passes: an ordinary overflow of a dynamic scale is forgotten (it costs the step, and
/// the scale falls), anything else gets its remedy.
void Trainer::judge(Watch& watch, const std::vector<Forward>& micro_batches) {
    const auto again = [&](const Recipe& recipe, double scale) { return step_again(micro_batches, recipe, scale); };
    const double scale = scaler_.value();
    const bool dynamic = scaler_.rule().options().dynamic;
    const double after_many_skips = scale * 0x1p-40;
    NonFinite& found = *watch.first_nonfinite;
    if (dynamic && depends_on_scale(found) && !again(engine_.recipe, after_many_skips)) {
        watch.first_nonfinite.reset();
    } else {
        found.remedy = remedy_of_step(found, engine_, dynamic ? after_many_skips : scale, again);
    }
}

std::optional<NonFinite> Trainer::step_again(const std::vector<Forward>& micro_batches, const Recipe& recipe,
                                             double scale) {
    const Unmoved unmoved(model_);
    Watch watch;
    watch.count_rounding = false;
    Run quiet = run_;
    quiet.observers = {.watch = &watch};
    quiet.loss_scale = scale;
    const Engine engine(recipe, engine_.backend);
    const GradScaler scaler(constant_loss_scale(scale));
    const double share = 1.0 / static_cast<double>(micro_batches.size());
    for (const Forward& forward : micro_batches) {
        Tape tape(engine, quiet);
        const Var loss = forward(tape);
        tape.backward(scaler.scaled_loss(micro_batches.size() == 1 ? loss : scaled(loss, share)));
    }
    return watch.first_nonfinite;
}

void Trainer::record(const StepResult& result, Real loss) {
    if (trace_.parameters.empty()) {
        for (const Parameter& parameter : model_.parameters()) trace_.parameters.push_back(parameter.name);
    }
    const Real same_nan = std::isnan(loss) ? std::numeric_limits<Real>::quiet_NaN() : loss;
    trace_.steps.push_back(
        {result.step, std::bit_cast<RealWord>(same_nan), result.loss_scale, result.skipped, digests_of(model_)});
}

void Trainer::count_bytes(const Tape& tape) {
    of_step_.activations = tape.activation_bytes();
    of_step_.activation_gradients = tape.gradient_bytes();
    of_step_.workspace = tape.workspace_bytes();
}

ByteCount Trainer::Bytes::total() const {
    ByteCount sum;
    for (const ByteCount& part :
         {weights, masters, gradients, optimizer, activations, activation_gradients, workspace}) {
        sum += part;
    }
    return sum;
}

Trainer::Bytes Trainer::bytes() const {
    Bytes bytes = of_step_;
    const auto bytes_of = [](const Tensor& tensor, const std::optional<StateFormat>& kept = std::nullopt) {
        ByteCount count = ulp::bytes_of(tensor);
        if (kept) count.stored = tensor.empty() ? 0 : kept->bytes(tensor.size());
        return count;
    };
    for (const Parameter& parameter : model_.parameters()) {
        bytes.weights += bytes_of(parameter.value, parameter.kept_value);
        bytes.masters += bytes_of(parameter.master, parameter.kept_master);
        bytes.gradients += bytes_of(parameter.value, parameter.kept_gradient);  // in its value's format, or in this
    }
    if (optimizer_) bytes.optimizer = optimizer_->state_bytes();
    return bytes;
}

Trainer::Bytes Trainer::planned_bytes(const Forward& forward) {
    Run quiet = run_;
    quiet.observers = {};
    const Bytes before = of_step_;
    {
        const Unmoved unmoved(model_);
        Tape tape(engine_, quiet);
        tape.backward(scaler_.scaled_loss(forward(tape)));
        count_bytes(tape);
    }
    const Bytes planned = bytes();
    of_step_ = before;
    return planned;
}

}  // namespace ulp::inline ULPLAB_MODE
