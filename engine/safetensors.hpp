// The safetensors file format: eight bytes of header length, a JSON header (names, types, shapes, places), then the
// numbers, little-endian. Tensors keep their storage format: an fp16 tensor takes two bytes a number.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/tensor.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

struct Safetensors {
    std::map<std::string, Tensor<float>> tensors;  // F32, F16, BF16, F8_E4M3 or F8_E5M2 by their format; others as F32
    std::map<std::string, std::string> metadata;
};

/// Writes to a temporary name beside `file`, syncs, and renames: a reader sees the old file or the new one, never a
/// part. Throws DataError.
void write_safetensors(const std::filesystem::path& file, const Safetensors& contents);

/// Throws DataError naming the file for anything cut short, overlapping, or of another kind.
Safetensors read_safetensors(const std::filesystem::path& file);

}  // namespace ulp
