// FP4 operands as the kernels take them: integers, in units of the format's smallest number.
//
// An instruction has 4 terms, whose scales differ within each row of A and column of B. Where they differ little, a
// scale is a small integer, significand * 2^(exponent - the line's smallest exponent), and the instruction is folded:
// one exact sum, in one unit for each element of D. The operands are multiplied by the scales, or, by_terms, the terms'
// sums are.
#pragma once

#include <cstdint>
#include <vector>

#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/gemm_kernels/block_scales.hpp"
#include "softfloat/matrix_units/gemm_kernels/pack.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

/// The smallest product is 2^-point.
int fp4_point(const BlockScaledModel& model);

/// Which instructions of a product are folded.
struct Fp4Folding {
    Fp4Operands operands = Fp4Operands::words;  // those of bytes need all instructions folded
    int orders = 0;                             // by which the scales of a line may differ
    std::vector<char> folded{};                 // [instruction]

    [[nodiscard]] std::int64_t k_of_word() const { return operands == Fp4Operands::words ? 2 : 4; }
    [[nodiscard]] std::size_t kernel() const { return static_cast<std::size_t>(operands); }
};

/// For scales of each 16 elements (for_terms).
Fp4Folding fp4_folding(const IntegerKernels& kernels, const BlockScaledModel& model, const Scales& a, const Scales& b);

/// What the folding makes of the scales of A's rows or B's columns; zeros and ones where it does not fold.
struct Fp4Lines {
    AlignedVector<float> factors;       // [line][term]: an element times that is its operand
    AlignedVector<float> units;         // [line][instruction]: what an operand of 1 stands for
    AlignedVector<std::int32_t> least;  // [line][instruction]: Fp4Task::a_least without what is the same for all
    AlignedVector<std::int32_t> multipliers{};  // [line][term], by_terms: the scales as integers
};
Fp4Lines fp4_lines(const BlockScaledModel& model, const FloatFormat& format, const Fp4Folding& folding,
                   const Scales& scales);

/// The words from which on an addend is not cut, above those of both lines, and how many there are.
std::int32_t fp4_least_addend(const BlockScaledModel& model);
std::int32_t fp4_addend_range(const BlockScaledModel& model, const Fp4Folding& folding);

/// Packed rows of A: [row][step].
AlignedVector<std::uint32_t> fp4_rows(const IntegerKernels& kernels, const FloatFormat& format,
                                      const Fp4Folding& folding, const Fp4Lines& lines, const MatrixView& a,
                                      bool parallel);

/// Packed columns [first, first + cols) of B: words [step][column], and Fp4Task::b_sums. `factors`: of these columns,
/// [term][column].
void fp4_panel(const IntegerKernels& kernels, const FloatFormat& format, const Fp4Folding& folding,
               const AlignedVector<float>& factors, const MatrixView& b, std::int64_t width,
               AlignedVector<std::uint32_t>& words, AlignedVector<std::int32_t>& sums);

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
