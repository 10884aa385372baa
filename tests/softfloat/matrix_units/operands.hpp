// The random operands of the laboratory, under the tests' name.
#pragma once

#include "softfloat/lab/random_codes.hpp"

namespace ulp::test {
using ulp::all_classes;
using ulp::DataClass;
using ulp::name_of;
using ulp::random_codes;
using ulp::random_word;
}  // namespace ulp::test
