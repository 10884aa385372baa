// A page that stands alone: one file, no network, readable on a phone and in the dark.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ulp {

/// `body` is HTML. `command` stands above it: "ulplab inspect".
std::string single_page(std::string_view command, std::string_view title, std::string_view body);

/// Rows of text; the first is the heading. Columns but the first are numbers.
std::string table_html(const std::vector<std::vector<std::string>>& rows);

}  // namespace ulp
