// One dot product of a matrix unit, step by step, as text.
#pragma once

#include <cstdint>
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

}  // namespace ulp
