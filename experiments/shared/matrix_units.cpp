#include "experiments/shared/matrix_units.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "softfloat/format_names.hpp"
#include "softfloat/matrix_units/table/units.hpp"

namespace ulp {

std::vector<MatrixUnit> matrix_units(const RunContext& context) {
    std::vector<MatrixUnit> units = {
        {"V100", "soft:v100", nullptr}, {"A100", "soft:a100", nullptr}, {"H100", "soft:h100", nullptr}};
    const bool known =
        std::any_of(units.begin(), units.end(), [&](const MatrixUnit& u) { return u.spec == context.backend; });
    if (!context.backend.empty() && !known) units.push_back({context.backend, context.backend, nullptr});
    for (MatrixUnit& unit : units) unit.backend = make_backend(unit.spec);
    return units;
}

float dot(const MatmulBackend& backend, const ProductTypes& types, std::span<const float> a, std::span<const float> b,
          float c) {
    const auto k = static_cast<Index>(a.size());
    const MatrixView row(a.data(), 1, k);
    const MatrixView column(b.data(), k, 1);
    return matmul(backend, types, row, column, MatrixView(&c, 1, 1))(0, 0);
}

std::string evidence_of(const MatrixUnit& unit, const ProductTypes& types) {
    const std::string claim = unit.backend->promised_model(types);
    if (unit.spec == "soft:ieee") return fmt::format("{}: IEEE 754 arithmetic, no hardware", unit.name);
    if (claim.empty()) return fmt::format("{}, {}: claims no model", unit.name, name_of(types));
    if (const UnitRow* row = unit_or_null(claim)) {
        return fmt::format("{}, {} ({}): {}; {}", unit.name, name_of(types), claim, name_of(row->evidence), row->proof);
    }
    return fmt::format("{}, {}: claims {}", unit.name, name_of(types), claim);  // a row with another k, say
}

std::string evidence_of(const std::vector<MatrixUnit>& units, const std::vector<ProductTypes>& types, Result& result) {
    std::string text;
    for (const MatrixUnit& unit : units) {
        for (const ProductTypes& type : types) {
            std::string line = evidence_of(unit, type);
            text += (text.empty() ? "" : ". ") + line;
            result.evidence(std::move(line));
        }
    }
    return text + ".";
}

}  // namespace ulp
