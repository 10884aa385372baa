// The functions of one operand by name, in their three forms.
#pragma once

#include <array>
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
    bool (*fp32_domain)(float);
    float (*cr)(float);
};

#define ULPLAB_ROW(name, Function)                                                                       \
    FunctionUnderTest {                                                                                  \
#name, name##_bits, evaluate_bits_accurately < functions::Function>, functions::Function::quick, \
            functions::Function::accurate, functions::Function::fp32_domain, cr::name                    \
    }
inline constexpr std::array functions_under_test{
    ULPLAB_ROW(exp, Exp),           ULPLAB_ROW(exp2, Exp2),       ULPLAB_ROW(expm1, Expm1), ULPLAB_ROW(log, Log),
    ULPLAB_ROW(log2, Log2),         ULPLAB_ROW(log1p, Log1p),     ULPLAB_ROW(sin, Sin),     ULPLAB_ROW(cos, Cos),
    ULPLAB_ROW(tanh, Tanh),         ULPLAB_ROW(sigmoid, Sigmoid), ULPLAB_ROW(erf, Erf),     ULPLAB_ROW(gelu, Gelu),
    ULPLAB_ROW(softplus, Softplus), ULPLAB_ROW(rsqrt, Rsqrt),     ULPLAB_ROW(cbrt, Cbrt)};
#undef ULPLAB_ROW

}  // namespace ulp::test
