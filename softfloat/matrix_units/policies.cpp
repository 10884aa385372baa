#include "softfloat/matrix_units/policies.hpp"

#include <stdexcept>
#include <string>

#include "softfloat/support/nearest_names.hpp"

namespace ulp {

const PolicySet& policy_set(std::string_view name) {
    std::string names;
    for (const PolicySet& set : policy_sets) {
        if (equal_ignoring_case(set.name, name)) return set;
        names += (names.empty() ? "" : ", ") + std::string(set.name);
    }
    throw std::invalid_argument("there is no policy set '" + std::string(name) + "'; choose one of " + names);
}

}  // namespace ulp
