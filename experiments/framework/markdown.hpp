// Tables for the documents under docs/, which are written by programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ulp {

/// A Markdown table, a row a line. Every row has as many cells as the header; "|" in a cell is escaped.
std::string markdown_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

/// "# title", a line that says which command wrote the document, and its text.
std::string generated_document(std::string_view title, std::string_view command, std::string_view text);

}  // namespace ulp
