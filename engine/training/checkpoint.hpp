// Checkpoints: everything that a training run continues from, in one safetensors file.
//
//     fc1.weight              as the model sees it          optimizer/fc1.weight/momentum   the optimizer's tensors
//     master/fc1.weight       its fp32 master               statistics/bn/mean, /variance   of batch normalisations
//     average/fc1.weight      averages of the weights, where they are kept
//     scaling/...             largest magnitudes that delayed scales remember
//     metadata                format: 2; run/...: what the run's bits depend on (run_identity.hpp); step, optimizer
//                             steps, learning rate, scaler state; trace: where the digest of the trace stands;
//                             kept/...: texts of who watches the run; sha256: of all the rest
//
// Format 1 named less of what the bits depend on (of a backend its name alone), and is refused.
//
// Random numbers need no state (they are functions of seed, name and step), and batches are functions of the step.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/files/safetensors.hpp"
#include "engine/training/run_identity.hpp"
#include "engine/training/trainer.hpp"

namespace ulp {

/// Texts that who watches a run keeps with it, by name: what was counted up to this step.
using KeptTexts = std::map<std::string, std::string>;

/// `more`: what the run's bits depend on beside what the trainer knows (net, data, batch, schedule). Throws DataError
/// where the file cannot be written. Killed at any moment, the old file or the new one is whole.
void save_checkpoint(const std::filesystem::path& file, Trainer& trainer, const RunIdentity& more = {},
                     const KeptTexts& kept = {});

/// Puts a trainer of the same run where the saved one stood; training on gives the same bits as never having stopped,
/// and the same digest of the trace. Throws DataError that names the difference, and leaves the trainer as it was, if
/// the file is of another run (`more` is compared first) or net, of weights alone, or damaged. Gives what was kept.
KeptTexts load_checkpoint(const std::filesystem::path& file, Trainer& trainer, const RunIdentity& more = {});

/// SHA-256 of a checkpoint's tensors and metadata, its own entry "sha256" left out.
std::string checksum_of(const Safetensors& contents);

}  // namespace ulp
