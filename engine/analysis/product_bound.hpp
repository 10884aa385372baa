// The bound of one element of a product, at the level that is asked for (softfloat/matrix_units/bounds.hpp).
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/bound_operands.hpp"
#include "softfloat/matrix_units/bounds.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_view.hpp"

namespace ulp {

/// A unit in an order of summation, and the level at which it is bounded.
struct BoundQuestion {
    TensorCoreModel model;
    ProductOrder order;
    bool ordered = false;  // by more than a chain of instructions
    std::string level;     // apriori, magnitudes or running
    std::optional<BlockScaledModel>
        scaled{};             // of units with scales of their own, whose part without them is the model
    bool has_scales = false;  // the operands have scales: the unit's own, or of promoted sums

    /// k that share a scale.
    [[nodiscard]] std::int64_t scale_block() const { return scaled ? scaled->scale_block : order.promote_every; }
};

/// A storage word of up to fp32, which float holds, or of fp64.
template <class Real>
using CodeOf = std::conditional_t<std::is_same_v<Real, double>, std::uint64_t, std::uint32_t>;
/// The type that holds the numbers of such words.
template <class Code>
using NumberOf = std::conditional_t<std::is_same_v<Code, std::uint64_t>, double, float>;

/// The operands of one element, as numbers and as storage words.
template <class Code>
struct BoundedDot {
    std::vector<double> a, b;
    std::vector<Code> a_codes, b_codes;
    double c = 0;
    Code c_code = 0;
    std::vector<float> a_scales{}, b_scales{};  // of each block along k; empty without scales
};

/// Those of element (i, j) of A * B + C.
template <class Real>
BoundedDot<CodeOf<Real>> bounded_dot(const TensorCoreModel& model, const BasicMatrixView<const Real>& a,
                                     const BasicMatrixView<const Real>& b,
                                     const std::optional<BasicMatrixView<const Real>>& c, std::int64_t i,
                                     std::int64_t j);

/// The bound of one element.
struct ElementBound {
    double absolute = 0;       // |D - s|
    ErrorInterval interval{};  // at level running
    double magnitude = 0;      // S
};

/// For any operands of these magnitudes, without an epilogue's c; infinite where the sum might leave the range.
ElementBound whatever_the_operands(const BoundQuestion& q, const AprioriBound& bound, const Magnitude& m, double c);

/// At the question's level.
ElementBound bound_of(const BoundQuestion& q, const AprioriBound& bound, const BoundedDot<std::uint32_t>& dot);
ElementBound bound_of(const BoundQuestion& q, const AprioriBound& bound, const BoundedDot<std::uint64_t>& dot);

/// Of a dot product with scales. Promoted sums: each partial sum has the unit's bound for its own operands (running,
/// where the words are given), and the product of the scales, its product with the sum and the addition are rounded in
/// fp32. Units with scales of their own: what each instruction cuts of its scaled terms and of c, and its rounding, for
/// any signs.
ElementBound scaled_bound(const BoundQuestion& q, const BoundedDot<std::uint32_t>& dot);
/// |D - s| for a D; the largest fp64 number below where fp64 does not hold it.
double distance_from_exact(const BoundQuestion& q, const BoundedDot<std::uint32_t>& dot, std::uint32_t d);
double distance_from_exact(const BoundQuestion& q, const BoundedDot<std::uint64_t>& dot, std::uint64_t d);

/// The storage word of a number of the format.
inline std::uint32_t code_of(const FloatFormat& format, float x) { return operand_code(format, x); }
inline std::uint64_t code_of(const FloatFormat&, double x) { return std::bit_cast<std::uint64_t>(x); }

/// A factor of S that a truncating unit loses on average from numbers of one sign; 0 for units that round to nearest,
/// nothing for those whose steps vary from their summation's.
std::optional<double> usual_loss(const TensorCoreModel& model, const AprioriBound& bound);

/// The rtol of a tolerance: what the last rounding of the model may change.
double relative_tolerance(const TensorCoreModel& model);

}  // namespace ulp
