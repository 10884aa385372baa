// Eigen expressions of Float<F>: the array operations where they apply, and the same bits everywhere.
#include <doctest/doctest.h>

#include "operands.hpp"
#include "softfloat/array/eigen.hpp"

namespace {

using ulp::bf16;
using ulp::fp16;
using Matrix = Eigen::Matrix<fp16, Eigen::Dynamic, Eigen::Dynamic>;
using RowMajor = Eigen::Matrix<fp16, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix random_matrix(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed) {
    ulp::test::Words words(seed);
    return Matrix::NullaryExpr(rows, cols, [&] { return fp16::from_bits(static_cast<std::uint16_t>(words.next())); });
}

/// Compiles only where the array operations are taken: Eigen's own assignment has no such member.
using Sum = Eigen::CwiseBinaryOp<Eigen::internal::scalar_sum_op<fp16, fp16>, const Matrix, const Matrix>;
using Cast = Eigen::CwiseUnaryOp<Eigen::internal::scalar_cast_op<fp16, float>, const Matrix>;
template <class To, class From>
using Taken =
    typename Eigen::internal::Assignment<To, From, Eigen::internal::assign_op<typename To::Scalar, typename To::Scalar>,
                                         Eigen::internal::Dense2Dense>::Source;
static_assert(std::is_same_v<Taken<Matrix, Sum>, Sum> && std::is_same_v<Taken<Eigen::MatrixXf, Cast>, Cast>);

/// Elements of `made` whose bits are not those of expected(i, j).
template <class Made, class Expected>
int mismatches(const Made& made, const Expected& expected) {
    int count = 0;
    for (Eigen::Index i = 0; i < made.rows(); ++i) {
        for (Eigen::Index j = 0; j < made.cols(); ++j) count += made(i, j).bits() != expected(i, j).bits() ? 1 : 0;
    }
    return count;
}

}  // namespace

TEST_CASE("element-wise Eigen operations on halves give the scalar operators' bits") {
    const Matrix a = random_matrix(37, 23, 1);
    const Matrix b = random_matrix(37, 23, 2);
    Matrix c;
    c = a + b;
    CHECK(mismatches(c, [&](auto i, auto j) { return a(i, j) + b(i, j); }) == 0);
    c = a - b;
    CHECK(mismatches(c, [&](auto i, auto j) { return a(i, j) - b(i, j); }) == 0);
    c = a.cwiseProduct(b);
    CHECK(mismatches(c, [&](auto i, auto j) { return a(i, j) * b(i, j); }) == 0);
    CHECK(mismatches(c, [&](auto i, auto j) { return a(i, j) + b(i, j); }) != 0);  // the comparison can fail
    c = a.array() / b.array();
    CHECK(mismatches(c, [&](auto i, auto j) { return a(i, j) / b(i, j); }) == 0);
    c = a.cwiseSqrt();
    CHECK(mismatches(c, [&](auto i, auto j) { return sqrt(a(i, j)); }) == 0);
    c = a.array().exp();
    CHECK(mismatches(c, [&](auto i, auto j) { return exp(a(i, j)); }) == 0);
    c = a.array().tanh();
    CHECK(mismatches(c, [&](auto i, auto j) { return tanh(a(i, j)); }) == 0);
}

TEST_CASE("casts between Eigen matrices of float and of formats round once") {
    const Matrix a = random_matrix(31, 17, 3);
    const Eigen::MatrixXf wide = a.cast<float>();
    const Eigen::Matrix<bf16, Eigen::Dynamic, Eigen::Dynamic> narrow = wide.cast<bf16>();
    const Eigen::Matrix<bf16, Eigen::Dynamic, Eigen::Dynamic> direct = a.cast<bf16>();
    CHECK(mismatches(narrow, [&](auto i, auto j) { return bf16(static_cast<float>(a(i, j))); }) == 0);
    CHECK(mismatches(direct, [&](auto i, auto j) { return narrow(i, j); }) == 0);
}

TEST_CASE("blocks with gaps, other storage orders and nested expressions are left to Eigen, with the same bits") {
    const Matrix a = random_matrix(20, 20, 4);
    const Matrix b = random_matrix(20, 20, 5);
    Matrix c = Matrix::Zero(20, 20);
    c.block(3, 2, 7, 5) = a.block(1, 1, 7, 5) + b.block(4, 4, 7, 5);
    CHECK(mismatches(c.block(3, 2, 7, 5), [&](auto i, auto j) { return a(i + 1, j + 1) + b(i + 4, j + 4); }) == 0);
    CHECK(c(2, 2).bits() == 0);
    c.middleCols(2, 5) = a.middleCols(3, 5) + b.middleCols(1, 5);  // one piece of memory
    CHECK(mismatches(c.middleCols(2, 5), [&](auto i, auto j) { return a(i, j + 3) + b(i, j + 1); }) == 0);
    const RowMajor r = a + b;
    CHECK(mismatches(r, [&](auto i, auto j) { return a(i, j) + b(i, j); }) == 0);
    c = a + b.cwiseProduct(a);
    CHECK(mismatches(c, [&](auto i, auto j) { return a(i, j) + b(i, j) * a(i, j); }) == 0);
    static_assert(ulp::array::by_array<Matrix, Matrix, Matrix> && !ulp::array::by_array<RowMajor, Matrix, Matrix>);
}
