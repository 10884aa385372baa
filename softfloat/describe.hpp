// What a number becomes in a format, and a format's derived quantities: as data for `ulplab show` and `ulplab formats`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "softfloat/context.hpp"
#include "softfloat/names.hpp"

namespace ulp {

/// A number of a format with its text.
struct NumberText {
    std::uint64_t bits = 0;
    std::string hex;      // the storage word
    std::string decimal;  // as to_decimal has it
};

/// A text rounded to a format.
struct Description {
    NamedFormat format;
    NumberText value;
    std::string fields;               // "0 01011 1001100110"
    std::string exact;                // all digits; "inf", "nan"
    std::string as_fp64;              // the value to 17 digits: shortest decimal of the same fp64 number
    std::string hex_float;            // "0x1.998p-4"
    std::string number_class;         // "normal", "subnormal", "zero", "infinity", "NaN"
    std::optional<NumberText> below;  // the neighbours of a finite number, where there are any
    std::optional<NumberText> above;
    std::optional<std::string> ulp;            // unit in the last place of a finite number, exact
    int ulp_exponent = 0;                      // the same as a power of two
    std::optional<std::string> error;          // value - text, exact decimal; where both are finite
    std::optional<std::string> error_in_ulps;  // the same in units in the last place, 4 digits
    std::vector<std::string> flags;            // "inexact", "underflow", ...
};

/// `text` as parse_bits reads it, rounded as `how` says, or bits:HEX for a storage word of the format. Throws
/// std::invalid_argument where it is neither.
Description describe(const NamedFormat& format, std::string_view text, const Context& how = {});

/// The names of the flags that are set.
std::vector<std::string> flag_names(unsigned flags);

/// A row of the table of formats. fp64 holds each of these numbers exactly.
struct FormatDescription {
    NamedFormat format;
    double largest = 0;  // finite
    double smallest_normal = 0;
    double smallest_positive = 0;
    double epsilon = 0;    // the next number after 1, minus 1
    std::string specials;  // "inf, NaN"
};
FormatDescription describe(const NamedFormat& format);

}  // namespace ulp
