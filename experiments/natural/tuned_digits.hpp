// Digits to learn first, and the same ones sheared to fine-tune to.
#pragma once

#include "engine/data/dataset.hpp"
#include "experiments/natural/tuning.hpp"
#include "experiments/training/input_data.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::natural {

/// Every row moves to the right by that many hundredths of its distance from the middle, to the nearest pixel; 0 comes
/// in.
Dataset sheared(Dataset data, Index percent);

struct TunedDigits {
    DataSplit first;   // plain digits to train on, sheared ones to test on
    DataSplit second;  // sheared ones
};
/// By the setting "shear", too.
TunedDigits tuned_digits_of(const RunContext& context, Result& result);

/// Weights after the setting "first_steps" of Adam at 1e-3 on the first data, in fp32; the score
/// is that on sheared digits.
Comparison first_training(const RunContext& context, Result& result, const Layers& net, const TunedDigits& data,
                          ProgressPart part);

}  // namespace ulp::natural
