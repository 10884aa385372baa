#include "engine/training/grad_scaler.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"

namespace ulp {

template <class Real>
BasicVar<Real> BasicGradScaler<Real>::scale(BasicVar<Real> loss) {
    started_ = true;
    return scaled_loss(loss);
}

template <class Real>
BasicVar<Real> BasicGradScaler<Real>::scaled_loss(BasicVar<Real> loss) const {
    if (!scale_.options().dynamic && scale_.value() == 1) return loss;
    return scaled(cast(loss, container_format<Real>), scale_.value());
}

template <class Real>
void BasicGradScaler<Real>::require_started(const char* call) const {
    if (!started_) throw std::logic_error(fmt::format("{} before the first scale(): scale the loss first", call));
}

namespace {

/// Multiplies by `factor`; returns whether an element was infinite or NaN before.
template <class Real>
bool multiply_and_check(std::span<Real> values, Real factor) {
    bool found = false;
    for (Real& x : values) {
        found = found || !std::isfinite(x);
        x *= factor;
    }
    return found;
}

}  // namespace

template <class Real>
void BasicGradScaler<Real>::unscale(BasicOptimizer<Real>& optimizer) {
    require_started("unscale()");
    PerOptimizer& state = optimizers_[&optimizer];
    if (state.stage == Stage::unscaled) {
        throw std::logic_error("unscale() was already called for this optimizer since the last update()");
    }
    if (state.stage == Stage::stepped) throw std::logic_error("unscale() comes before step(), not after it");
    if (scale_.value() != 1 && optimizer.model().recipe().update != container_format<Real>) {
        throw std::logic_error("these gradients are in 16 bits and would underflow when unscaled: use master weights");
    }
    optimizer.collect_gradients();
    const Real inverse = static_cast<Real>(1.0 / scale_.value());
    for (BasicTensor<Real>& gradient : optimizer.gradients()) {
        const bool found = multiply_and_check(gradient.values(), inverse);
        state.found_infinity = state.found_infinity || found;
    }
    state.stage = Stage::unscaled;
}

template <class Real>
bool BasicGradScaler<Real>::step(BasicOptimizer<Real>& optimizer) {
    require_started("step()");
    if (optimizers_[&optimizer].stage == Stage::stepped) {
        throw std::logic_error("step() was already called for this optimizer since the last update()");
    }
    if (optimizers_[&optimizer].stage == Stage::ready) unscale(optimizer);
    PerOptimizer& state = optimizers_[&optimizer];
    state.stage = Stage::stepped;
    const bool steps = !state.found_infinity || !scale_.options().dynamic;
    if (steps) {
        optimizer.step();
    } else {
        optimizer.skip();
    }
    return steps;
}

template <class Real>
void BasicGradScaler<Real>::update() {
    require_started("update()");
    if (optimizers_.empty())
        throw std::logic_error("update() before any step(): there is nothing to judge the scale by");
    bool found = false;
    for (const auto& [optimizer, state] : optimizers_) found = found || state.found_infinity;
    scale_.update(found);
    optimizers_.clear();
}

template class BasicGradScaler<float>;
template class BasicGradScaler<double>;

}  // namespace ulp
