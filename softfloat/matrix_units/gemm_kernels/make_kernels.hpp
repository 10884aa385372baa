// The table of kernels of a vector kit `V`.
#pragma once

#include "softfloat/matrix_units/gemm_kernels/kernels_chain.hpp"
#include "softfloat/matrix_units/gemm_kernels/kernels_encode.hpp"
#include "softfloat/matrix_units/gemm_kernels/kernels_fused.hpp"
#include "softfloat/matrix_units/gemm_kernels/kernels_late.hpp"

namespace ulp::gemm_kernels {
namespace {

/// A panel's kernels for 1, 2, 3 and 4 vectors in use; three columns' vectors take the fourth along.
template <class V, int N>
constexpr void fill(Kernels& kernels, int at) {
    using enum ResultKind;
    using enum ChainKind;
    kernels.fused[0][0][at] = run_fused<V, ByteExponents<V>, fp32_toward_zero, N>;
    kernels.fused[0][1][at] = run_fused<V, ByteExponents<V>, fp16_nearest, N>;
    kernels.fused[1][0][at] = run_fused<V, WordExponents<V, N>, fp32_toward_zero, N>;
    kernels.fused[1][1][at] = run_fused<V, WordExponents<V, N>, fp16_nearest, N>;
    kernels.scaled[at] = run_scaled<V, N>;
    kernels.late[0][0][at] = run_late<V, ByteExponents<V>, false, N>;
    kernels.late[0][1][at] = run_late<V, ByteExponents<V>, true, N>;
    kernels.late[1][0][at] = run_late<V, WordExponents<V, N>, false, N>;
    kernels.late[1][1][at] = run_late<V, WordExponents<V, N>, true, N>;
    const auto chain = [&](ChainKind kind) -> PanelKernel& { return kernels.chain[static_cast<int>(kind)][at]; };
    chain(fma_chain) = run_chain<V, fma_chain, N>;
    chain(fma_pairs) = run_chain<V, fma_pairs, N>;
    chain(even_odd_fma) = run_chain<V, even_odd_fma, N>;
    chain(pairwise_2) = run_chain<V, pairwise_2, N>;
    chain(pairwise_4) = run_chain<V, pairwise_4, N>;
    chain(exact_2) = run_exact<V, 2, N>;
    chain(exact_4) = run_exact<V, 4, N>;
}

template <class V>
constexpr Kernels make_kernels(const char* name, const IntegerKernels& integers) {
    Kernels kernels{};
    kernels.name = name;
    kernels.lanes = V::lanes;
    kernels.has_flush = V::has_flush;
    fill<V, 1>(kernels, 0);
    fill<V, 2>(kernels, 1);
    fill<V, 4>(kernels, 2);
    fill<V, 4>(kernels, 3);
    kernels.add_segment[0] = add_segment<V, ResultKind::fp32_toward_zero>;
    kernels.add_segment[1] = add_segment<V, ResultKind::fp16_nearest>;
    kernels.integers = &integers;
    kernels.fp64 = run_fp64<V>;
    kernels.encode_row = encode_row<V>;
    kernels.encode_panel = encode_panel<V>;
    return kernels;
}

}  // namespace
}  // namespace ulp::gemm_kernels
