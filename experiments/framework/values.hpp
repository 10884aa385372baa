// Numbers as text in records: decimal and bits together, so that nothing is lost and a person can read it.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softfloat/float.hpp"

namespace ulp {

/// "0x7C00": as many digits as the storage word has.
std::string bits_text(const FloatFormat& format, std::uint64_t bits);

/// "65504 (0x7BFF)": the shortest decimal that reads back as the value's fp64, and the bits in the format.
/// Exact for formats within fp64.
std::string value_text(const FloatFormat& format, std::uint64_t bits);

template <FloatFormat F>
std::string value_text(Float<F> value) {
    return value_text(F, value.bits());
}

/// The larger of two numbers, NaN if one is: what a claim is about is reduced by these, so that a NaN fails it.
inline double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
inline double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

/// How many places of two equally long rows hold other bits.
std::int64_t different_bits(std::span<const float> a, std::span<const float> b);

/// "1 seed", "3 seeds".
std::string counted(std::integral auto count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// "2¹⁶", for figures.
std::string power_of_two_text(int exponent);

/// The shortest decimal that reads back as the same fp64: "0.1", "inf", "-0".
std::string decimal_text(double value);

// Tables for the documents under docs/, which are written by programs.

/// A Markdown table, a row a line. Every row has as many cells as the header; "|" in a cell is escaped.
std::string markdown_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

/// "# title", a line that says which command wrote the document, and its text.
std::string generated_document(std::string_view title, std::string_view command, std::string_view text);

}  // namespace ulp
