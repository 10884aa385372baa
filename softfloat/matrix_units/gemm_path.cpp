#include "softfloat/matrix_units/gemm_path.hpp"

#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/kernel_choice.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {

namespace {

GemmPath definition(std::string_view reason) { return {GemmKernel::definition, Simd::portable, reason}; }

/// The widest instructions that kernels are compiled for, those of integers or the others.
Simd compiled_for(Simd simd, bool integers = false) {
    if (simd == Simd::avx512_fp16) simd = Simd::avx512_vnni;
    return simd == Simd::avx512_vnni && !integers ? Simd::avx512 : simd;
}

bool is_empty(std::int64_t m, std::int64_t n, std::int64_t k) { return m == 0 || n == 0 || k == 0; }
constexpr std::string_view nothing_to_add = "There are no products to add.";

}  // namespace

std::string_view name_of(GemmKernel kernel) {
    switch (kernel) {
        case GemmKernel::definition: return "definition";
        case GemmKernel::fused_groups: return "fused_groups";
        case GemmKernel::late_addend: return "late_addend";
        case GemmKernel::ieee_chain: return "ieee_chain";
        case GemmKernel::integers: return "integers";
        case GemmKernel::scaled_groups: return "scaled_groups";
        case GemmKernel::fp4_sums: return "fp4_sums";
    }
    return "";
}

GemmPath choose_path(const TensorCoreModel& model, std::int64_t m, std::int64_t n, std::int64_t k, Simd simd) {
    if (is_empty(m, n, k)) return definition(nothing_to_add);
    if (gemm_kernels::has_fp64_kernel(model)) {
        return {GemmKernel::ieee_chain, compiled_for(simd),
                "The unit's operation is IEEE's fused multiply-add of fp64."};
    }
    const gemm_kernels::KernelChoice choice = gemm_kernels::choose_kernel(model);
    if (model.flush_subnormals && !kernels_of<gemm_kernels::Kernels>(simd).has_flush) {
        return definition("These kernels cannot flush subnormal numbers, and the unit does.");
    }
    switch (choice.family) {
        case gemm_kernels::Family::fused: return {GemmKernel::fused_groups, compiled_for(simd), choice.reason};
        case gemm_kernels::Family::late: return {GemmKernel::late_addend, compiled_for(simd), choice.reason};
        case gemm_kernels::Family::chain: return {GemmKernel::ieee_chain, compiled_for(simd), choice.reason};
        case gemm_kernels::Family::none: break;
    }
    return definition(choice.reason);
}

GemmPath choose_path(const IntegerModel& model, std::int64_t m, std::int64_t n, std::int64_t k, Simd simd) {
    if (is_empty(m, n, k)) return definition(nothing_to_add);
    if (!gemm_kernels::has_integer_kernel(model)) {
        return definition("No kernel saturates counts of differing bits, or takes instructions of odd k.");
    }
    return {GemmKernel::integers, compiled_for(simd, true), "The operands fit 16-bit words."};
}

GemmPath choose_path(const BlockScaledModel& model, std::int64_t m, std::int64_t n, std::int64_t k, Simd simd) {
    if (is_empty(m, n, k)) return definition(nothing_to_add);
    switch (gemm_kernels::choose_scaled_kernel(model)) {
        case gemm_kernels::ScaledKernel::fused:
            return {GemmKernel::scaled_groups, compiled_for(simd), "E8M0 scales only move a fused group's exponents."};
        case gemm_kernels::ScaledKernel::fp4:
            return {GemmKernel::fp4_sums, compiled_for(simd, true), "Sums of 16 FP4 products are small integers."};
        case gemm_kernels::ScaledKernel::none: break;
    }
    return definition("No kernel holds this model's elements, scales or policies.");
}

}  // namespace ulp
