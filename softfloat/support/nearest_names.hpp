// What to say where a name is unknown and there are too many to list.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ulp {

/// The up to `most` names that take the fewest changes to become `wrong`, nearest first, with commas between them. Case
/// does not count, and what `wrong` leaves out counts less than what it has wrong.
std::string nearest_names(std::string_view wrong, std::span<const std::string> names, std::size_t most = 4);

/// Whether two names are the same in any case of letters. ASCII.
bool equal_ignoring_case(std::string_view x, std::string_view y);

}  // namespace ulp
