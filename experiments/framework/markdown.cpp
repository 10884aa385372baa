#include "experiments/framework/markdown.hpp"

#include <fmt/core.h>

namespace ulp {
namespace {

std::string line_of(const std::vector<std::string>& cells) {
    std::string line = "|";
    for (const std::string& cell : cells) {
        line += ' ';
        for (const char c : cell) line += c == '|' ? std::string("\\|") : std::string(1, c);
        line += " |";
    }
    return line + "\n";
}

}  // namespace

std::string markdown_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
    std::string table = line_of(header) + "|";
    for (std::size_t i = 0; i < header.size(); ++i) table += "---|";
    table += '\n';
    for (const auto& row : rows) table += line_of(row);
    return table;
}

std::string generated_document(std::string_view title, std::string_view command, std::string_view text) {
    return fmt::format("# {}\n\nWritten by `{}` (docs/update.sh); do not edit.\n\n{}", title, command, text);
}

}  // namespace ulp
