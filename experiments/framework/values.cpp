#include "experiments/framework/values.hpp"

#include <fmt/core.h>

namespace ulp {

std::string bits_text(const FloatFormat& format, std::uint64_t bits) {
    return fmt::format("0x{:0{}X}", bits, (format.storage_bits() + 3) / 4);
}

std::string decimal_text(double value) { return fmt::format("{}", value); }

std::string power_of_two_text(int exponent) {
    constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string text = exponent < 0 ? "2⁻" : "2";
    for (const char digit : fmt::format("{}", exponent < 0 ? -exponent : exponent)) text += digits[digit - '0'];
    return text;
}

std::int64_t different_bits(std::span<const float> a, std::span<const float> b) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        count += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]) ? 1 : 0;
    }
    return count;
}

std::string value_text(const FloatFormat& format, std::uint64_t bits) {
    Context exact;
    const auto value = std::bit_cast<double>(convert_bits(formats::fp64, format, bits, exact));
    return fmt::format("{} ({})", decimal_text(value), bits_text(format, bits));
}

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
