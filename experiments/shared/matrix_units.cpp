#include "experiments/shared/matrix_units.hpp"

#include <fmt/core.h>

#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"

namespace ulp {

std::string series_name(std::string backend) {
    for (char& c : backend) c = c == ',' ? ';' : c == '"' || c == '\n' ? '_' : c;
    return backend;
}

std::vector<MatrixUnit> matrix_units(const RunContext& context) {
    std::vector<MatrixUnit> units = {
        {"V100", "soft:v100", nullptr}, {"A100", "soft:a100", nullptr}, {"H100", "soft:h100", nullptr}};
    const bool known =
        std::any_of(units.begin(), units.end(), [&](const MatrixUnit& u) { return u.spec == context.backend; });
    if (!context.backend.empty() && !known) units.push_back({series_name(context.backend), context.backend, nullptr});
    for (MatrixUnit& unit : units) unit.backend = make_backend(unit.spec);
    return units;
}

std::string id_of(const MatrixUnit& unit) {
    std::string id = unit.name.starts_with("soft:") ? unit.name.substr(5) : unit.name;
    for (char& c : id) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (std::string_view("(;):.-").find(c) != std::string_view::npos) c = '_';
    }
    return id;
}

bool is_matrix_unit(const MatrixUnit& unit) {
    return unit_or_null(unit.backend->promised_model(fp16_to_fp32)) != nullptr;
}

float dot(const MatmulBackend& backend, const ProductTypes& types, std::span<const float> a, std::span<const float> b,
          float c) {
    const auto k = static_cast<Index>(a.size());
    const MatrixView row(a.data(), 1, k);
    const MatrixView column(b.data(), k, 1);
    return matmul(backend, types, row, column, MatrixView(&c, 1, 1))(0, 0);
}

std::string evidence_of_row(const std::string& key, Result& result) {
    const UnitRow& row = find_unit(key);
    result.evidence(fmt::format("{}: {}", key, evidence_text(row)));
    return fmt::format("{}: {}; {}", key, name_of(row.evidence), row.proof);
}

namespace {

/// "V100, fp16->fp32 (sm_70:mma.fp16.fp32): ...": the row of the table that the unit follows, and what proves it.
std::string evidence_of(const MatrixUnit& unit, const ProductTypes& types, Result& result) {
    const std::string claim = unit.backend->promised_model(types);
    const std::string name = fmt::format("{}, {}", unit.name, name_of(types));
    if (const UnitRow* row = unit_or_null(claim)) {
        result.evidence(fmt::format("{} ({}): {}", name, claim, evidence_text(*row)));
        return fmt::format("{} ({}): {}; {}", name, claim, name_of(row->evidence), row->proof);
    }
    std::string line = name + (claim.empty() ? ": claims no model" : ": claims " + claim);  // a row with another k, say
    if (unit.spec == "soft:ieee") line = unit.name + ": IEEE 754 arithmetic, no hardware";
    result.evidence(line);
    return line;
}

}  // namespace

std::string evidence_of(const std::vector<MatrixUnit>& units, const std::vector<ProductTypes>& types, Result& result) {
    std::string text;
    for (const MatrixUnit& unit : units) {
        for (const ProductTypes& type : types) {
            text += (text.empty() ? "" : ". ") + evidence_of(unit, type, result);
        }
    }
    return text + ".";
}

}  // namespace ulp
