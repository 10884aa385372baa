#include "softfloat/matrix_units/gpus.hpp"

#include <array>
#include <stdexcept>
#include <vector>

#include "softfloat/matrix_units/units.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {

namespace {

constexpr std::array known_gpus{
    NamedGpu{"V100", "sm_70"},
    NamedGpu{"Volta", "sm_70"},
    NamedGpu{"T4", "sm_75"},
    NamedGpu{"Turing", "sm_75"},
    NamedGpu{"A100", "sm_80"},
    NamedGpu{"A30", "sm_80"},
    NamedGpu{"Ampere", "sm_80"},
    NamedGpu{"A2", "sm_86"},
    NamedGpu{"Ada", "sm_89"},
    NamedGpu{"L40S", "sm_89"},
    NamedGpu{"H100", "sm_90"},
    NamedGpu{"H200", "sm_90"},
    NamedGpu{"Hopper", "sm_90"},
    NamedGpu{"B200", "sm_100"},
    NamedGpu{"Blackwell", "sm_100"},
    NamedGpu{"RTX5090", "sm_120"},
    NamedGpu{"RTXBlackwell", "sm_120"},
    NamedGpu{"MI100", "gfx908"},
    NamedGpu{"MI210", "gfx90a"},
    NamedGpu{"MI250", "gfx90a"},
    NamedGpu{"MI300X", "gfx942"},
};

}  // namespace

std::span<const NamedGpu> named_gpus() { return known_gpus; }

std::string architecture_of(std::string_view gpu) {
    std::string names;
    for (const NamedGpu& row : known_gpus) {
        if (equal_ignoring_case(row.name, gpu)) return std::string(row.architecture);
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    for (const UnitRow& row : unit_table()) {
        if (row.architecture == gpu) return row.architecture;
    }
    std::vector<std::string> known;
    for (const NamedGpu& row : known_gpus) known.emplace_back(row.name);
    throw std::invalid_argument("there is no GPU model '" + std::string(gpu) + "'; did you mean " +
                                nearest_names(gpu, known, 1) + "? choose one of " + names);
}

}  // namespace ulp
