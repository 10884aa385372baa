#include "softfloat/matrix_units/table/units.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {

namespace {

bool equal_ignoring_case(std::string_view x, std::string_view y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

/// Where a row's parameters come from in the aspects that nothing here decides.
std::string source_of(const UnitRow& row) {
    if (row.evidence == Evidence::published || row.architecture == "x86") return row.proof;
    if (row.as<IntegerModel>() != nullptr) return "PTX ISA";
    return row.policies == "H" ? "as for this GPU's other instructions; no recording of this one decides it"
                               : "MMA-Sim, arXiv 2511.10909";
}

/// Rows whose keys are "<architecture>:<instruction>.<input>.<output>".
UnitRow row_of(const std::string& key, UnitModel model, std::string policies, Evidence evidence, std::string proof) {
    const auto colon = key.find(':');
    const auto saturates = key.find(".satfinite");
    const auto output = key.rfind('.', saturates == std::string::npos ? saturates : saturates - 1);
    const auto input = key.rfind('.', output - 1);
    UnitRow row{key.substr(0, colon),
                key.substr(colon + 1, input - colon - 1),
                key.substr(input + 1, output - input - 1),
                key.substr(output + 1),
                model,
                std::move(policies),
                evidence,
                std::move(proof),
                {}};
    const bool live = row.architecture == "x86";
    row.aspects =
        evidence_of_row(key, aspects_of(row.model),
                        {Aspect::ordinary, live ? Evidence::verified_live : Evidence::published, source_of(row)});
    row.evidence = row.aspects.front().evidence;
    row.proof = row.aspects.front().data;
    return row;
}

bool is_fused(const TensorCoreModel& model) {
    return model.summation == Summation::fused || model.summation == Summation::fp8_by_hmma;
}

/// The name of the set that gives the model its policies.
std::string policies_of(const TensorCoreModel& model) {
    if (!is_fused(model)) return "";
    for (const PolicySet& set : policy_sets) {
        if (with_policies(model, set) == model) return std::string(set.name);
    }
    return "own";
}

std::vector<UnitRow> build_table() {
    std::vector<UnitRow> rows;
    for (const ModelRow& row : model_table()) {
        rows.push_back(row_of(row.key(), row.model, policies_of(row.model), row.evidence, row.proof));
    }
    for (const IntegerRow& row : integer_table())
        rows.push_back(row_of(row.key, row.model, "", row.evidence, row.proof));
    for (const BlockScaledRow& row : block_scaled_table()) {
        rows.push_back(row_of(row.key, row.model, policies_of(row.model.unscaled), row.evidence, row.proof));
    }
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

std::string UnitRow::key() const { return architecture + ":" + instruction + "." + input + "." + output; }

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

}  // namespace ulp
