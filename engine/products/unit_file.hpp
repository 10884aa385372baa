// A matrix unit as a file: any model of softfloat/matrix_units as JSON. docs/unit_files.md describes the fields.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "softfloat/matrix_units/units.hpp"

namespace ulp {

/// The version of the form, the value of "ulplab_unit".
inline constexpr int unit_file_version = 1;

struct DescribedUnit {
    std::string name;
    UnitModel model;
};

/// Ends with a line break; unit_from_json gives the same unit.
std::string unit_json(const DescribedUnit& unit);

/// Throws DataError that names the field: one that is unknown or missing, with those there are; one of another type or
/// out of range; parameters that the integers of the definitions do not hold. `file` stands in the message.
DescribedUnit unit_from_json(std::string_view text, const std::string& file = "the unit");

/// Whether a name is that of a file: it ends in .json.
bool is_unit_file(std::string_view name);

/// The file's unit as a row; its key is the file's name. Throws DataError as unit_from_json, and if there is no file.
UnitRow read_unit_file(const std::string& file);

}  // namespace ulp
