#include "engine/training/optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "engine/tensor/random.hpp"
#include "engine/training/optimizer_rules.hpp"

namespace ulp {

std::string_view name_of(OptimizerKind kind) {
    switch (kind) {
        case OptimizerKind::sgd: return "sgd";
        case OptimizerKind::adam: return "adam";
        case OptimizerKind::adamw: return "adamw";
        case OptimizerKind::adagrad: return "adagrad";
        case OptimizerKind::rmsprop: return "rmsprop";
        case OptimizerKind::sophia: return "sophia";
    }
    return "";
}

std::span<const OptimizerKind> optimizer_kinds() {
    using enum OptimizerKind;
    static constexpr OptimizerKind all[] = {sgd, adam, adamw, adagrad, rmsprop, sophia};
    return all;
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
    std::vector<std::string> names;
    switch (options.kind) {
        case OptimizerKind::sgd: break;
        case OptimizerKind::adam:
        case OptimizerKind::adamw: names = {"mean", "square"}; break;
        case OptimizerKind::adagrad: names = {"sum"}; break;
        case OptimizerKind::rmsprop: names = {"square"}; break;
        case OptimizerKind::sophia: names = {"mean", "curvature"}; break;
    }
    const bool has_momentum = options.kind == OptimizerKind::sgd || options.kind == OptimizerKind::rmsprop;
    if (has_momentum && options.momentum != 0) names.emplace_back("momentum");
    return names;
}

template <class Real>
BasicOptimizer<Real>::BasicOptimizer(BasicModel<Real>& model, OptimizerOptions options)
    : model_(&model), options_(std::move(options)) {
    const auto require = [](const char* name, double x, double most, const char* range) {
        if (x >= 0 && x <= most) return;
        throw std::invalid_argument(fmt::format("the optimizer's {} is {}; give {}", name, x, range));
    };
    constexpr double largest = std::numeric_limits<double>::max();
    const OptimizerOptions& o = options_;
    for (const auto& [name, x] : {std::pair{"learning_rate", o.learning_rate},
                                  {"momentum", o.momentum},
                                  {"eps", o.eps},
                                  {"rho", o.rho},
                                  {"weight_decay", o.weight_decay}}) {
        require(name, x, largest, "a finite number from 0 on");
    }
    for (const auto& [name, x] : {std::pair{"beta1", o.beta1}, {"beta2", o.beta2}, {"alpha", o.alpha}}) {
        require(name, x, 1, "a number from 0 to 1");
    }
}

template <class Real>
void BasicOptimizer<Real>::collect_gradients() {
    gradients_.clear();
    for (const BasicParameter<Real>& parameter : model_->parameters()) {
        gradients_.push_back(parameter.gradient);
        if (!parameter.gradient.empty())
            gradients_.back().round_to_format(model_->recipe().stored(model_->recipe().update));
    }
}

template <class Real>
void BasicOptimizer<Real>::require_collected(const char* call) const {
    if (collected()) return;
    throw std::logic_error(
        fmt::format("{} before unscale(): the gradients still carry the loss scale; call "
                    "scaler.unscale(optimizer) first (or collect_gradients() without a scaler)",
                    call));
}

template <class Real>
Real BasicOptimizer<Real>::clip_by_norm(double limit) {
    require_collected("clip_by_norm()");
    Real norm = 0;
    with_steps<Real>(model_->recipe().stored(model_->recipe().update), [&](const auto& s) {
        Real sum = 0;
        for (const BasicTensor<Real>& gradient : gradients_) {
            for (const Real g : gradient.values()) sum = s.add(sum, s.mul(g, g));
        }
        norm = s.sqrt(sum);
        const Real factor = s.div(s.round(limit), s.add(norm, s.round(1e-6)));
        if (factor >= 1) return;
        for (BasicTensor<Real>& gradient : gradients_) {
            for (Real& g : gradient.values()) g = s.mul(g, factor);
        }
    });
    return norm;
}

template <class Real>
void BasicOptimizer<Real>::clip_by_value(double limit) {
    require_collected("clip_by_value()");
    with_steps<Real>(model_->recipe().stored(model_->recipe().update), [&](const auto& s) {
        const Real bound = s.round(limit);
        for (BasicTensor<Real>& gradient : gradients_) {
            for (Real& g : gradient.values()) g = g > bound ? bound : g < -bound ? -bound : g;
        }
    });
}

template <class Real>
void BasicOptimizer<Real>::step() {
    if (!collected()) collect_gradients();
    ++steps_;
    counts_ = {};
    std::size_t i = 0;
    for (BasicParameter<Real>& parameter : model_->parameters()) {
        const BasicTensor<Real>& gradient = gradients_[i++];
        if (gradient.empty()) continue;
        update(parameter, gradient);
        parameter.publish(model_->recipe().rounding);
    }
    skip();
}

template <class Real>
void BasicOptimizer<Real>::skip() {
    gradients_.clear();
    model_->clear_gradients();
}

namespace {

/// Puts w - update on the weight's grid, to nearest, with what was lost kept in `lost` and added to the next update.
template <class Real, class Steps>
Real compensated(const Steps& s, Real w, Real update, Real& lost) {
    const Real wanted = s.sub(-update, lost);
    const Real next = s.add(w, wanted);
    lost = s.sub(s.sub(next, w), wanted);
    return next;
}

/// Rounds up or down with the probability of the dropped fraction, to 24 bits.
template <class Real>
Real stochastic(const ComputeFormat& format, Real x, std::uint64_t random) {
    Context context = results_of(format.options);
    context.rounding = Rounding::stochastic;
    context.random_bits = 24;
    context.random = random >> 40;
    return round_to(format.format, x, context);
}

}  // namespace

template <class Real>
std::vector<std::string> BasicOptimizer<Real>::tensor_names() const {
    std::vector<std::string> names = state_names(options_);
    if (options_.rounding == UpdateRounding::kahan) names.emplace_back("compensation");
    return names;
}

template <class Real>
ByteCount BasicOptimizer<Real>::state_bytes() const {
    ByteCount bytes;
    for (const BasicParameter<Real>& parameter : model_->parameters()) {
        const BasicTensor<Real>& weights = parameter.updated();
        for (const std::string& name : tensor_names()) {
            const FloatFormat format = name == "compensation" ? weights.format() : model_->recipe().update;
            bytes += {weights.size() * format.storage_bits() / 8, weights.size() * static_cast<Index>(sizeof(Real))};
        }
    }
    return bytes;
}

template <class Real>
void BasicOptimizer<Real>::update(BasicParameter<Real>& parameter, const BasicTensor<Real>& gradient) {
    BasicTensor<Real>& weights = parameter.updated();
    const Recipe& recipe = model_->recipe();
    const ComputeFormat steps_in = recipe.stored(recipe.update);
    const ComputeFormat stored_in = recipe.stored(weights.format());
    std::vector<BasicTensor<Real>*> state;
    for (const std::string& name : tensor_names()) {
        BasicTensor<Real>& tensor = state_[parameter.name][name];
        if (tensor.empty())
            tensor = BasicTensor<Real>(weights.shape(), (name == "compensation" ? stored_in : steps_in).format);
        state.push_back(&tensor);
    }
    const std::size_t own = state_names(options_).size();
    const RuleContext context{options_, steps_, 1 - power(options_.beta1, steps_), 1 - power(options_.beta2, steps_),
                              &counts_};
    const Random random(options_.seed, hash_of(parameter.name) + static_cast<std::uint64_t>(steps_));
    const Rounder<Real> to_nearest(stored_in.format, results_of(recipe.rounding));
    const bool narrower = stored_in != steps_in && stored_in.format != container_format<Real>;
    const bool random_rounding = options_.rounding == UpdateRounding::stochastic;
    // Kahan's sums run on the weights' own grid.
    const bool kahan = options_.rounding == UpdateRounding::kahan;
    const ComputeFormat sums_in = kahan ? stored_in : steps_in;
    std::vector<Real*> rows;
    for (BasicTensor<Real>* tensor : state) rows.push_back(tensor->data());
    const StateRows<Real> kept = std::span(rows).first(own);
    Real* const lost = kahan ? rows[own] : nullptr;
    Real* const w = weights.data();
    const Real* const g = gradient.data();
    std::int64_t zeros = 0;
    std::int64_t swamped = 0;
    constexpr Index part = 1024;  // what is computed in between stays in the nearest cache
    std::array<Real, part> changes;
    std::array<Real, part> results;
    for (Index first = 0; first < weights.size(); first += part) {
        const Index last = std::min(first + part, weights.size());
        const auto change = [&](Index i) -> Real& { return changes[static_cast<std::size_t>(i - first)]; };
        const auto next = [&](Index i) -> Real& { return results[static_cast<std::size_t>(i - first)]; };
        with_steps<Real>(steps_in, [&](const auto& s) {
            with_rule(options_.kind, [&](const auto& rule) {
                for (Index i = first; i < last; ++i) change(i) = rule(s, context, w[i], g[i], kept, i);
            });
        });
        if (kahan && narrower) {
            for (Index i = first; i < last; ++i) change(i) = to_nearest(change(i));
        }
        with_steps<Real>(sums_in, [&](const auto& s) {
            for (Index i = first; i < last; ++i) {
                next(i) = kahan ? compensated(s, w[i], change(i), lost[i]) : s.sub(w[i], change(i));
            }
        });
        if (!kahan && narrower && random_rounding) {
            for (Index i = first; i < last; ++i) {
                next(i) = stochastic(stored_in, next(i), random.at(static_cast<std::uint64_t>(i)));
            }
        } else if (!kahan && narrower) {
            for (Index i = first; i < last; ++i) next(i) = to_nearest(next(i));
        }
        for (Index i = first; i < last; ++i) {
            zeros += g[i] == 0 ? 1 : 0;
            swamped += change(i) != 0 && next(i) == w[i] ? 1 : 0;
            w[i] = next(i);
        }
    }
    counts_.zero_gradients += zeros;
    counts_.swamped += swamped;
    counts_.weights += weights.size();
}

template <class Real>
void BasicOptimizer<Real>::update_curvature(double batch_size) {
    if (options_.kind != OptimizerKind::sophia) throw std::logic_error("only sophia keeps a curvature");
    if (!collected()) collect_gradients();
    std::size_t i = 0;
    for (const BasicParameter<Real>& parameter : model_->parameters()) {
        const BasicTensor<Real>& gradient = gradients_[i++];
        if (gradient.empty()) continue;
        BasicTensor<Real>& curvature = state_[parameter.name]["curvature"];
        if (curvature.empty()) curvature = BasicTensor<Real>(gradient.shape(), model_->recipe().update);
        with_steps<Real>(model_->recipe().stored(model_->recipe().update), [&](const auto& s) {
            const Real keep = s.round(options_.beta2);
            const Real take = s.round((1 - options_.beta2) * batch_size);
            for (Index j = 0; j < gradient.size(); ++j) {
                const Real square = s.mul(gradient[j], gradient[j]);
                curvature[j] = s.add(s.mul(keep, curvature[j]), s.mul(take, square));
            }
        });
    }
    skip();
}

template <class Real>
void BasicOptimizer<Real>::load(State state, std::int64_t steps) {
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

template class BasicOptimizer<float>;
template class BasicOptimizer<double>;

}  // namespace ulp
