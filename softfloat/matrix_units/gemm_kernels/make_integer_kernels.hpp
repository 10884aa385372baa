// The table of integer kernels of a vector kit `V`.
#pragma once

#include "softfloat/matrix_units/gemm_kernels/kernels_fp4.hpp"
#include "softfloat/matrix_units/gemm_kernels/kernels_integer.hpp"

namespace ulp::gemm_kernels {
namespace {

template <class V>
constexpr IntegerKernels make_integer_kernels() {
    IntegerKernels kernels{run_integers<V>,
                           V::FloatMode::can_round,
                           {{run_fp4<V, false>, pack_fp4_row<V, false>, pack_fp4_panel<V, false>}}};
    if constexpr (requires(typename V::Int x) { V::add_byte_products(x, x, x); }) {
        kernels.fp4[1] = {run_fp4<V, true>, pack_fp4_row<V, true>, pack_fp4_panel<V, true>};
    }
    return kernels;
}

}  // namespace
}  // namespace ulp::gemm_kernels
