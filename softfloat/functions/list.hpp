// The functions of one operand, each named once: everything that has one line per function is generated from here (the
// calls on Float<F>, cr:: on fp32, arrays and their kernels, Eigen's expressions, the trainer's steps, the tests).
//
//     #define ROW(name, Function) ...
//     ULPLAB_FUNCTIONS(ROW)
//     #undef ROW
//
// `name` is the call, functions::Function the definition in catalog.hpp.
#pragma once

/// Those for which Eigen has a functor scalar_NAME_op that calls the scalar function.
#define ULPLAB_FUNCTIONS_OF_EIGEN(ROW) \
    ROW(exp, Exp)                      \
    ROW(expm1, Expm1)                  \
    ROW(log, Log)                      \
    ROW(log1p, Log1p)                  \
    ROW(sin, Sin)                      \
    ROW(cos, Cos)                      \
    ROW(tanh, Tanh)

/// All of them.
#define ULPLAB_FUNCTIONS(ROW)      \
    ULPLAB_FUNCTIONS_OF_EIGEN(ROW) \
    ROW(exp2, Exp2)                \
    ROW(log2, Log2)                \
    ROW(sigmoid, Sigmoid)          \
    ROW(erf, Erf)                  \
    ROW(gelu, Gelu)                \
    ROW(softplus, Softplus)        \
    ROW(rsqrt, Rsqrt)              \
    ROW(cbrt, Cbrt)
