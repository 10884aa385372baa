// The functions of one operand by name, in their three forms.
#pragma once

#include <string_view>

#include "softfloat/functions/cr.hpp"
#include "softfloat/functions/functions.hpp"

namespace ulp::test {

using BitsFunction = std::uint64_t (*)(const FloatFormat&, std::uint64_t, Context&);

struct FunctionUnderTest {
    std::string_view name;
    BitsFunction bits;                                // any format, any mode
    BitsFunction accurately;                          // the same without the quick phase
    double (*quick)(double);                          // the quick phase alone
    ulp::Float127 (*accurate)(const ulp::Float127&);  // the accurate phase alone
    functions::Domain fp32_domain;
    float (*cr)(float);
};

#define ULPLAB_FUNCTION(name, Function)                              \
    FunctionUnderTest{#name,                                         \
                      name##_bits,                                   \
                      evaluate_bits_accurately<functions::Function>, \
                      functions::Function::quick,                    \
                      functions::Function::accurate,                 \
                      functions::Function::fp32_domain(),            \
                      cr::name},
inline constexpr FunctionUnderTest functions_under_test[] = {ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)};
#undef ULPLAB_FUNCTION

}  // namespace ulp::test
