// The names of the formats, for programs and messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "softfloat/format.hpp"

namespace ulp {

struct NamedFormat {
    std::string_view name;  // as given on the command line: "fp16"
    FloatFormat format;
    std::string_view description;
};

/// Every named format, widest first.
std::span<const NamedFormat> named_formats();

/// The format of that name. Throws std::invalid_argument that lists the names there are.
const FloatFormat& format_by_name(std::string_view name);

/// The name of a format, or "e<exponent_bits>f<fraction_bits>" for one that has no row.
std::string name_of(const FloatFormat& format);

}  // namespace ulp
