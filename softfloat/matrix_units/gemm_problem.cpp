#include "softfloat/matrix_units/gemm_problem.hpp"

#include <stdexcept>
#include <string>

namespace ulp {
namespace {

template <class Number>
std::string shape(const BasicMatrixView<Number>& matrix) {
    return std::to_string(matrix.rows) + " x " + std::to_string(matrix.cols);
}

template <class Number>
bool is_negative(const BasicMatrixView<Number>& matrix) {
    return matrix.rows < 0 || matrix.cols < 0;
}

template <class Number>
bool is_missing(const BasicMatrixView<Number>& matrix) {
    return matrix.data == nullptr && !matrix.empty();
}

}  // namespace

template <class Number>
void require_shapes(const ProductProblem<Number>& p) {
    if (is_negative(p.a) || is_negative(p.b) || is_negative(p.d)) {
        throw std::invalid_argument("a matrix product needs sizes of 0 or more");
    }
    if (p.a.cols != p.b.rows || p.d.rows != p.a.rows || p.d.cols != p.b.cols) {
        throw std::invalid_argument("a product of " + shape(p.a) + " by " + shape(p.b) + " does not give " +
                                    shape(p.d));
    }
    if (p.has_c() && (p.c.rows != p.d.rows || p.c.cols != p.d.cols)) {
        throw std::invalid_argument("C is " + shape(p.c) + " where the product is " + shape(p.d));
    }
    if (p.d.empty()) return;
    if (is_missing(p.d)) throw std::invalid_argument("a matrix product needs an array for its result");
    if (is_missing(p.a) || is_missing(p.b)) {
        throw std::invalid_argument("a matrix product needs the arrays of both operands");
    }
}

template void require_shapes(const ProductProblem<float>&);
template void require_shapes(const ProductProblem<double>&);
template void require_shapes(const ProductProblem<std::int32_t>&);

}  // namespace ulp
