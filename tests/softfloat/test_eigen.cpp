// Eigen matrices of the types round every step: their products, sums and decompositions equal plain loops, bit for bit.
#include <Eigen/Dense>

#include "softfloat/eigen.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/type_names.hpp"

namespace ulp::test {
namespace {

template <class Type>
using Matrix = Eigen::Matrix<Type, Eigen::Dynamic, Eigen::Dynamic>;

template <class Type>
Matrix<Type> random_matrix(int rows, int cols, std::uint64_t seed) {
    RandomWords random(seed);
    Matrix<Type> matrix(rows, cols);
    for (int j = 0; j < cols; ++j) {
        for (int i = 0; i < rows; ++i) matrix(i, j) = Type((static_cast<double>(random.below(2001)) - 1000) / 256);
    }
    return matrix;
}

template <class Type>
bool same(const Matrix<Type>& a, const Matrix<Type>& b) {
    if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
    for (int j = 0; j < a.cols(); ++j) {
        for (int i = 0; i < a.rows(); ++i) {
            if (a(i, j).bits() != b(i, j).bits()) return false;
        }
    }
    return true;
}

template <class Type>
Matrix<Type> product(const Matrix<Type>& a, const Matrix<Type>& b) {
    Matrix<Type> c(a.rows(), b.cols());
    for (int i = 0; i < a.rows(); ++i) {
        for (int j = 0; j < b.cols(); ++j) {
            Type sum = a(i, 0) * b(0, j);
            for (int k = 1; k < a.cols(); ++k) sum = sum + a(i, k) * b(k, j);
            c(i, j) = sum;
        }
    }
    return c;
}

/// LU with partial pivoting, in place, right-looking.
template <class Type>
Matrix<Type> lu(Matrix<Type> a) {
    const auto n = static_cast<int>(a.rows());
    for (int k = 0; k < n; ++k) {
        int pivot = k;
        for (int i = k + 1; i < n; ++i) {
            if (abs(a(i, k)) > abs(a(pivot, k))) pivot = i;
        }
        for (int j = 0; j < n; ++j) std::swap(a(k, j), a(pivot, j));
        for (int i = k + 1; i < n; ++i) a(i, k) = a(i, k) / a(k, k);
        for (int j = k + 1; j < n; ++j) {
            for (int i = k + 1; i < n; ++i) a(i, j) = a(i, j) - a(i, k) * a(k, j);
        }
    }
    return a;
}

}  // namespace

TEST_CASE_TEMPLATE("a product is the plain loop's, ascending k, each step rounded", Type, fp16, bf16, fp32, e4m3) {
    for (const int k : {1, 2, 3, 8, 31, 100}) {
        const auto a = random_matrix<Type>(9, k, 1);
        const auto b = random_matrix<Type>(k, 7, 2);
        const Matrix<Type> expected = product(a, b);
        INFO("k = " << k);
        CHECK(same<Type>(a.lazyProduct(b), expected));
    }
}

// Eigen's products and decompositions take long to compile: one type.
TEST_CASE("Eigen's choice of product, small, has the plain loop's bits") {
    const auto a = random_matrix<fp16>(5, 8, 1);
    const auto b = random_matrix<fp16>(8, 4, 2);
    CHECK(same<fp16>(a * b, product(a, b)));
}

TEST_CASE_TEMPLATE("sums, differences and scalings round each element once", Type, fp16, bf16, e4m3) {
    const auto a = random_matrix<Type>(6, 5, 3);
    const auto b = random_matrix<Type>(6, 5, 4);
    Matrix<Type> sum(6, 5), difference(6, 5), scaled(6, 5);
    Type total{0};
    for (int j = 0; j < 5; ++j) {
        for (int i = 0; i < 6; ++i) {
            sum(i, j) = a(i, j) + b(i, j);
            difference(i, j) = a(i, j) - b(i, j);
            scaled(i, j) = a(i, j) * Type{3};
            total = i + j == 0 ? a(0, 0) : total + a(i, j);
        }
    }
    CHECK(same<Type>(a + b, sum));
    CHECK(same<Type>(a - b, difference));
    CHECK(same<Type>(a * Type{3}, scaled));
    CHECK(a.sum().bits() == total.bits());
}

TEST_CASE("an LU decomposition is the plain loop's") {
    for (const int n : {2, 5, 12}) {
        const auto a = random_matrix<fp16>(n, n, 5);
        INFO("n = " << n);
        CHECK(same<fp16>(a.partialPivLu().matrixLU(), lu(a)));
    }
}

TEST_CASE("decompositions solve in the format's precision") {
    const auto a = random_matrix<fp16>(6, 6, 6);
    const Matrix<fp16> spd = a * a.transpose() + Matrix<fp16>::Identity(6, 6) * fp16{16};
    const Eigen::Matrix<double, 6, 6> exact = spd.cast<double>();
    const Eigen::LLT<Matrix<fp16>> llt(spd);
    REQUIRE(llt.info() == Eigen::Success);
    const Eigen::Matrix<double, 6, 6> l = Matrix<fp16>(llt.matrixL()).cast<double>();
    // Higham, Accuracy and Stability, theorem 10.3: |A - L L'| <= (n + 1) u / (1 - (n + 1) u) * |L| |L'|, u = 2^-11.
    const double gamma = 7 * 0x1p-11 / (1 - 7 * 0x1p-11);
    const Eigen::Matrix<double, 6, 6> bound = gamma * l.cwiseAbs() * l.cwiseAbs().transpose();
    CHECK(((exact - l * l.transpose()).cwiseAbs().array() <= bound.array()).all());
    const Eigen::HouseholderQR<Matrix<fp16>> qr(random_matrix<fp16>(6, 6, 7));
    const Eigen::Matrix<double, 6, 6> q = Matrix<fp16>(qr.householderQ()).cast<double>();
    // Orthogonal up to a modest multiple of n^1.5 u, u = 2^-11 (Higham, theorem 19.4): the order of the sums is
    // Eigen's.
    CHECK((q * q.transpose() - Eigen::Matrix<double, 6, 6>::Identity()).norm() < 6 * 14.7 * 0x1p-11);
}

}  // namespace ulp::test
