// The safetensors file format: eight bytes of header length, a JSON header (names, types, shapes, places), then the
// numbers, little-endian. Tensors keep their storage format: an fp16 tensor takes two bytes a number.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/tensor/tensor.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

inline namespace ULPLAB_MODE {
struct Safetensors {
    std::map<std::string, Tensor> tensors;  // by their format; written as F32 where the file format has none for it
    std::map<std::string, std::string> metadata;
    std::map<std::string, std::string> skipped;  // name and type of the tensors that `tensors` cannot hold

    /// The tensor of that name. Throws DataError with the reason, naming `file`: it was skipped, or there is none.
    [[nodiscard]] const Tensor& tensor(const std::filesystem::path& file, const std::string& name) const;
};
}  // namespace ULPLAB_MODE

/// Writes to a temporary name beside `file`, syncs, and renames: a reader sees the old file or the new one, never a
/// part. Throws DataError.
void write_safetensors(const std::filesystem::path& file, const Safetensors& contents);

/// Reads F32, F16, BF16, F8_E4M3, F8_E5M2, their fnuz variants and F8_E8M0, every code unchanged (NaNs with sign and
/// payload). Tensors of the other types that the format knows (safetensors 0.7: integers, F64, C64, BOOL, F6 and F4)
/// are checked for their place and skipped. Throws DataError naming the file for anything cut short, overlapping, with
/// a gap, or of an unknown type.
Safetensors read_safetensors(const std::filesystem::path& file);

}  // namespace ulp
