// The table of integer kernels of a vector kit `V`.
#pragma once

#include "softfloat/matrix_units/gemm_kernels/kernels_fp4.hpp"
#include "softfloat/matrix_units/gemm_kernels/kernels_integer.hpp"

namespace ulp::gemm_kernels {
namespace {

template <class V, Fp4Operands operands>
constexpr Fp4Kernels fp4_kernels() {
    return {run_fp4<V, operands>, pack_fp4_row<V, operands>, pack_fp4_panel<V, operands>};
}

template <class V>
constexpr IntegerKernels make_integer_kernels() {
    IntegerKernels kernels{run_integers<V>, V::FloatMode::can_round, {fp4_kernels<V, Fp4Operands::words>()}};
    if constexpr (requires(typename V::Int x) { V::add_byte_products(x, x, x); }) {
        kernels.fp4[1] = fp4_kernels<V, Fp4Operands::bytes>();
        kernels.fp4[2] = fp4_kernels<V, Fp4Operands::bytes_by_terms>();
    }
    return kernels;
}

}  // namespace
}  // namespace ulp::gemm_kernels
