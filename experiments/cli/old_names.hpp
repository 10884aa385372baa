// What commands and options were called in 0.2.0: they are refused, with their new names. To be removed with the next
// version.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

struct OldName {
    std::string_view command;  // "explain", "gpu fma"; empty: every command
    std::string_view option;   // "--model", "--format json"; empty: the command itself
    std::string_view now;      // what to write in its place
};
std::span<const OldName> old_names();

/// Throws UsageError, "sweep is now: ulplab run --grid FILE", where the arguments hold an old name.
void refuse_old_names(const std::vector<std::string>& arguments);

}  // namespace ulp
