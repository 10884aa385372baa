// Whole products D = A * B + C in the arithmetic of a matrix instruction, on arrays that carry every format as fp32.
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/model.hpp"

namespace ulp {

/// A matrix somewhere: element (i, j) is data[i * row_stride + j * col_stride]. Swapped strides are the transpose.
template <class Real>
struct Strided {
    Real* data = nullptr;
    std::int64_t row_stride = 0;
    std::int64_t col_stride = 1;

    Real& operator()(std::int64_t i, std::int64_t j) const { return data[i * row_stride + j * col_stride]; }
    [[nodiscard]] Strided transposed() const { return {data, col_stride, row_stride}; }
};

/// A is m x k, B is k x n, C and D are m x n. c.data may be null: C is +0 then; D may be C itself.
/// The entries of A and B must be values of the model's input formats, those of C of its accumulator: what is not on
/// the grid is rounded to nearest even first (tf32 inputs: truncated, as the instruction does).
template <class Real>
struct ProductProblem {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    Strided<const Real> a{};
    Strided<const Real> b{};
    Strided<const Real> c{};
    Strided<Real> d{};
};
using GemmProblem = ProductProblem<float>;
using Fp64Problem = ProductProblem<double>;

/// Each element of D is chain_dot of a row and a column: instructions in ascending k, the last one filled with zeros.
/// Any model. Uses OpenMP's threads; the bits do not depend on their number. Throws std::invalid_argument for negative
/// sizes or missing arrays.
void soft_gemm(const TensorCoreModel& model, const GemmProblem& problem);

/// The same by chain_dot alone: the definition that fast paths are tested against.
void soft_gemm_plain(const TensorCoreModel& model, const GemmProblem& problem);

/// The same for models with fp64 operands and accumulators. Throws std::invalid_argument for other models.
void fp64_gemm(const TensorCoreModel& model, const Fp64Problem& problem);
void fp64_gemm_plain(const TensorCoreModel& model, const Fp64Problem& problem);

/// fp32 is a container of a format if it holds every value of the format exactly. From a value in the container to the
/// storage word, rounded to nearest even (tf32: truncated), and from the storage word to the container. There and back
/// every code is unchanged, NaNs with their sign and payload included.
std::uint32_t operand_code(const FloatFormat& format, float value);
float in_fp32_container(const FloatFormat& format, std::uint32_t code);

}  // namespace ulp
