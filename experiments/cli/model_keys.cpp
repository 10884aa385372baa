#include "experiments/cli/model_keys.hpp"

#include "engine/products/unit_file.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/format_names.hpp"
#include "softfloat/matrix_units/gpus.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {

std::vector<std::string> model_keys() {
    std::vector<std::string> keys;
    for (const UnitRow& row : unit_table()) keys.push_back(row.key());
    return keys;
}

UnitRow unit_named(const std::string& key_or_file) {
    if (is_unit_file(key_or_file)) return read_unit_file(key_or_file);
    const UnitRow* row = unit_or_null(key_or_file);
    if (row == nullptr) throw_no_model(key_or_file);
    return *row;
}

namespace {

/// The keys of a GPU's rows: "sm_90:mma.fp16.fp32, ...", at most four.
std::string keys_of_gpu(const std::string& architecture) {
    std::string keys;
    int count = 0;
    for (const UnitRow& row : unit_table()) {
        if (row.architecture == architecture && ++count <= 4) keys += (keys.empty() ? "" : ", ") + row.key();
    }
    return keys;
}

/// Throws UsageError where the name is that of a number format.
void refuse_format_as_unit(std::string_view name) {
    for (const NamedFormat& format : named_formats()) {
        if (!equal_ignoring_case(format.name, name)) continue;
        throw UsageError(std::string(name) +
                         " is a number format, not what multiplies; `ulplab models` lists the units");
    }
}

}  // namespace

void throw_no_model(std::string_view key) {
    refuse_format_as_unit(key);
    for (const NamedGpu& gpu : named_gpus()) {
        if (!equal_ignoring_case(gpu.name, key)) continue;
        throw UsageError(std::string(key) + " is a GPU with several matrix units; choose one, such as " +
                         keys_of_gpu(std::string(gpu.architecture)) + " (`ulplab models --unit " + std::string(key) +
                         "` lists all)");
    }
    const auto keys = model_keys();
    throw UsageError("there is no model '" + std::string(key) + "'; nearest are " + nearest_names(key, keys) +
                     ", and `ulplab models` lists all " + std::to_string(keys.size()));
}

TensorCoreModel with_policy(const UnitRow& row, const TensorCoreModel& model, const std::string& policy) {
    if (policy.empty()) return model;
    const PolicySet& set = policy_set_by_word(policy);
    if (!is_fused(model)) throw UsageError(row.key() + " has no --policy: it adds no fused groups");
    return with_policies(model, set);
}

namespace {

/// Of the ordinary values alone, and where the rest stands.
std::string short_evidence(const UnitRow& row) {
    if (!row.file.empty() || row.aspects.empty()) return evidence_text(row);
    return "ordinary values " + std::string(name_of(row.evidence)) + "; --evidence says by what, and of each aspect";
}

}  // namespace

void declare_policy(OptionParser& app, std::string& policy) {
    app.add_option("--policy", policy, "policy set used instead of the table's: " + policy_words());
}

std::string evidence_lines(const UnitRow& row, const std::string& policy, bool all) {
    std::string text = "evidence: " + (all ? evidence_text(row) : short_evidence(row)) + "\n";
    if (policy.empty() || policy_set_by_word(policy).name == row.policies) return text;
    const std::string own =
        row.file.empty() ? "the table's " + std::string(policy_set(row.policies).word) : "the file's";
    return text + "policy set " + policy + " instead of " + own + ": not covered by this evidence\n";
}

}  // namespace ulp
