// The rules by which a loss scale moves: a row of options a dialect, and one update function that reads the row.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

/// The published scalers differ in these numbers only.
struct LossScaleOptions {
    std::string dialect = "constant";
    bool dynamic = false;  // a constant scale never moves and never skips a step
    double initial = 1;
    double growth = 2;
    double backoff = 0.5;
    std::int64_t window = 2000;           // clean steps in a row until the scale grows
    double minimum = 0;                   // the scale is not lowered below this
    double maximum = 0;                   // nor raised above this; 0: no ceiling
    bool fp32 = false;                    // kept as fp32: rounded to it, and raised only while that is finite
    bool error_at_minimum = false;        // reaching the minimum ends the training
    int hysteresis = 1;                   // overflows until the scale is lowered
    bool consecutive_hysteresis = false;  // a clean step gives all of the hysteresis back; otherwise only growth does
    double tolerance = 0;                 // lowered only if overflows / iterations since the last change >= this
};

/// constant, pytorch, apex, fp16_utils, fairseq, megatron, deepspeed, keras.
/// Throws std::invalid_argument that lists them.
LossScaleOptions loss_scale_dialect(std::string_view name);
const std::vector<LossScaleOptions>& loss_scale_dialects();
/// A constant scale.
LossScaleOptions constant_loss_scale(double scale);

/// A loss scale and what it remembers.
class LossScale {
  public:
    explicit LossScale(LossScaleOptions options);

    [[nodiscard]] double value() const { return scale_; }
    [[nodiscard]] const LossScaleOptions& options() const { return options_; }
    /// Clean steps since the scale last grew or a step overflowed.
    [[nodiscard]] std::int64_t growth_tracker() const { return growth_tracker_; }
    /// After each step (or attempt at one): whether any gradient was infinite or NaN.
    /// Throws std::runtime_error where the dialect gives up (error_at_minimum).
    void update(bool overflow);

    /// Numbers by name, for checkpoints. load throws std::invalid_argument for a missing or unknown name.
    [[nodiscard]] std::map<std::string, double> state() const;
    void load(const std::map<std::string, double>& state);

  private:
    void overflowed();
    void clean();

    LossScaleOptions options_;
    double scale_;
    std::int64_t growth_tracker_ = 0;
    std::int64_t iteration_ = 0;
    std::int64_t last_change_ = -1;  // iteration of the last change of the scale
    std::int64_t overflows_since_change_ = 0;
    std::int64_t hysteresis_left_;
};

}  // namespace ulp
