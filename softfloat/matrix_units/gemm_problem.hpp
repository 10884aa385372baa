// What every matrix product of this folder is given.
#pragma once

#include <cstdint>

#include "softfloat/matrix_view.hpp"

namespace ulp {

/// D = A * B + C. A is m x k, B is k x n, C and D are m x n: the sizes are those of the views. c.data may be null: C is
/// +0 then. D may be C itself.
template <class Number>
struct ProductProblem {
    BasicMatrixView<const Number> a{};
    BasicMatrixView<const Number> b{};
    BasicMatrixView<const Number> c{};
    BasicMatrixView<Number> d{};

    [[nodiscard]] constexpr std::int64_t m() const { return d.rows; }
    [[nodiscard]] constexpr std::int64_t n() const { return d.cols; }
    [[nodiscard]] constexpr std::int64_t k() const { return a.cols; }
    [[nodiscard]] constexpr bool has_c() const { return c.data != nullptr; }
    /// The product that rows x cols elements of D from (i, j) on are.
    [[nodiscard]] constexpr ProductProblem part(std::int64_t i, std::int64_t j, std::int64_t rows,
                                                std::int64_t cols) const {
        return {a.part(i, 0, rows, k()), b.part(0, j, k(), cols), has_c() ? c.part(i, j, rows, cols) : c,
                d.part(i, j, rows, cols)};
    }
    /// D^T = B^T * A^T + C^T.
    [[nodiscard]] constexpr ProductProblem transposed() const {
        return {b.transposed(), a.transposed(), c.transposed(), d.transposed()};
    }
};
using GemmProblem = ProductProblem<float>;
using Fp64Problem = ProductProblem<double>;

/// Throws std::invalid_argument, naming the shapes, where they do not make a product, are negative, or where the array
/// of an operand or of the result is missing.
template <class Number>
void require_shapes(const ProductProblem<Number>& problem);
extern template void require_shapes(const ProductProblem<float>& problem);
extern template void require_shapes(const ProductProblem<double>& problem);
extern template void require_shapes(const ProductProblem<std::int32_t>& problem);

}  // namespace ulp
