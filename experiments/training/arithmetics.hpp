// The arithmetics that experiments train in, and what the controls put in their place.
#pragma once

#include <string>
#include <vector>

#include "engine/recipes/loss_scale.hpp"
#include "experiments/framework/control.hpp"
#include "experiments/training/training.hpp"

namespace ulp {

/// The backend of mixed runs: the one that was asked for, else the model of an H100.
std::string mixed_backend(const RunContext& context);
/// mixed_backend() for the products that it has, IEEE sums for the others (fp32): for runs in any recipe.
std::string unit_or_ieee(const RunContext& context);

/// fp32 on soft:ieee: the reference.
Arithmetic fp32_arithmetic();
/// A recipe on mixed_backend(), or on soft:ieee where its products are of fp32, which matrix units lack.
Arithmetic arithmetic_of(const RunContext& context, std::string name, Recipe recipe);
/// fp16 storage, fp32 masters and loss, on mixed_backend().
Arithmetic mixed_arithmetic(const RunContext& context, std::string name, LossScaleOptions loss_scale);
/// The same with the dynamic scale of the setting "scale_window", called "fp16 dynamic".
Arithmetic dynamic_fp16(const RunContext& context);
/// PyTorch's scaler with another window (steps between growths), for runs shorter than 2000 steps.
LossScaleOptions dynamic_loss_scale(std::int64_t window, double initial = 0x1p16);

/// Adam at the rate of the setting "learning_rate".
OptimizerOptions adam_of(const Settings& settings);

/// The setting "control" of experiments that compare mixed precision with fp32: each value spoils one thing, from
/// all of fp16 ("pure_fp16") to no masters or no loss scale. `more` are controls of the experiment's own, which `help`
/// tells of.
Setting mixed_control(std::string help = "", std::vector<std::string> more = {});
/// Leaves out of a recipe in a 16-bit format what the setting "without" names: "scale" (the loss scale becomes 1),
/// "masters" (the weights are kept in 16 bits alone), "sums" (products of fp16 are accumulated in fp16), "norms" (the
/// steps inside norms, softmax and other operations are rounded to 16 bits), or "all" of these. Tells the context.
void leave_out(const RunContext& context, Recipe& recipe);

/// The same arithmetics, without what the setting "without" names; under a control of mixed_control() all but the first
/// are spoilt.
std::vector<Arithmetic> under_control(const RunContext& context, std::vector<Arithmetic> arithmetics);
/// The recipe; under the control "wide" with fp32 instead of its formats and without operand scales.
Recipe under_wide_control(const RunContext& context, Recipe recipe);

}  // namespace ulp
