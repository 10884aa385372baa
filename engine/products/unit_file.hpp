// A matrix unit as a file: any model of softfloat/matrix_units as JSON. docs/unit_files.md describes the fields.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

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
/// out of range; parameters that the integers of the definitions do not hold. `file` is for the message.
DescribedUnit unit_from_json(std::string_view text, const std::string& file = "the unit");

/// Whether a name is that of a file: it ends in .json.
bool is_unit_file(std::string_view name);

/// The file's unit as a row; its key is the file's name. Throws DataError as unit_from_json, and if there is no file.
UnitRow read_unit_file(const std::string& file);

// What the definitions of softfloat/matrix_units hold: the limits of a unit that no row of the table describes.

/// The limit that a model breaks, as a sentence that names the fields of its file; empty if it breaks none.
std::string limit_of(const UnitModel& model);

}  // namespace ulp

// The fields of a unit's file: their names, which units have them, and how each is written and read.

namespace ulp::unit_fields {

using Json = nlohmann::json;
using Written = nlohmann::ordered_json;

/// Which units have a field.
enum Kinds : unsigned { fused = 1, by_hmma = 2, late = 4, chained = 8, scaled = 16, all_floating = 15 };
Kinds kind_of(Summation summation);

/// How a member of a model is written and read. Throws std::invalid_argument where the value cannot be read: what it is
/// not ("give a whole number from 1 to 64").
template <class Model>
struct Field {
    std::string_view key;
    unsigned kinds;  // all of `Kinds` that have it
    bool optional;   // left out: as the model of {} has it
    std::function<Written(const Model&)> write;
    std::function<void(Model&, const Json&)> read;
};

/// In the order of a file; the first floating-point field is the summation.
const std::vector<Field<TensorCoreModel>>& floating_fields();
const std::vector<Field<IntegerModel>>& integer_fields();
/// Those that a block-scaled unit has besides the floating-point fields of `scaled`.
const std::vector<Field<BlockScaledModel>>& scale_fields();

}  // namespace ulp::unit_fields
