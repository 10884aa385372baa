// One dot product of a matrix unit, step by step, as text; and how other orders and other units would have answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "softfloat/matrix_units/model.hpp"

namespace ulp {

/// Storage words of a row's formats: k products and c.
template <class Code>
struct BasicDotOperands {
    std::vector<Code> a, b;
    Code c = 0;
};
using DotOperands = BasicDotOperands<std::uint32_t>;
using Fp64Operands = BasicDotOperands<std::uint64_t>;

/// The picture of every group: products with their exponents, the largest exponent, each term aligned with the bits
/// that are cut, the sum, its normalisation and rounding. Units of ordinary operations: each partial sum.
std::string explain_dot(const TensorCoreModel& model, const DotOperands& operands);

/// One way to compute the same dot product.
struct DotCandidate {
    std::string name;      // "sm_80:mma.fp16.fp32", "plain loop, ascending k"
    std::uint32_t result;  // in the accumulator's format
    double error_in_ulps;  // of the exact result, in units in its last place; NaN where there is none
};

/// This unit and every other row with the same formats, this unit with k in other orders, split or promoted, and fp32
/// loops and trees. Same results stand together.
std::vector<DotCandidate> dot_candidates(const std::string& key, const TensorCoreModel& model,
                                         const DotOperands& operands);

/// The exact value, as a decimal of at most 17 digits (of its 64 leading bits).
std::string exact_dot_text(const TensorCoreModel& model, const DotOperands& operands);

}  // namespace ulp
