// Loss scaling around a training step, with PyTorch's protocol and its errors for misuse:
//
//     loss = scaler.scale(loss); tape.backward(loss);
//     scaler.unscale(optimizer);   // optional: before clipping
//     scaler.step(optimizer);      // skips the optimizer if one of its gradients is infinite or NaN
//     scaler.update();             // after all optimizers
#pragma once

#include <unordered_map>

#include "engine/recipes/loss_scale.hpp"
#include "engine/tape/tape.hpp"
#include "engine/training/optimizer.hpp"

namespace ulp::inline ULPLAB_MODE {

class GradScaler {
  public:
    explicit GradScaler(const LossScaleOptions& options) : scale_(options) {}

    /// loss to fp32, then times the scale (the loss itself where the scale is a constant 1).
    Var scale(Var loss);
    /// The same without beginning a step.
    Var scaled_loss(Var loss) const;
    /// Collects the optimizer's gradients and multiplies them by fp32(1 / scale); remembers whether any of them was
    /// infinite or NaN. Throws std::logic_error if called twice, after step, before the first scale(), or if the
    /// gradients are still in 16 bits (no master weights) and the scale is not 1.
    void unscale(Optimizer& optimizer);
    /// Unscales if that was not done, then steps or skips. A constant scale never skips. Returns whether it stepped.
    bool step(Optimizer& optimizer);
    /// Moves the scale: any infinity over all optimizers lowers it once.
    void update();

    [[nodiscard]] double value() const { return scale_.value(); }
    [[nodiscard]] LossScale& rule() { return scale_; }
    [[nodiscard]] const LossScale& rule() const { return scale_; }

  private:
    enum class Stage : std::uint8_t { ready, unscaled, stepped };
    struct PerOptimizer {
        Stage stage = Stage::ready;
        bool found_infinity = false;
    };
    void require_started(const char* call) const;

    LossScale scale_;
    bool started_ = false;
    std::unordered_map<const Optimizer*, PerOptimizer> optimizers_;
};

}  // namespace ulp::inline ULPLAB_MODE
