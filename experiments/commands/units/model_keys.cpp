#include "experiments/commands/units/model_keys.hpp"

#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/table/units.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {

std::vector<std::string> model_keys() {
    std::vector<std::string> keys;
    for (const UnitRow& row : unit_table()) keys.push_back(row.key());
    return keys;
}

void throw_no_model(std::string_view key) {
    const auto keys = model_keys();
    throw UsageError("there is no model '" + std::string(key) + "'; nearest are " + nearest_names(key, keys) +
                     ", and `ulplab models` lists all " + std::to_string(keys.size()));
}

}  // namespace ulp
