// Checkpoints: everything that a training run continues from, in one safetensors file.
//
//     fc1.weight              as the model sees it          optimizer/fc1.weight/momentum   the optimizer's tensors
//     master/fc1.weight       its fp32 master               statistics/bn/mean, /variance   of batch normalisations
//     scaling/...             largest magnitudes that delayed scales remember
//     metadata                recipe, seed, step, optimizer steps, scaler state
//
// Random numbers need no state (they are functions of seed, name and step), and batches are functions of the step.
#pragma once

#include <filesystem>

#include "engine/training/trainer.hpp"

namespace ulp {

/// Throws DataError where the file cannot be written. Killed at any moment, the old file or the new one is whole.
void save_checkpoint(const std::filesystem::path& file, Trainer& trainer);

/// Puts a trainer of the same net, recipe, optimizer and seed where the saved one stood; training on gives the same
/// bits as never having stopped. Throws DataError, and leaves the trainer as it was, if the file is of another net,
/// recipe, optimizer or seed, or not whole.
void load_checkpoint(const std::filesystem::path& file, Trainer& trainer);

}  // namespace ulp
