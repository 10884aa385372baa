// SHA-256 (FIPS 180-4), for the digests of inputs and results.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ulp {

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

/// Of a file's content. Throws DataError where it cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace ulp
