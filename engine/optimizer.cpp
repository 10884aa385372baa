#include "engine/optimizer.hpp"

#include "engine/steps.hpp"

namespace ulp {

template <class Real>
Optimizer<Real>::Optimizer(Model<Real>& model, OptimizerOptions options)
    : model_(&model), options_(std::move(options)) {}

template <class Real>
void Optimizer<Real>::collect_gradients() {
    gradients_.clear();
    for (const Parameter<Real>& parameter : model_->parameters()) {
        gradients_.push_back(parameter.gradient);
        if (!parameter.gradient.empty()) gradients_.back().round_to_format(model_->recipe().update);
    }
}

template <class Real>
void Optimizer<Real>::step() {
    if (!collected()) collect_gradients();
    ++steps_;
    std::size_t i = 0;
    for (Parameter<Real>& parameter : model_->parameters()) {
        const Tensor<Real>& gradient = gradients_[i++];
        if (gradient.empty()) continue;
        update(parameter, gradient);
        parameter.publish();
    }
    skip();
}

template <class Real>
void Optimizer<Real>::skip() {
    gradients_.clear();
    model_->clear_gradients();
}

namespace {

/// One element of stochastic gradient descent. `velocity` is null without momentum.
template <class Real, class Steps>
Real sgd(const Steps& s, const OptimizerOptions& options, bool first, Real w, Real g, Real* velocity) {
    if (options.weight_decay != 0) g = s.add(g, s.mul(s.round(options.weight_decay), w));
    if (velocity != nullptr) {
        const Real momentum = s.round(options.momentum);
        *velocity = first ? g : s.add(s.mul(momentum, *velocity), g);
        g = options.nesterov ? s.add(g, s.mul(momentum, *velocity)) : *velocity;
    }
    return s.sub(w, s.mul(s.round(options.learning_rate), g));
}

}  // namespace

template <class Real>
void Optimizer<Real>::update(Parameter<Real>& parameter, const Tensor<Real>& gradient) {
    Tensor<Real>& weights = parameter.updated();
    Real* velocity = nullptr;
    bool first = false;
    if (options_.momentum != 0) {
        Tensor<Real>& state = state_[parameter.name]["momentum"];
        first = state.empty();
        if (first) state = Tensor<Real>(weights.shape(), model_->recipe().update);
        velocity = state.data();
    }
    with_steps<Real>(model_->recipe().update, [&](const auto& s) {
        for (Index i = 0; i < weights.size(); ++i) {
            Real* v = velocity == nullptr ? nullptr : velocity + i;
            weights[i] = sgd<Real>(s, options_, first, weights[i], gradient[i], v);
        }
    });
}

template class Optimizer<float>;
template class Optimizer<double>;

}  // namespace ulp
