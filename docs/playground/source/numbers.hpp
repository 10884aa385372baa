// Numbers of a format on their way out of and into the page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "docs/playground/source/json.hpp"
#include "softfloat/format.hpp"

namespace playground {

/// A number with everything that a picture of its digits needs.
std::string number_json(const ulp::FloatFormat& format, std::uint64_t bits);

/// A storage word, given in hexadecimal.
std::uint64_t word_of(const ulp::FloatFormat& format, const std::string& hex);

std::vector<std::string> split(const std::string& text, char separator);

/// `block MODEL A B C A_SCALES B_SCALES`: a dot product of a matrix unit, step by step, and what other units give.
std::string block_json(const std::vector<std::string>& fields);

}  // namespace playground
