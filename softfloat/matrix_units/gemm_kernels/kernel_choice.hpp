// Which kernel computes a model's products, or why none does.
#pragma once

#include "softfloat/matrix_units/gemm_kernels/panel.hpp"
#include "softfloat/matrix_units/model.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

/// The kinds of arithmetic: a header kernels_*.hpp each.
enum class Family { none, fused, late, chain };

struct KernelChoice {
    Family family = Family::none;
    const char* reason = "";                  // what decided, a sentence
    ExponentCodes codes{};                    // fused, late: of both operands
    ResultKind result{};                      // fused
    ChainKind chain = ChainKind::pairwise_2;  // chain
    bool even_odd = false;                    // late
    bool flush = false;
    bool positive_zeros = false;  // operands' zeros are +0

    /// The kernel for that many vectors in use.
    [[nodiscard]] PanelKernel kernel(const Kernels& kernels, int vectors) const;
    /// How an operand's format lies in fp32 for this kernel.
    [[nodiscard]] Grid grid_of(const FloatFormat& format) const;
};

/// The model with formats of fp32's exponents instead of tables of values: where fp32 carries the operands, the same
/// unit, since a table's digits and exponents are counted like those of such a format.
TensorCoreModel with_fields(const TensorCoreModel& model);

KernelChoice choose_kernel(const TensorCoreModel& model);

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
