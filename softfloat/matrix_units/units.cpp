#include "softfloat/matrix_units/units.hpp"

#include <array>
#include <stdexcept>
#include <vector>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/rows.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {

namespace {

std::vector<UnitRow> build_table() {
    std::vector<UnitRow> rows;
    add_nvidia_rows(rows);
    add_amd_rows(rows);
    add_x86_rows(rows);
    add_arm_rows(rows);
    add_integer_rows(rows);
    add_block_scaled_rows(rows);
    add_copies(rows, "sm_100", "sm_103", false);  // B300 multiplies fp64 otherwise
    add_copies(rows, "sm_120", "sm_121", true);
    return rows;
}

[[noreturn]] void throw_unknown(const std::string& what, std::string_view wrong, const std::vector<std::string>& keys) {
    throw std::invalid_argument("there is no model " + what + "; nearest are " + nearest_names(wrong, keys) +
                                ", and `ulplab models` lists all " + std::to_string(unit_table().size()));
}

}  // namespace

AspectSet aspects_of(const UnitModel& model) {
    if (std::holds_alternative<IntegerModel>(model)) return AspectSet("oi");
    const auto* floating = std::get_if<TensorCoreModel>(&model);
    if (floating == nullptr || is_fused(*floating)) return AspectSet("ozfsin");
    return AspectSet(takes_decoded(*floating) ? "ozsin" : "osin");
}

std::string evidence_text(const UnitRow& row) {
    std::string text;
    for (std::size_t i = 0; i < row.aspects.size(); ++i) {
        const AspectEvidence& each = row.aspects[i];
        const bool goes_on = i + 1 < row.aspects.size() && row.aspects[i + 1].evidence == each.evidence &&
                             row.aspects[i + 1].data == each.data;
        text += name_of(each.aspect);
        if (goes_on) {
            text += ", ";
            continue;
        }
        text += ": " + std::string(name_of(each.evidence)) + " (" + each.data + ")";
        if (i + 1 < row.aspects.size()) text += "; ";
    }
    return text + (row.policies.empty() ? "" : "; policy set " + row.policies);
}

std::string UnitName::key() const {
    return file.empty() ? architecture + ":" + instruction + "." + input + "." + output : file;
}

std::span<const UnitRow> unit_table() {
    static const std::vector<UnitRow> table = build_table();
    return table;
}

const UnitRow* unit_or_null(std::string_view key) {
    for (const UnitRow& row : unit_table()) {
        if (row.key() == key) return &row;
    }
    return nullptr;
}

const UnitRow& find_unit(std::string_view key) {
    if (const UnitRow* row = unit_or_null(key)) return *row;
    std::vector<std::string> keys;
    for (const UnitRow& row : unit_table()) keys.push_back(row.key());
    throw_unknown("'" + std::string(key) + "'", key, keys);
}

const UnitRow& find_unit(std::string_view gpu, std::string_view input, std::string_view output,
                         std::string_view instruction) {
    const std::string architecture = architecture_of(gpu);
    std::vector<std::string> of_architecture;
    for (const UnitRow& row : unit_table()) {
        if (row.architecture != architecture) continue;
        if (equal_ignoring_case(row.input, input) && equal_ignoring_case(row.output, output) &&
            (instruction.empty() || row.instruction == instruction)) {
            return row;
        }
        of_architecture.push_back(row.key());
    }
    const std::string wanted(instruction.empty() ? "mma" : instruction);
    throw_unknown("of " + std::string(gpu) + " with " + std::string(input) + " inputs and a " + std::string(output) +
                      " accumulator" + (instruction.empty() ? "" : " for " + wanted),
                  architecture + ":" + wanted + "." + std::string(input) + "." + std::string(output), of_architecture);
}

void throw_other_kind(std::string_view key) {
    throw std::invalid_argument(std::string(key) + " computes another kind of product than is asked for here");
}

namespace {

constexpr std::array known_gpus{
    NamedGpu{"V100", "sm_70"},   NamedGpu{"Volta", "sm_70"},    NamedGpu{"T4", "sm_75"},
    NamedGpu{"Turing", "sm_75"}, NamedGpu{"A100", "sm_80"},     NamedGpu{"A30", "sm_80"},
    NamedGpu{"Ampere", "sm_80"}, NamedGpu{"A2", "sm_86"},       NamedGpu{"Ada", "sm_89"},
    NamedGpu{"L40S", "sm_89"},   NamedGpu{"H100", "sm_90"},     NamedGpu{"H200", "sm_90"},
    NamedGpu{"Hopper", "sm_90"}, NamedGpu{"B200", "sm_100"},    NamedGpu{"Blackwell", "sm_100"},
    NamedGpu{"B300", "sm_103"},  NamedGpu{"RTX5090", "sm_120"}, NamedGpu{"RTXBlackwell", "sm_120"},
    NamedGpu{"GB10", "sm_121"},  NamedGpu{"MI100", "gfx908"},   NamedGpu{"MI210", "gfx90a"},
    NamedGpu{"MI250", "gfx90a"}, NamedGpu{"MI300X", "gfx942"},
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
