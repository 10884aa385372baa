#include "engine/training/optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "engine/tensor/random.hpp"
#include "engine/training/optimizer_rules.hpp"
#include "engine/training/update.hpp"
#include "engine/watching/histogram.hpp"
#include "softfloat/names.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

constexpr auto optimizer_rows() {
    using enum OptimizerKind;
    using Options = OptimizerOptions;
    const auto bound_of_adam = [](const Options& o) { return std::max(1.0, (1 - o.beta1) / std::sqrt(1 - o.beta2)); };
    const auto bound_of_rmsprop = [](const Options& o) { return 1 / (std::sqrt(1 - o.alpha) * (1 - o.momentum)); };
    const auto one = [](const Options&) { return 1.0; };
    const auto no_eps = [](const Options&) { return 0.0; };
    return std::array{
        // kind, name, states, momentum, decay in the update, own bound
        OptimizerRow{sgd, "sgd", {}, true, false, no_eps},
        OptimizerRow{adam, "adam", {"mean", "square"}, false, false, bound_of_adam},
        OptimizerRow{adamw, "adamw", {"mean", "square"}, false, true, bound_of_adam},
        OptimizerRow{adagrad, "adagrad", {"sum"}, false, false, one},
        OptimizerRow{rmsprop, "rmsprop", {"square"}, true, false, bound_of_rmsprop},
        OptimizerRow{sophia, "sophia", {"mean", "curvature"}, false, true, one},
    };
}

}  // namespace

const OptimizerRow& row_of(OptimizerKind kind) {
    static constexpr auto rows = optimizer_rows();
    return rows.at(static_cast<std::size_t>(kind));
}

std::string_view name_of(OptimizerKind kind) { return row_of(kind).name; }

std::span<const OptimizerKind> optimizer_kinds() {
    static constexpr auto kinds = [] {
        std::array<OptimizerKind, optimizer_rows().size()> all{};
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = optimizer_rows()[i].kind;
        return all;
    }();
    return kinds;
}

OptimizerKind optimizer_by_name(std::string_view name) {
    std::string known;
    for (const OptimizerKind kind : optimizer_kinds()) {
        if (name_of(kind) == name) return kind;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(kind));
    }
    throw std::invalid_argument(fmt::format("no optimizer '{}'; there are {}", name, known));
}

std::vector<std::string> state_names(const OptimizerOptions& options) {
    const OptimizerRow& row = row_of(options.kind);
    std::vector<std::string> names;
    for (const std::string_view name : row.states) {
        if (!name.empty()) names.emplace_back(name);
    }
    if (row.has_momentum && options.momentum != 0) names.emplace_back("momentum");
    return names;
}

namespace {

void require_option(const char* name, double x, double most, const char* range) {
    if (x >= 0 && x <= most) return;
    throw std::invalid_argument(fmt::format("the optimizer's {} is {}; give {}", name, x, range));
}
void require_finite(const char* name, double x) {
    require_option(name, x, std::numeric_limits<double>::max(), "a finite number from 0 on");
}

}  // namespace

Optimizer::Optimizer(Model& model, OptimizerOptions options) : model_(&model), options_(std::move(options)) {
    const OptimizerOptions& o = options_;
    for (const auto& [name, x] : {std::pair{"learning_rate", o.learning_rate},
                                  {"momentum", o.momentum},
                                  {"eps", o.eps},
                                  {"rho", o.rho},
                                  {"weight_decay", o.weight_decay}}) {
        require_finite(name, x);
    }
    for (const auto& [name, x] : {std::pair{"beta1", o.beta1}, {"beta2", o.beta2}, {"alpha", o.alpha}}) {
        require_option(name, x, 1, "a number from 0 to 1");
    }
    require_rounding();
}

void Optimizer::set_learning_rate(double rate) {
    require_finite("learning_rate", rate);
    options_.learning_rate = rate;
}

void Optimizer::set_eps(double eps) {
    require_finite("eps", eps);
    options_.eps = eps;
}

/// Reports the first infinity or NaN of what finite numbers gave.
void Optimizer::search(const std::string& label, const char* pass, const Tensor& made) {
    if (all_finite(made)) return;
    for (Index i = 0; i < made.size(); ++i) {
        if (std::isfinite(made[i])) continue;
        before_bad_step.emplace();
        return on_nonfinite({.label = label,
                             .pass = pass,
                             .step = 0,
                             .element = i,
                             .shape = made.shape(),
                             .value = static_cast<float>(made[i]),
                             .format = made.format(),
                             .operands = {}});
    }
}

void Optimizer::require_rounding() const {
    if (rounding() != UpdateRounding::stochastic) return;
    const Recipe& recipe = model_->recipe();
    const StateFormat master = recipe.state.master.value_or(StateFormat{recipe.update});
    const FloatFormat weights = !recipe.master_weights ? recipe.weights : master.scaled ? recipe.update : master.format;
    if (weights != recipe.update) return;
    throw std::invalid_argument(
        fmt::format("stochastic rounding of updates changes nothing in recipe {}: its {} are {}, as the steps of the "
                    "update are; take weights narrower than the update, without masters (such as recipe bf16_sr)",
                    recipe.name, recipe.master_weights ? "masters" : "weights", name_of(weights)));
}

void Optimizer::collect_gradients() {
    const Recipe& recipe = model_->recipe();
    gradients_.clear();
    for (const Parameter& parameter : model_->parameters()) {
        Tensor& gradient = gradients_.emplace_back(parameter.gradient);
        if (gradient.empty()) continue;
        if (parameter.kept_gradient) keep_in(*parameter.kept_gradient, recipe.rounding, gradient);
        gradient.round_to_format(recipe.stored(parameter.update));
        if (on_nonfinite && all_finite(parameter.gradient)) search(parameter.name, "unscale", gradient);
    }
}

void Optimizer::require_collected(const char* call) const {
    if (collected()) return;
    throw std::logic_error(
        fmt::format("{} before unscale(): the gradients still carry the loss scale; call scaler.unscale(optimizer) "
                    "first (or collect_gradients() without a scaler)",
                    call));
}

/// f(steps, gradient) for each collected gradient, with steps in the format of its parameter's updates.
template <class F>
void Optimizer::for_collected(F&& f) {
    std::size_t i = 0;
    for (const Parameter& parameter : model_->parameters()) {
        Tensor& gradient = gradients_[i++];
        with_steps(model_->recipe().stored(parameter.update), [&](const auto& s) { f(s, gradient); });
    }
}

Real Optimizer::clip_by_norm(double limit) {
    require_collected("clip_by_norm()");
    Real norm = 0;
    Real factor = 1;
    FloatFormat format = model_->recipe().update;
    for (const Parameter& parameter : model_->parameters()) format = widest(format, parameter.update);
    with_steps(model_->recipe().stored(format), [&](const auto& s) {
        Real sum = 0;
        for (const Tensor& gradient : gradients_) {
            for (const Real g : gradient.values()) sum = s.add(sum, s.mul(g, g));
        }
        norm = s.sqrt(sum);
        factor = s.div(s.round(limit), s.add(norm, s.round(1e-6)));
    });
    if (factor >= 1) return norm;
    for_collected([&](const auto& s, Tensor& gradient) {
        const Real times = s.round(factor);
        for (Real& g : gradient.values()) g = s.mul(g, times);
    });
    return norm;
}

void Optimizer::clip_by_value(double limit) {
    require_collected("clip_by_value()");
    for_collected([&](const auto& s, Tensor& gradient) {
        const Real bound = s.round(limit);
        for (Real& g : gradient.values()) g = g > bound ? bound : g < -bound ? -bound : g;
    });
}

void Optimizer::step() {
    if (!collected()) collect_gradients();
    ++steps_;
    counts_ = {};
    before_bad_step.reset();
    std::size_t i = 0;
    for (Parameter& parameter : model_->parameters()) {
        const Tensor& gradient = gradients_[i++];
        if (gradient.empty()) continue;
        update_parameter(parameter, gradient);
        parameter.publish(model_->recipe().rounding);
        if (on_nonfinite && all_finite(parameter.updated()))
            search(parameter.name, "update, rounded into the model", parameter.value);
    }
    if (before_bad_step) complete(*before_bad_step);
    skip();
}

/// As the model and the state were before the step that is over but for its gradients.
void Optimizer::complete(Snapshot& before) const {
    before = snapshot();
    --before.steps;
    std::size_t i = 0;
    for (Parameter& parameter : before.parameters) {
        if (gradients_[i++].empty()) continue;
        const auto& rows = before_.at(parameter.name);
        std::ranges::copy(rows.front(), parameter.updated().data());
        auto row = rows.begin();
        for (const std::string& name : tensor_names()) {
            std::ranges::copy(*++row, before.state.at(parameter.name).at(name).data());
        }
    }
}

void Optimizer::skip() {
    gradients_.clear();
    model_->clear_gradients();
}

std::vector<std::string> Optimizer::tensor_names() const {
    std::vector<std::string> names = state_names(options_);
    if (rounding() == UpdateRounding::kahan) names.emplace_back("compensation");
    return names;
}

StateFormat Optimizer::kept_format(std::string_view tensor, const Parameter& parameter) const {
    const Recipe& recipe = model_->recipe();
    if (tensor == "compensation") return {parameter.updated().format()};
    const bool first = tensor == "mean" || tensor == "momentum";
    return (first ? recipe.state.m : recipe.state.v).value_or(StateFormat{parameter.update});
}

ByteCount Optimizer::state_bytes() const {
    ByteCount bytes;
    for (const Parameter& parameter : model_->parameters()) {
        const Index size = parameter.value.size();
        for (const std::string& name : tensor_names()) {
            bytes += {kept_format(name, parameter).bytes(size), size * static_cast<Index>(sizeof(Real))};
        }
    }
    return bytes;
}

void Optimizer::update_parameter(Parameter& parameter, const Tensor& gradient) {
    Tensor& weights = parameter.updated();
    const Recipe& recipe = model_->recipe();
    const bool kahan = rounding() == UpdateRounding::kahan;
    std::vector<Real*> rows;
    for (const std::string& name : tensor_names()) {
        Tensor& tensor = state_[parameter.name][name];
        if (tensor.empty()) tensor = Tensor(weights.shape(), container_format);
        rows.push_back(tensor.data());
    }
    std::vector<Real*> before;
    if (on_nonfinite) {
        std::vector<Storage<Real>>& copies = before_[parameter.name];
        copies.resize(1 + rows.size());
        for (Storage<Real>& copy : copies) {
            if (copy.empty()) copy = Storage<Real>(static_cast<std::size_t>(weights.size()));
            before.push_back(copy.data());
        }
    }
    Real* const compensation = kahan ? rows.back() : nullptr;
    if (kahan) rows.pop_back();
    const ParameterUpdate all{.options = options_,
                              .step = steps_,
                              .steps_in = recipe.stored(parameter.update),
                              .stored_in = recipe.stored(weights.format()),
                              .rounding = rounding(),
                              .stream = hash_of(parameter.name) + static_cast<std::uint64_t>(steps_),
                              .state = rows,
                              .compensation = compensation,
                              .gradient = gradient.values(),
                              .weights = weights.values(),
                              .before = before,
                              .search = static_cast<bool>(on_nonfinite)};
    if (const std::optional<BadUpdate> bad = update(all, counts_)) {
        before_bad_step.emplace();
        on_nonfinite({.label = parameter.name,
                      .pass = "update",
                      .step = 0,
                      .element = bad->element,
                      .shape = weights.shape(),
                      .value = bad->value,
                      .format = parameter.update,
                      .operands = {},
                      .numbers = bad->numbers});
    }
    for (const std::string& name : tensor_names()) keep(name, parameter);
    if (parameter.kept_master && !parameter.master.empty()) keep_in(*parameter.kept_master, recipe.rounding, weights);
}

/// As computed, the numbers lie on the grid of the update's steps.
void Optimizer::keep(const std::string& name, const Parameter& parameter) {
    Tensor& tensor = state_[parameter.name][name];
    const StateFormat kept = kept_format(name, parameter);
    const FloatFormat computed = name == "compensation" ? kept.format : parameter.update;
    tensor.set_format(computed);
    if (!kept.scaled && kept.format == computed) return;
    const bool finite = on_nonfinite && all_finite(tensor);
    keep_in(kept, model_->recipe().rounding, tensor);
    if (finite) search(parameter.name, ("update, " + name + " as it is kept").c_str(), tensor);
}

void Optimizer::update_curvature(double batch_size) {
    if (options_.kind != OptimizerKind::sophia) throw std::logic_error("only sophia keeps a curvature");
    if (!collected()) collect_gradients();
    std::size_t i = 0;
    for (const Parameter& parameter : model_->parameters()) {
        const Tensor& gradient = gradients_[i++];
        if (gradient.empty()) continue;
        Tensor& curvature = state_[parameter.name]["curvature"];
        if (curvature.empty()) curvature = Tensor(gradient.shape());
        with_steps(model_->recipe().stored(parameter.update), [&](const auto& s) {
            const Real old = s.round(options_.beta2);
            const Real take = s.round((1 - options_.beta2) * batch_size);
            for (Index j = 0; j < gradient.size(); ++j) {
                const Real square = s.mul(gradient[j], gradient[j]);
                curvature[j] = s.add(s.mul(old, curvature[j]), s.mul(take, square));
            }
        });
        keep("curvature", parameter);
    }
    skip();
}

void Optimizer::load(State state, std::int64_t steps) {
    for (const auto& [name, tensors] : state) {
        const Shape& shape = (*model_)[name].value.shape();
        for (const auto& [kind, tensor] : tensors) {
            if (tensor.shape() == shape) continue;
            throw std::invalid_argument(fmt::format("the optimizer's {} of {} has the shape {}, not {}", kind, name,
                                                    text_of(tensor.shape()), text_of(shape)));
        }
    }
    if (state.empty() && steps > 0 && !tensor_names().empty()) {
        throw std::invalid_argument(fmt::format("after {} steps the optimizer's tensors are missing", steps));
    }
    state_ = std::move(state);
    steps_ = steps;
}

void Optimizer::restore(const Snapshot& snapshot) {
    auto from = snapshot.parameters.begin();
    for (Parameter& parameter : model_->parameters()) parameter = *from++;
    gradients_ = snapshot.gradients;
    state_ = snapshot.state;
    steps_ = snapshot.steps;
    options_ = snapshot.options;
}

}  // namespace ulp::inline ULPLAB_MODE
