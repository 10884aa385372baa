// Exponential moving averages of a model's weights (EMA), kept beside them and evaluated on request.
#pragma once

#include <map>
#include <string>

#include "engine/tape/parameter.hpp"

namespace ulp::inline ULPLAB_MODE {

/// average += (1 - decay) (weight - average) in fp32 after each update, as torch's lerp_ in timm's ModelEmaV2 and
/// torch.optim.swa_utils; then rounded to `format`.
struct AverageOptions {
    double decay = 0.999;
    FloatFormat format = formats::fp32;
    UpdateRounding rounding = UpdateRounding::nearest;  // or stochastic
    std::uint64_t seed = 0;                             // of stochastic rounding
};

class Averages {
  public:
    /// They start as the weights are, masters where there are any. Throws std::invalid_argument for a decay outside of
    /// 0 to 1, for Kahan's rounding, and for stochastic rounding to fp32, which rounds nothing.
    Averages(const Model& model, const AverageOptions& options);

    /// After the optimizer's update number `step`.
    void update(const Model& model, std::int64_t step);

    /// By the parameters' names.
    using Tensors = std::map<std::string, Tensor>;
    [[nodiscard]] const Tensors& tensors() const { return tensors_; }
    [[nodiscard]] Tensors& tensors() { return tensors_; }
    [[nodiscard]] const AverageOptions& options() const { return options_; }

  private:
    AverageOptions options_;
    Tensors tensors_;
};

}  // namespace ulp::inline ULPLAB_MODE
