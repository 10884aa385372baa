// The tensors that a command line names: files, folders and patterns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/files/stored_arrays.hpp"

namespace ulp {

/// A tensor of an input.
struct InputTensor {
    std::string name;  // in its file; with the file before it where there are several: "step10.npz:weight"
    std::filesystem::path file;
    std::optional<std::int64_t> step;  // the last number of the file's name: 1200 of grads_1200.safetensors
    StoredBytes stored;
};

/// Files as they are, of a folder with model.safetensors.index.json the tensors of its shards (engine/files/
/// sharded_model.hpp), which have no step, of other folders all .npy, .npz and .safetensors (with those of folders
/// inside), of patterns (*, ?,
/// [...]) the files that match; sorted by step, then by name. Throws DataError: nothing found, or a file is bad.
std::vector<InputTensor> input_tensors(const std::vector<std::string>& inputs);

/// The last number of a file's name, without its extension.
std::optional<std::int64_t> step_in_name(const std::filesystem::path& file);

/// Text of a file for a terminal: control characters become '?'.
std::string printable(std::string text);

}  // namespace ulp
