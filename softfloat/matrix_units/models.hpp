// The table of matrix instructions, and how to find a row in it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softfloat/matrix_units/model.hpp"
#include "softfloat/matrix_units/table/aspects.hpp"

namespace ulp {

/// A row of the table. The key is "<architecture>:<instruction>.<input>.<accumulator>": "sm_90:wgmma.fp16.fp32".
struct ModelRow {
    std::string architecture;  // "sm_90"
    std::string instruction;   // "mma", "wmma", "wgmma", "tcgen05"
    std::string input;         // "fp16"; "e4m3_e5m2" where a and b differ
    std::string output;        // "fp32": the accumulator's format
    TensorCoreModel model;
    Evidence evidence;
    std::string proof;  // what proves the row, or who claims it

    [[nodiscard]] std::string key() const;
};

/// All rows, oldest architecture first. Of the rows of one architecture with the same formats the first is the one
/// that find_model takes when no instruction is named.
std::span<const ModelRow> model_table();

/// The row with that key. Throws std::invalid_argument that names the nearest keys.
const ModelRow& find_model(std::string_view key);

/// The row of a GPU ("H100", "a100"), generation ("hopper") or architecture ("sm_90") for these formats, in any case of
/// letters. Throws std::invalid_argument that names the nearest rows of that GPU.
const ModelRow& find_model(std::string_view gpu, std::string_view input, std::string_view output);

/// "sm_90" for "H100", "hopper", "sm_90". Throws std::invalid_argument that lists the names.
std::string architecture_of(std::string_view gpu);

/// The GPUs and generations that architecture_of knows, with their architectures.
struct NamedGpu {
    std::string_view name;
    std::string_view architecture;
};
std::span<const NamedGpu> named_gpus();

}  // namespace ulp
