// The keys of all model tables: floating point, integers and block-scaled; and units by key or file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/options.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {

std::vector<std::string> model_keys();

/// Throws UsageError that names the keys nearest to `key`, or those of the GPU of that name, or says that it is a
/// number format.
[[noreturn]] void throw_no_model(std::string_view key);

/// The row of the table with that key, or the unit of a file whose name ends in .json. Throws as throw_no_model does,
/// and DataError for a file that does not describe a unit.
UnitRow unit_named(const std::string& key_or_file);

/// The row's model, with the policies of a set where --policy names one. Throws UsageError for a unit without policies,
/// std::invalid_argument for an unknown name.
TensorCoreModel with_policy(const UnitRow& row, const TensorCoreModel& model, const std::string& policy);

/// --policy WORD.
void declare_policy(OptionParser& app, std::string& policy);

/// "evidence: ordinary values recorded; ..." and a newline, for every kind of unit; `all`: of each aspect, with its
/// data. Where --policy names another set than the row's, a line more says that the evidence is not of it.
std::string evidence_lines(const UnitRow& row, const std::string& policy, bool all);

/// For --help, after what the option names.
inline constexpr std::string_view or_unit_file = ", or a file that describes a unit (FILE.json)";

}  // namespace ulp
