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

/// Cards with the same units, taken and not listed. Sources: NVIDIA's list of compute capabilities, AMD's of LLVM
/// targets.
constexpr std::array also_taken{
    NamedGpu{"TitanV", "sm_70"},    NamedGpu{"RTX2080", "sm_75"},     NamedGpu{"RTX2080Ti", "sm_75"},
    NamedGpu{"A800", "sm_80"},      NamedGpu{"A10", "sm_86"},         NamedGpu{"A10G", "sm_86"},
    NamedGpu{"A16", "sm_86"},       NamedGpu{"A40", "sm_86"},         NamedGpu{"RTXA6000", "sm_86"},
    NamedGpu{"RTX3080", "sm_86"},   NamedGpu{"RTX3090", "sm_86"},     NamedGpu{"L4", "sm_89"},
    NamedGpu{"L20", "sm_89"},       NamedGpu{"L40", "sm_89"},         NamedGpu{"RTX4080", "sm_89"},
    NamedGpu{"RTX4090", "sm_89"},   NamedGpu{"RTX6000Ada", "sm_89"},  NamedGpu{"H20", "sm_90"},
    NamedGpu{"H800", "sm_90"},      NamedGpu{"GH200", "sm_90"},       NamedGpu{"sm_90a", "sm_90"},
    NamedGpu{"GB200", "sm_100"},    NamedGpu{"sm_100a", "sm_100"},    NamedGpu{"GB300", "sm_103"},
    NamedGpu{"RTX5080", "sm_120"},  NamedGpu{"RTXPRO6000", "sm_120"}, NamedGpu{"sm_120a", "sm_120"},
    NamedGpu{"DGXSpark", "sm_121"}, NamedGpu{"MI250X", "gfx90a"},     NamedGpu{"MI200", "gfx90a"},
    NamedGpu{"CDNA2", "gfx90a"},    NamedGpu{"MI300A", "gfx942"},     NamedGpu{"MI300", "gfx942"},
    NamedGpu{"MI325X", "gfx942"},   NamedGpu{"CDNA3", "gfx942"},
};

/// "RTX 4090", "rtx-4090" and "rtx_4090" are one name.
std::string joined(std::string_view name) {
    std::string text(name);
    std::erase_if(text, [](char c) { return c == ' ' || c == '-' || c == '_'; });
    return text;
}

}  // namespace

std::span<const NamedGpu> named_gpus() { return known_gpus; }

std::string architecture_of(std::string_view gpu) {
    std::vector<std::string> known;
    for (const std::span<const NamedGpu> list :
         {std::span<const NamedGpu>(known_gpus), std::span<const NamedGpu>(also_taken)}) {
        for (const NamedGpu& row : list) {
            if (equal_ignoring_case(joined(row.name), joined(gpu))) return std::string(row.architecture);
            known.emplace_back(row.name);
        }
    }
    for (const UnitRow& row : unit_table()) {
        if (row.architecture == gpu) return row.architecture;
    }
    throw std::invalid_argument("there is no GPU model '" + std::string(gpu) + "'; did you mean " +
                                nearest_names(gpu, known, 1) + "? choose one of " +
                                nearest_names(gpu, known, known.size()));
}

}  // namespace ulp
