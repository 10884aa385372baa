// A loss scaler's state under the names that its own library writes into checkpoints.
//
//     dialect      names                                                              as in
//     pytorch      scale growth_factor backoff_factor growth_interval _growth_tracker torch/cuda/amp/grad_scaler.py
//     apex         loss_scale unskipped                (under "loss_scaler0", ...)    apex/amp/frontend.py
//     fp16_utils   cur_scale cur_iter last_overflow_iter scale_factor scale_window    apex/fp16_utils/loss_scaler.py
//     fairseq      loss_scale                                                         fairseq/optim/fp16_optimizer.py
//     megatron     scale growth_tracker hysteresis_tracker                            megatron/optimizer/grad_scaler.py
//     deepspeed    dynamic_loss_scale cur_scale cur_iter last_overflow_iter           deepspeed/runtime/fp16/
//                  scale_factor scale_window                                          fused_optimizer.py
//     keras        current_loss_scale good_steps                                      keras/mixed_precision/
//                                                                                     loss_scale_optimizer.py
//     constant     scale
//
// What a library leaves out starts afresh on loading, as it does there: fairseq's counters, DeepSpeed's hysteresis.
// (LossScale::state() leaves nothing out; the trainer's checkpoints hold that.)
#pragma once

#include <map>
#include <string>

#include "engine/recipes/loss_scale.hpp"

namespace ulp {

using ScalerStateDict = std::map<std::string, double>;

/// The state of a scaler of one of the dialects.
ScalerStateDict scaler_state_dict(const LossScale& scale);
/// Continues from such a state. Throws std::invalid_argument, leaving the scaler as it was, for a missing or unknown
/// name (and says whose names these are), for a scale that is not positive and finite, and for a count that is not a
/// whole number from 0 on.
void load_scaler_state_dict(LossScale& scale, const ScalerStateDict& state);

}  // namespace ulp
