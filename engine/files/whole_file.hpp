// Files read and written whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ulp {

/// The bytes of a file. Throws DataError that names it.
std::string read_whole_file(const std::filesystem::path& path);

/// Writes to a new name beside the file, puts the bytes on the disk, and renames: a reader sees the old file or the new
/// one, never a part, and where it fails nothing is left behind. Throws DataError that names the file.
void replace_whole_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace ulp
