// The keys of all model tables: floating point, integers and block-scaled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ulp {

std::vector<std::string> model_keys();

/// Throws UsageError that names the keys nearest to `key`.
[[noreturn]] void throw_no_model(std::string_view key);

}  // namespace ulp
