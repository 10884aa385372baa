#include "experiments/cli/model_keys.hpp"

#include "engine/products/unit_file.hpp"
#include "softfloat/errors.hpp"
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

void throw_no_model(std::string_view key) {
    const auto keys = model_keys();
    throw UsageError("there is no model '" + std::string(key) + "'; nearest are " + nearest_names(key, keys) +
                     ", and `ulplab models` lists all " + std::to_string(keys.size()));
}

TensorCoreModel with_policy(const UnitRow& row, const TensorCoreModel& model, const std::string& policy) {
    if (policy.empty()) return model;
    const PolicySet& set = policy_set(policy);
    if (!is_fused(model)) throw UsageError(row.key() + " has no --policy: it adds no fused groups");
    return with_policies(model, set);
}

std::string evidence_lines(const UnitRow& row, const std::string& policy) {
    std::string text = "evidence: " + evidence_text(row) + "\n";
    if (policy.empty() || policy == row.policies) return text;
    const std::string own = row.file.empty() ? "the table's " + row.policies : "the file's";
    return text + "policy set " + policy + " instead of " + own + ": not covered by this evidence\n";
}

}  // namespace ulp
