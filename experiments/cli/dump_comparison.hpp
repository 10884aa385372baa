// Two dumps of the same tensors, as `ulplab compare` prints them.
#pragma once

#include <string>

#include "experiments/framework/exit_codes.hpp"

namespace ulp {

/// Files, folders or patterns of tensors: tensor by tensor how many numbers differ, the first and by how many ulps;
/// with several steps how the difference grows. `page` is a file for one HTML page, or empty. bits_differ where they
/// do. Throws DataError as input_tensors and differences do.
ExitCode compare_dumps(const std::string& a, const std::string& b, bool as_json, const std::string& page);

}  // namespace ulp
