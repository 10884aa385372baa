// UTF-8 (RFC 3629), read strictly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

/// The code points of a text. Throws DataError that names `name`: the text is empty, or at which byte it is not UTF-8
/// (a stray or missing continuation, an overlong form, a surrogate, a number beyond 10FFFF).
std::vector<std::uint32_t> code_points(std::string_view text, const std::string& name);

}  // namespace ulp
