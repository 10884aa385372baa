// From a set of instructions to the kernels that were compiled for it: the one place where kernels are chosen that have
// units of their own.
//
// Two files choose by simd_choice() themselves: softfloat/quantization/wide_loops.cpp and engine/products/on_grid.cpp.
// Their plain loops are vectorised by the compilers, and target attributes compile one text three times beside its only
// caller. A table and three units for each would be longer. The functions' quick phases
// (softfloat/functions/quick_lanes.hpp) have vectors of their own, because they are constant expressions and device
// code too; the kernels that run them are chosen here.
//
// A kind of kernel is a table of function pointers that declares its own instances,
//
//     struct PanelKernels {
//         void (*multiply)(const Task&);
//         static const PanelKernels portable, avx2, avx512, neon;
//     };
//
// and each unit, compiled for its instructions (ulplab_simd_source), defines one of them from a template over a kit:
//
//     constinit const PanelKernels PanelKernels::avx2 = make_kernels<vec::Avx2>();
//
// Not for inclusion in those units: this is code for any processor.
#pragma once

#include "softfloat/vector/simd_choice.hpp"

namespace ulp {

/// The widest kernels of that kind that need no more than these instructions. Throws std::invalid_argument for
/// instructions that this processor lacks.
template <class Kernels>
const Kernels& kernels_of(Simd simd) {
    require_instructions(simd);
#if defined(__x86_64__)
    if constexpr (requires { Kernels::avx512_vnni; }) {
        if (simd >= Simd::avx512_vnni) return Kernels::avx512_vnni;
    }
    if (simd >= Simd::avx512) return Kernels::avx512;
    if (simd == Simd::avx2) return Kernels::avx2;
#elif defined(__aarch64__)
    if (simd == Simd::neon) return Kernels::neon;
#endif
    return Kernels::portable;
}

}  // namespace ulp
