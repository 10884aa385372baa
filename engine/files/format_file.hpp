// A number format as JSON: in files, in unit files, from Python. docs/format_files.md describes it.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "softfloat/format.hpp"

namespace ulp {

/// A name (format_by_name); an object of fields (exponent_bits, fraction_bits, and where they differ from an IEEE
/// format's bias, sign, subnormals, specials, even_codes, saturate, largest_for_infinity); an object with a table
/// (name, values, and overflow, middles, saturate); or a list, the values alone. Throws std::invalid_argument that
/// names the field and what it may be.
FloatFormat format_from_json(const nlohmann::json& json);

/// The format as format_from_json reads it: its name where it has one.
nlohmann::ordered_json format_json(const FloatFormat& format);

/// The format that a file describes. Throws DataError that names the file.
FloatFormat format_of_file(std::string_view path);

}  // namespace ulp
