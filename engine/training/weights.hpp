// Weights from elsewhere: a file's arrays, by name and shape, into the parameters of a model, and out again.
//
// Names are those of PyTorch's state_dict for these layers. Where they differ from the model's:
//
//     here                                   in the file
//     attention.in_proj.weight, .bias        attention.in_proj_weight, attention.in_proj_bias
//     cell.weight_ih, weight_hh, bias_...    cell.weight_ih_l0, cell.weight_hh_l0, cell.bias_...
//     statistics of a batch normalisation    bn.running_mean, bn.running_var
//
// In files that are read the model's own names count as well, and so do names behind "module." or "_orig_mod.", which
// PyTorch puts before those of wrapped nets. A matrix of the transposed shape is transposed (libraries that keep linear
// weights as inputs x outputs); "num_batches_tracked" is passed over.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/tape/parameter.hpp"

namespace ulp {

/// The name of a parameter, or of a batch normalisation's "bn/mean" and "bn/variance", in files.
std::string stored_name(const std::string& name);

/// Reads .safetensors and .npz (engine/files/stored_arrays.hpp). Numbers go to nearest in fp32, then into the formats
/// of the model; masters take them first. Returns what was converted, transposed or passed over, a sentence each.
/// Throws DataError, and leaves the model as it was, where a name or a shape does not fit: it lists the missing and the
/// unexpected names, each with the nearest of the other side.
std::vector<std::string> load_weights(const std::filesystem::path& file, Model& model);

/// A safetensors file of what the optimizer updates (masters where there are some) and of the statistics.
void save_weights(const std::filesystem::path& file, Model& model);

}  // namespace ulp
