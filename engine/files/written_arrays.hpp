// Files of several named arrays: safetensors, and NumPy's .npz.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace ulp {

/// An array as a file gets it: the bytes of its elements in C order, little-endian.
struct WrittenArray {
    std::string name;
    std::string type;  // as safetensors has it: "U8", "U16", "U32", "F32", ...
    Shape shape;
    std::string bytes;
};
using WrittenArrays = std::vector<WrittenArray>;

WrittenArray array_of_numbers(std::string name, Shape shape, std::span<const float> numbers);
/// Codes of that many bits: U8 for up to 8, U16 for up to 16, U32 beyond.
WrittenArray array_of_codes(std::string name, Shape shape, int bits, std::span<const std::uint32_t> codes);

/// The file appears complete or not at all (engine/files/whole_file.hpp). Throws DataError.
void write_safetensors(const std::filesystem::path& file, const WrittenArrays& arrays,
                       const std::map<std::string, std::string>& metadata);
/// Uncompressed, as numpy.savez writes it. Throws DataError, too, for a type that NumPy lacks, for a name that leads
/// out of a folder ("../x"), and for what a zip archive without 64-bit sizes does not hold: 4 GiB, 65,534 arrays.
void write_npz(const std::filesystem::path& file, const WrittenArrays& arrays);

/// Throws UsageError for a name that does not end in .npz or .safetensors.
void require_array_file(const std::filesystem::path& file);
/// By the extension: .safetensors, or .npz, which keeps no metadata. Throws UsageError for another.
void write_arrays(const std::filesystem::path& file, const WrittenArrays& arrays,
                  const std::map<std::string, std::string>& metadata);

}  // namespace ulp
