#include "engine/training/grad_scaler.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"

namespace ulp::inline ULPLAB_MODE {

Var GradScaler::scale(Var loss) {
    started_ = true;
    return scaled_loss(loss);
}

Var GradScaler::scaled_loss(Var loss) const {
    if (!scale_.options().dynamic && scale_.value() == 1) return loss;
    return scaled(cast(loss, container_format), scale_.value());
}

void GradScaler::require_started(const char* call) const {
    if (!started_) throw std::logic_error(fmt::format("{} before the first scale(): scale the loss first", call));
}

namespace {

/// Multiplies by `factor`; returns whether an element was infinite or NaN before.
bool multiply_and_check(std::span<Real> values, Real factor) {
    bool found = false;
    for (Real& x : values) {
        found = found || !std::isfinite(x);
        x *= factor;
    }
    return found;
}

}  // namespace

void GradScaler::unscale(Optimizer& optimizer) {
    require_started("unscale()");
    PerOptimizer& state = optimizers_[&optimizer];
    if (state.stage == Stage::unscaled) {
        throw std::logic_error("unscale() was already called for this optimizer since the last update()");
    }
    if (state.stage == Stage::stepped) throw std::logic_error("unscale() comes before step(), not after it");
    if (scale_.value() != 1 && optimizer.model().recipe().update != container_format) {
        throw std::logic_error("these gradients are in 16 bits and would underflow when unscaled: use master weights");
    }
    optimizer.collect_gradients();
    const Real inverse = static_cast<Real>(1.0 / scale_.value());
    for (Tensor& gradient : optimizer.gradients()) {
        const bool found = multiply_and_check(gradient.values(), inverse);
        state.found_infinity = state.found_infinity || found;
    }
    state.stage = Stage::unscaled;
}

bool GradScaler::step(Optimizer& optimizer) {
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

void GradScaler::update() {
    require_started("update()");
    if (optimizers_.empty())
        throw std::logic_error("update() before any step(): there is nothing to judge the scale by");
    bool found = false;
    for (const auto& [optimizer, state] : optimizers_) found = found || state.found_infinity;
    scale_.update(found);
    optimizers_.clear();
}

}  // namespace ulp::inline ULPLAB_MODE
