// The rules of the optimizers, element by element: each returns what is to be subtracted from weight i. Every step is
// rounded by `s`. What is kept for weight i is element i of each row of the state, in the order of state_names().
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor/steps.hpp"
#include "engine/training/optimizer.hpp"

namespace ulp {

/// The tensors that a rule keeps.
std::vector<std::string> state_names(const OptimizerOptions& options);

/// What a rule needs to know about the step, computed once a tensor in double.
struct RuleContext {
    const OptimizerOptions& options;
    std::int64_t step;   // 1 for the first
    double correction1;  // 1 - beta1^step
    double correction2;  // 1 - beta2^step
    UpdateCounts* counts;
};

template <class Real>
using StateRows = std::span<Real* const>;

/// beta^step by multiplication (no libm).
inline double power(double base, std::int64_t exponent) {
    double result = 1;
    for (std::int64_t i = 0; i < exponent; ++i) result *= base;
    return result;
}

struct SgdRule {
    template <class Real, class Steps>
    Real operator()(const Steps& s, const RuleContext& c, Real w, Real g, StateRows<Real> state, Index i) const {
        const OptimizerOptions& o = c.options;
        if (o.weight_decay != 0) g = s.add(g, s.mul(s.round(o.weight_decay), w));
        if (!state.empty()) {
            Real& velocity = state[0][i];
            const Real momentum = s.round(o.momentum);
            velocity = c.step == 1 ? g : s.add(s.mul(momentum, velocity), g);
            g = o.nesterov ? s.add(g, s.mul(momentum, velocity)) : velocity;
        }
        return s.mul(s.round(o.learning_rate), g);
    }
};

/// m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, update = rate / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps).
struct AdamRule {
    template <class Real, class Steps>
    Real operator()(const Steps& s, const RuleContext& c, Real w, Real g, StateRows<Real> state, Index i) const {
        const OptimizerOptions& o = c.options;
        const bool decoupled = o.kind == OptimizerKind::adamw;
        if (!decoupled && o.weight_decay != 0) g = s.add(g, s.mul(s.round(o.weight_decay), w));
        Real& mean = state[0][i];
        Real& square = state[1][i];
        mean = s.add(s.mul(s.round(o.beta1), mean), s.mul(s.round(1 - o.beta1), g));
        square = s.add(s.mul(s.round(o.beta2), square), s.mul(s.round(1 - o.beta2), s.mul(g, g)));
        const Real root = s.div(s.sqrt(square), s.round(std::sqrt(c.correction2)));
        const Real direction = s.div(mean, s.add(root, s.round(o.eps)));
        Real update = s.mul(s.round(o.learning_rate / c.correction1), direction);
        if (decoupled) update = s.add(update, s.mul(s.round(o.learning_rate * o.weight_decay), w));
        return update;
    }
};

/// sum = sum + g^2, update = rate * g / (sqrt(sum) + eps).
struct AdagradRule {
    template <class Real, class Steps>
    Real operator()(const Steps& s, const RuleContext& c, Real w, Real g, StateRows<Real> state, Index i) const {
        const OptimizerOptions& o = c.options;
        if (o.weight_decay != 0) g = s.add(g, s.mul(s.round(o.weight_decay), w));
        Real& sum = state[0][i];
        sum = s.add(sum, s.mul(g, g));
        return s.mul(s.round(o.learning_rate), s.div(g, s.add(s.sqrt(sum), s.round(o.eps))));
    }
};

/// square = alpha square + (1 - alpha) g^2, direction = g / (sqrt(square) + eps), with momentum v = momentum v +
/// direction.
struct RmspropRule {
    template <class Real, class Steps>
    Real operator()(const Steps& s, const RuleContext& c, Real w, Real g, StateRows<Real> state, Index i) const {
        const OptimizerOptions& o = c.options;
        if (o.weight_decay != 0) g = s.add(g, s.mul(s.round(o.weight_decay), w));
        Real& square = state[0][i];
        square = s.add(s.mul(s.round(o.alpha), square), s.mul(s.round(1 - o.alpha), s.mul(g, g)));
        Real direction = s.div(g, s.add(s.sqrt(square), s.round(o.eps)));
        if (state.size() > 1) direction = state[1][i] = s.add(s.mul(s.round(o.momentum), state[1][i]), direction);
        return s.mul(s.round(o.learning_rate), direction);
    }
};

/// m = b1 m + (1 - b1) g, update = rate * (clip(m / max(rho h, eps), 1) + weight_decay w), h the curvature.
struct SophiaRule {
    template <class Real, class Steps>
    Real operator()(const Steps& s, const RuleContext& c, Real w, Real g, StateRows<Real> state, Index i) const {
        const OptimizerOptions& o = c.options;
        Real& mean = state[0][i];
        mean = s.add(s.mul(s.round(o.beta1), mean), s.mul(s.round(1 - o.beta1), g));
        const Real curvature = s.mul(s.round(o.rho), state[1][i]);
        const Real floor = s.round(o.eps);
        Real ratio = s.div(mean, curvature > floor ? curvature : floor);
        if (ratio > 1 || ratio < -1) {
            ratio = ratio > 1 ? Real{1} : Real{-1};
            ++c.counts->clipped;
        }
        return s.mul(s.round(o.learning_rate), s.add(ratio, s.mul(s.round(o.weight_decay), w)));
    }
};

/// f(rule), the rule of that kind: so that a loop over weights chooses once.
template <class Function>
void with_rule(OptimizerKind kind, const Function& f) {
    switch (kind) {
        case OptimizerKind::sgd: return f(SgdRule{});
        case OptimizerKind::adam:
        case OptimizerKind::adamw: return f(AdamRule{});
        case OptimizerKind::adagrad: return f(AdagradRule{});
        case OptimizerKind::rmsprop: return f(RmspropRule{});
        case OptimizerKind::sophia: return f(SophiaRule{});
    }
}

}  // namespace ulp
