// Bounds that look at the operands of one dot product c + a[0] b[0] + ... + a[k-1] b[k-1].
//
// Units that align and add groups of products as rows of the table do are followed term by term; of all others each
// instruction has its a-priori bound, for its own operands and its own c.
#pragma once

#include <cstdint>
#include <span>

#include "softfloat/matrix_units/bounds.hpp"
#include "softfloat/matrix_units/model.hpp"

namespace ulp {

/// S = |c| + sum of |a[i] b[i]|, and S lifted: operands that align as larger ones than they are count as these. A
/// subnormal counts at its format's emin, and a zero where the row's policies let it set the largest exponent; so does
/// a partial sum, where there are two groups or more. Rounded up. For any model; the values are those of the operands.
struct Magnitude {
    double plain = 0;
    double lifted = 0;
    double unseen = 0;       // the part of `plain` that the unit leaves out: products of subnormal operands that it
                             // flushes; in ascending k, what stands before the place where it drops c
    double another_sum = 0;  // what each further sum that starts at zero (a piece of k) adds to `lifted`
    double largest_product = 0;
};
Magnitude magnitude_of(const TensorCoreModel& model, std::span<const double> a, std::span<const double> b, double c);

/// Whether an instruction with these operands leaves c out (AddendEntry).
bool drops_addend(const TensorCoreModel& model, std::span<const double> a, std::span<const double> b);

/// gamma * S + eta + unseen for operands of these magnitudes; infinite where a sum or a rounded product of them might
/// leave the range.
double bound_at(const TensorCoreModel& model, const AprioriBound& bound, const Magnitude& m);

/// -below <= D - s <= above, and what D - s is on average if the bits that are lost are as good as random.
struct ErrorInterval {
    double below = 0;
    double above = 0;
    double expected = 0;
    bool finite = true;  // else a sum left the range or an operand was not finite, and nothing is bounded

    [[nodiscard]] double bound() const { return below > above ? below : above; }
};

/// Whether the unit has the bounds below: all but those with fp64 operands.
bool has_operand_bounds(const TensorCoreModel& model);

/// By the unit's own partial sums in ascending k; operands are storage words. Throws std::invalid_argument for models
/// without operand bounds.
ErrorInterval running_interval(const TensorCoreModel& model, std::span<const std::uint32_t> a,
                               std::span<const std::uint32_t> b, std::uint32_t c);

/// By the magnitudes of the operands in their order, signs left aside: between the a-priori and the running bound. A
/// sum that may leave the range gives infinity.
double magnitudes_bound(const TensorCoreModel& model, std::span<const std::uint32_t> a,
                        std::span<const std::uint32_t> b, std::uint32_t c);

/// D - s exactly where fp64 holds it, else its nearest fp64 number; D and c are numbers of the accumulator's format. Up
/// to 2^20 - 1 products of operands of up to fp32.
double exact_error(const TensorCoreModel& model, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                   std::uint32_t c, std::uint32_t d);
/// The same for fp64 units.
double exact_error(const TensorCoreModel& model, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                   std::uint64_t c, std::uint64_t d);

}  // namespace ulp
