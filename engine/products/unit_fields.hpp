// The fields of a unit's file: their names, which units have them, and how each is written and read.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "softfloat/matrix_units/units.hpp"

#pragma GCC visibility push(hidden)
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
#pragma GCC visibility pop
