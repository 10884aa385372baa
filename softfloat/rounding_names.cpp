#include "softfloat/rounding_names.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace ulp {

namespace {
struct NamedRounding {
    std::string_view name;
    std::string_view testfloat_name;
    Rounding rounding;
};
constexpr std::array rows{
    NamedRounding{"nearest_even", "near_even", Rounding::nearest_even},
    NamedRounding{"nearest_away", "near_maxMag", Rounding::nearest_away},
    NamedRounding{"toward_zero", "minMag", Rounding::toward_zero},
    NamedRounding{"down", "min", Rounding::down},
    NamedRounding{"up", "max", Rounding::up},
    NamedRounding{"odd", "odd", Rounding::odd},
    NamedRounding{"stochastic", "stochastic", Rounding::stochastic},
};
}  // namespace

std::string_view name_of(Rounding rounding) { return rows[static_cast<std::size_t>(rounding)].name; }

Rounding rounding_by_name(std::string_view name) {
    std::string names;
    for (const NamedRounding& row : rows) {
        if (name == row.name || name == row.testfloat_name) return row.rounding;
        if (!name.empty() && name.front() == 'r' && name.substr(1) == row.testfloat_name) return row.rounding;
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    throw std::invalid_argument("there is no rounding mode '" + std::string(name) + "'; choose one of " + names);
}

}  // namespace ulp
