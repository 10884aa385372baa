// Products by the backends: each backend against an independent definition, views, shapes, and names.
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/kernels/ieee_product.hpp"
#include "engine/products/matmul.hpp"
#include "engine/tensor/random.hpp"
#include "softfloat/float.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace {

using namespace ulp;

Matrix random_matrix(Index rows, Index cols, const FloatFormat& format, std::uint64_t seed) {
    Matrix matrix(rows, cols);
    Random random(seed);
    for (Index i = 0; i < matrix.size(); ++i) {
        const int scale = static_cast<int>(random.below(12)) - 8;
        matrix.data()[i] = round_to(format, static_cast<float>(std::ldexp(random.uniform(-1, 1), scale)));
    }
    return matrix;
}

Matrix ones(Index rows, Index cols) { return Matrix::Ones(rows, cols); }

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
int differing(const Matrix& x, const Matrix& y) {
    REQUIRE(x.rows() == y.rows());
    REQUIRE(x.cols() == y.cols());
    int count = 0;
    for (Index i = 0; i < x.size(); ++i) count += bits(x.data()[i]) == bits(y.data()[i]) ? 0 : 1;
    return count;
}

/// soft:ieee by the softfloat types: d = c, then d = d + a*b in the accumulator's own arithmetic.
template <class Accumulator>
Matrix by_types(const Matrix& a, const Matrix& b, const Matrix& c) {
    Matrix d(a.rows(), b.cols());
    for (Index i = 0; i < d.rows(); ++i) {
        for (Index j = 0; j < d.cols(); ++j) {
            Accumulator sum{c(i, j)};
            for (Index k = 0; k < a.cols(); ++k) {
                // The exact product, rounded once: fma with a zero of the product's sign.
                const fp64 exact{static_cast<double>(a(i, k)) * static_cast<double>(b(k, j))};
                sum = sum + Accumulator{exact};
            }
            d(i, j) = static_cast<float>(sum);
        }
    }
    return d;
}

TEST_CASE("soft:ieee rounds each product and each sum as the softfloat types do") {
    const auto backend = make_backend("soft:ieee");
    const Matrix a16 = random_matrix(7, 33, formats::fp16, 1);
    const Matrix b16 = random_matrix(33, 5, formats::fp16, 2);
    const Matrix c16 = random_matrix(7, 5, formats::fp16, 3);
    CHECK(differing(matmul(*backend, {formats::fp16, formats::fp16}, a16, b16, c16), by_types<fp16>(a16, b16, c16)) ==
          0);
    CHECK(differing(matmul(*backend, {formats::fp16, formats::fp32}, a16, b16, c16), by_types<fp32>(a16, b16, c16)) ==
          0);
    const Matrix a8 = random_matrix(7, 33, formats::bf16, 4);
    const Matrix b8 = random_matrix(33, 5, formats::bf16, 5);
    const Matrix c8 = random_matrix(7, 5, formats::bf16, 6);
    CHECK(differing(matmul(*backend, {formats::bf16, formats::bf16}, a8, b8, c8), by_types<bf16>(a8, b8, c8)) == 0);
    const Matrix a32 = random_matrix(7, 33, formats::fp32, 7);
    const Matrix b32 = random_matrix(33, 5, formats::fp32, 8);
    const Matrix c32 = random_matrix(7, 5, formats::fp32, 9);
    CHECK(differing(matmul(*backend, {formats::fp32, formats::fp32}, a32, b32, c32), by_types<fp32>(a32, b32, c32)) ==
          0);
}

TEST_CASE("soft:ieee sums in ascending k from +0") {
    const auto backend = make_backend("soft:ieee");
    const Matrix row = Matrix::Ones(1, 4096);
    const Matrix sixteens = Matrix::Constant(4096, 1, 16.0F);
    // fp16 sums of sixteens stop at 32768, where one more is half a unit in the last place.
    CHECK(matmul(*backend, {formats::fp16, formats::fp16}, row, sixteens)(0, 0) == 32768.0F);
    CHECK(matmul(*backend, {formats::fp16, formats::fp32}, row, sixteens)(0, 0) == 65536.0F);
    Matrix a(1, 3);
    a << 0x1p24F, 1.0F, 1.0F;
    const Matrix b = ones(3, 1);
    CHECK(matmul(*backend, {formats::fp32, formats::fp32}, a, b)(0, 0) == 0x1p24F);
    a << 1.0F, 1.0F, 0x1p24F;
    CHECK(matmul(*backend, {formats::fp32, formats::fp32}, a, b)(0, 0) == 0x1p24F + 2);
    const Matrix minus_zero = Matrix::Constant(1, 1, -0.0F);
    CHECK(bits(matmul(*backend, {formats::fp32, formats::fp32}, minus_zero, ones(1, 1))(0, 0)) == 0);
}

/// D = A * B + C in fp32 by definition; `order` names the k that are summed one after the other.
Matrix summed_in_order(const Matrix& a, const Matrix& b, const Matrix& c, const std::vector<Index>& order) {
    Matrix d = c;
    for (Index i = 0; i < d.rows(); ++i) {
        for (Index j = 0; j < d.cols(); ++j) {
            for (const Index k : order) d(i, j) = d(i, j) + a(i, k) * b(k, j);
        }
    }
    return d;
}
std::vector<Index> ascending(Index count) {
    std::vector<Index> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), Index{0});
    return order;
}

TEST_CASE("soft:ieee's tiles give the plain loop's bits with every set of instructions, shape and stride") {
    int told_apart = 0;
    struct Size {
        Index m, n, k;
    };
    for (const Size& size :
         {Size{4, 16, 3}, {7, 10, 131}, {33, 97, 301}, {5, 1, 128}, {8, 33, 129}, {3, 64, 256}, {1, 130, 40}}) {
        const Index m = size.m, n = size.n, k = size.k;
        Matrix a = random_matrix(m, k, formats::fp32, 1);
        Matrix b = random_matrix(k, n, formats::fp32, 2);
        const Matrix c = random_matrix(m, n, formats::fp32, 3);
        a(0, k / 2) = 0x1p-140F;  // subnormal, and products that are
        b(k - 1, n / 2) = std::numeric_limits<float>::infinity();
        a(m - 1, 0) = -0x1.fp127F;
        const Matrix expected = summed_in_order(a, b, c, ascending(k));
        const Matrix from_zero = summed_in_order(a, b, Matrix::Zero(m, n), ascending(k));
        std::vector<Index> descending = ascending(k);
        std::reverse(descending.begin(), descending.end());
        told_apart += differing(summed_in_order(a, b, c, descending), expected);
        const Matrix a_t = a.transpose();
        const Matrix b_t = b.transpose();
        for (const Simd simd : supported_simd()) {
            const IeeeKernels& kernels = kernels_of<IeeeKernels>(simd);
            CAPTURE(name_of(simd));
            for (const bool a_across : {false, true}) {
                for (const bool b_across : {false, true}) {
                    const MatrixView x = a_across ? transposed(a_t) : MatrixView(a);
                    const MatrixView y = b_across ? transposed(b_t) : MatrixView(b);
                    Matrix wide = Matrix::Constant(m, n + 3, 7.0F);  // what lies beside D stays
                    wide.leftCols(n) = c;
                    const auto run = [&](bool onto_d) {
                        kernels.product({x, y, {}, {wide.data(), m, n, n + 3, 1}}, onto_d);
                    };
                    run(true);
                    CHECK(differing(wide.leftCols(n), expected) == 0);
                    run(false);
                    CHECK(differing(wide.leftCols(n), from_zero) == 0);
                    CHECK((wide.rightCols(3).array() == 7.0F).all());
                }
            }
        }
    }
    CHECK(told_apart > 1000);  // these numbers show the order of the sums
}

TEST_CASE("soft:ieee's rows in narrow formats have the softfloat types' bits with every set of instructions") {
    const auto compare = [](const FloatFormat& format, const auto& by_definition) {
        for (const Index n : {1, 7, 8, 16, 61}) {
            Matrix a = random_matrix(1, 200, format, 1);
            Matrix b = random_matrix(200, n, format, 2);
            const Matrix c = random_matrix(1, n, format, 3);
            a(0, 3) = std::ldexp(1.0F, format.smallest_exponent());  // products that are tiny,
            b(150, 0) = static_cast<float>(std::ldexp(1.0, format.emax()));
            a(0, 150) = 3.0F;  // and one that is infinite
            const Matrix expected = by_definition(a, b, c);
            CHECK(std::isinf(expected(0, 0)));
            for (const Simd simd : supported_simd()) {
                const IeeeKernels& kernels = kernels_of<IeeeKernels>(simd);
                CAPTURE(name_of(simd));
                Matrix sums = c;
                kernels.rounded_row({a, b, {}, {sums.data(), 1, n}}, Rounder<double>(format));
                CHECK(differing(sums, expected) == 0);
            }
        }
    };
    compare(formats::fp16, by_types<fp16>);
    compare(formats::bf16, by_types<bf16>);
    compare(formats::tf32, by_types<tf32>);
}

TEST_CASE("soft:ieee gives the same bits with any number of threads, whichever way D is divided and lies") {
    const auto backend = make_backend("soft:ieee");
    const ProductTypes fp32{formats::fp32, formats::fp32};
    struct Size {
        Index m, n, k;
    };
    for (const auto& [m, n, k] : {Size{6, 300, 70}, {300, 20, 70}, {130, 129, 60}, {3, 700, 60}}) {
        const Matrix a = random_matrix(m, k, formats::fp32, 1);
        const Matrix b = random_matrix(k, n, formats::fp32, 2);
        const Matrix c = random_matrix(m, n, formats::fp32, 3);
        const Matrix expected = summed_in_order(a, b, Matrix::Zero(m, n), ascending(k));
        const Matrix onto_c = summed_in_order(a, b, c, ascending(k));
        const int threads = omp_get_max_threads();
        for (const int count : {1, 2, 3, 8}) {
            omp_set_num_threads(count);
            CHECK(differing(matmul(*backend, fp32, a, b), expected) == 0);
            Matrix columns(n, m);
            backend->matmul({fp32, a, b, std::nullopt, MutableMatrixView(columns).transposed()});
            CHECK(differing(columns.transpose(), expected) == 0);
            columns = c.transpose();
            backend->matmul({fp32, a, b, transposed(columns), MutableMatrixView(columns).transposed()});
            CHECK(differing(columns.transpose(), onto_c) == 0);
        }
        omp_set_num_threads(threads);
    }
}

TEST_CASE("soft:<gpu> is the chain of instructions of the table's row") {
    const Matrix a = random_matrix(5, 40, formats::fp16, 1);
    const Matrix b = random_matrix(40, 6, formats::fp16, 2);
    const Matrix c = random_matrix(5, 6, formats::fp16, 3);
    for (const auto& [spec, accumulator] : {std::pair{"v100", formats::fp32},
                                            {"a100", formats::fp32},
                                            {"h100", formats::fp32},
                                            {"h100", formats::fp16}}) {
        const TensorCoreModel& model = *find_unit(spec, "fp16", name_of(accumulator)).as<TensorCoreModel>();
        Matrix expected(5, 6);
        for (Index i = 0; i < 5; ++i) {
            for (Index j = 0; j < 6; ++j) {
                std::vector<std::uint32_t> x;
                std::vector<std::uint32_t> y;
                for (Index k = 0; k < 40; ++k) {
                    x.push_back(operand_code(formats::fp16, a(i, k)));
                    y.push_back(operand_code(formats::fp16, b(k, j)));
                }
                const std::uint32_t d = chain_dot(model, x.data(), y.data(), operand_code(accumulator, c(i, j)), 40);
                expected(i, j) = in_fp32_container(accumulator, d);
            }
        }
        const auto backend = make_backend(std::string("soft:") + spec);
        CHECK(differing(matmul(*backend, {formats::fp16, accumulator}, a, b, c), expected) == 0);
    }
}

TEST_CASE("generations answer differently, and each differs from rounding every step") {
    const Matrix a = random_matrix(16, 64, formats::fp16, 1);
    const Matrix b = random_matrix(64, 16, formats::fp16, 2);
    const ProductTypes types{formats::fp16, formats::fp32};
    const Matrix v100 = matmul(*make_backend("soft:v100"), types, a, b);
    const Matrix h100 = matmul(*make_backend("soft:h100"), types, a, b);
    const Matrix ieee = matmul(*make_backend("soft:ieee"), types, a, b);
    CHECK(differing(v100, h100) > 0);
    CHECK(differing(v100, ieee) > 0);
    CHECK(differing(h100, ieee) > 0);
}

TEST_CASE("every backend takes transposed operands, C, and D instead of C") {
    const Matrix a = random_matrix(9, 20, formats::fp16, 1);
    const Matrix b = random_matrix(20, 11, formats::fp16, 2);
    const Matrix c = random_matrix(9, 11, formats::fp16, 3);
    const Matrix a_t = a.transpose();
    const Matrix b_t = b.transpose();
    const ProductTypes types{formats::fp16, formats::fp32};
    for (const char* spec : {"soft:ieee", "eigen", "soft:h100", "soft:a100"}) {
        CAPTURE(spec);
        const auto backend = make_backend(spec);
        const Matrix plain = matmul(*backend, types, a, b, c);
        const float largest = (a.cwiseAbs() * b.cwiseAbs() + c.cwiseAbs()).maxCoeff();
        CHECK((plain - (a * b + c)).cwiseAbs().maxCoeff() <= 40 * 0x1p-22F * largest);  // 21 truncated terms
        const bool exact = !backend->promised_model(types).empty();  // Eigen's order may depend on the strides
        Matrix in_place = c;
        backend->matmul({types, a, b, in_place, in_place});
        CHECK(differing(in_place, plain) == 0);
        if (!exact) continue;
        CHECK(differing(matmul(*backend, types, transposed(a_t), b, c), plain) == 0);
        CHECK(differing(matmul(*backend, types, a, transposed(b_t), c), plain) == 0);
        CHECK(differing(matmul(*backend, types, transposed(a_t), transposed(b_t), c), plain) == 0);
    }
}

TEST_CASE("eigen gives the same bits with any number of threads, whichever way D is divided") {
    const auto backend = make_backend("eigen");
    const ProductTypes fp32{formats::fp32, formats::fp32};
    struct Size {
        Index m, n, k;
    };
    for (const auto& [m, n, k] : {Size{8, 500, 1100}, {300, 20, 700}, {200, 200, 400}, {1, 5000, 60}, {5000, 1, 60}}) {
        const Matrix a = random_matrix(m, k, formats::fp32, 1);
        const Matrix b = random_matrix(k, n, formats::fp32, 2);
        const int threads = omp_get_max_threads();
        omp_set_num_threads(1);
        const Matrix one = matmul(*backend, fp32, a, b);
        for (const int count : {2, 3, 8}) {
            omp_set_num_threads(count);
            CHECK(differing(matmul(*backend, fp32, a, b), one) == 0);
            Matrix columns(n, m);  // D where its columns lie beside each other
            backend->matmul({fp32, a, b, std::nullopt, MutableMatrixView(columns).transposed()});
            CHECK((columns.transpose() - one).cwiseAbs().maxCoeff() <= 1e-4F * one.cwiseAbs().maxCoeff());
        }
        omp_set_num_threads(threads);
        const double error = (one.cast<double>() - a.cast<double>() * b.cast<double>()).cwiseAbs().maxCoeff();
        CHECK(error <= 1e-5 * (a.cast<double>().cwiseAbs() * b.cast<double>().cwiseAbs()).maxCoeff());
    }
}

TEST_CASE("eigen's panels of an earlier product leave no trace in a later one") {
    const auto backend = make_backend("eigen");
    const ProductTypes fp32{formats::fp32, formats::fp32};
    const Matrix a = random_matrix(37, 65, formats::fp32, 1);
    const Matrix b = random_matrix(65, 50, formats::fp32, 2);
    const Matrix first = matmul(*backend, fp32, a, b);
    const Matrix nan = Matrix::Constant(300, 300, std::numeric_limits<float>::quiet_NaN());
    CHECK(std::isnan(matmul(*backend, fp32, nan, nan)(0, 0)));
    CHECK(differing(matmul(*backend, fp32, a, b), first) == 0);
}

TEST_CASE("products asked for together have the bits of each alone, with any number of threads") {
    constexpr Index count = 7;
    std::vector<Matrix> a, b, c;
    for (Index i = 0; i < count; ++i) {
        const auto seed = static_cast<std::uint64_t>(3 * i);
        a.push_back(random_matrix(40, 60, formats::fp16, seed + 1));
        b.push_back(random_matrix(60, 50, formats::fp16, seed + 2));
        c.push_back(random_matrix(40, 50, formats::fp32, seed + 3));
    }
    const ProductTypes types{formats::fp16, formats::fp32};
    const int threads = omp_get_max_threads();
    for (const char* spec :
         {"soft:ieee", "eigen", "soft:h100", "with_ieee(soft:h100)", "checked(soft:h100,soft:h100)"}) {
        CAPTURE(spec);
        const auto backend = make_backend(spec);
        for (const int some : {1, 2, 3, 8}) {
            omp_set_num_threads(some);
            std::vector<Matrix> d(count, Matrix::Zero(40, 50));
            std::vector<Product> products;
            for (std::size_t i = 0; i < count; ++i) products.push_back({types, a[i], b[i], MatrixView(c[i]), d[i]});
            backend->matmul(products);
            for (std::size_t i = 0; i < count; ++i) {
                CHECK(differing(d[i], matmul(*backend, types, a[i], b[i], c[i])) == 0);
            }
        }
        backend->matmul(std::span<const Product>());
    }
    omp_set_num_threads(2);
    Matrix d(40, 50);
    const Matrix zeros = Matrix::Zero(40, 60), zeros_b = Matrix::Zero(60, 50);
    const std::vector<Product> missing(3, {{formats::bf16, formats::fp16}, zeros, zeros_b, std::nullopt, d});
    CHECK_THROWS_AS(make_backend("soft:h100")->matmul(missing), std::invalid_argument);
    omp_set_num_threads(threads);
}

TEST_CASE("Eigen's product is rounded once to a narrower accumulator") {
    const Matrix a = Matrix::Constant(1, 1, 255.0F);
    const ProductTypes types{formats::fp16, formats::fp16};
    CHECK(matmul(*make_backend("eigen"), types, a, Matrix(Matrix::Constant(1, 1, 257.0F)))(0, 0) ==
          std::numeric_limits<float>::infinity());
    CHECK(matmul(*make_backend("eigen"), types, a, Matrix(Matrix::Constant(1, 1, 17.0F)))(0, 0) == 4336.0F);
}

TEST_CASE("products of nothing are C") {
    const Matrix a(3, 0);
    const Matrix b(0, 2);
    const Matrix c = Matrix::Constant(3, 2, 1.5F);
    for (const char* spec : {"soft:ieee", "eigen", "soft:h100"}) {
        CAPTURE(spec);
        const auto backend = make_backend(spec);
        CHECK(differing(matmul(*backend, {formats::fp16, formats::fp32}, a, b, c), c) == 0);
        CHECK(differing(matmul(*backend, {formats::fp16, formats::fp32}, a, b), Matrix::Zero(3, 2)) == 0);
    }
}

TEST_CASE("backends name themselves and what they claim") {
    const ProductTypes types{formats::fp16, formats::fp32};
    CHECK(make_backend("soft:h100")->promised_model(types) == "sm_90:mma.fp16.fp32");
    CHECK(make_backend("soft:h100.wgmma")->promised_model(types) == "sm_90:wgmma.fp16.fp32");
    CHECK(make_backend("soft:h200")->promised_model(types) == "sm_90:mma.fp16.fp32");
    CHECK(make_backend("soft:RTX 4090")->promised_model(types) == "sm_89:mma.fp16.fp32");  // not listed, and taken
    CHECK(make_backend("soft:GH200.wgmma")->name() == "soft:gh200.wgmma");
    CHECK_THROWS_AS(make_backend("soft:gh200.mfma"), std::invalid_argument);
    CHECK(make_backend("eigen")->promised_model(types).empty());
    CHECK(make_backend("soft:v100")->promised_model({formats::bf16, formats::fp32}).empty());
    for (const auto& [spec, description] : backend_specs()) {
        CHECK(make_backend(spec)->name() == spec);
        CHECK(!description.empty());
    }
    CHECK(make_backend("soft:h100")->path(types, 8, 8, 40) ==
          "sm_90:mma.fp16.fp32, 3 chained instructions of k16, the last filled up with zeros, "
          "kernel fused_groups");
}

TEST_CASE("backends that claim the same model give the same bits") {
    const Matrix a = random_matrix(16, 64, formats::fp16, 1);
    const Matrix b = random_matrix(64, 16, formats::fp16, 2);
    const ProductTypes types{formats::fp16, formats::fp32};
    std::map<std::string, Matrix> results;
    int pairs = 0;
    for (const auto& row : backend_specs()) {
        const std::string& spec = row.first;
        const auto backend = make_backend(spec);
        const std::string model = backend->promised_model(types);
        if (model.empty()) continue;
        const Matrix d = matmul(*backend, types, a, b);
        const auto [known, first] = results.try_emplace(model, d);
        CAPTURE(spec);
        CHECK(differing(d, known->second) == 0);
        pairs += first ? 0 : 1;
    }
    CHECK(pairs > 5);
}

TEST_CASE("unknown backends, wrong shapes and missing products are refused with what there is") {
    CHECK_THROWS_WITH_AS((void)make_backend("soft:k80"),
                         doctest::Contains("no matmul backend 'soft:k80'; nearest are soft:"), std::invalid_argument);
    CHECK_THROWS_AS((void)make_backend(""), std::invalid_argument);
    const auto backend = make_backend("soft:ieee");
    const ProductTypes types{formats::fp16, formats::fp32};
    CHECK_THROWS_WITH_AS((void)matmul(*backend, types, ones(2, 3), ones(2, 3)),
                         "a product of 2 x 3 by 2 x 3 does not give 2 x 3", std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)matmul(*backend, types, ones(2, 3), ones(3, 2), ones(2, 3)),
                         "C is 2 x 3 where the product is 2 x 2", std::invalid_argument);
    CHECK_THROWS_WITH_AS(
        (void)matmul(*make_backend("soft:v100"), {formats::bf16, formats::fp32}, ones(1, 1), ones(1, 1)),
        "soft:v100 has no bf16->fp32 product (it has fp16->fp16, fp16->fp32); choose another recipe, or "
        "soft:ieee",
        std::invalid_argument);
}

TEST_CASE("a number off the grid is found and named") {
    Matrix a = ones(2, 2);
    CHECK_NOTHROW(require_on_grid(a, formats::fp16, "A"));
    a(1, 0) = 0.1F;
    CHECK_THROWS_WITH_AS(require_on_grid(a, formats::fp16, "A"),
                         "A(1, 0) = 0x1.99999ap-4 is not a number of fp16: round it first", std::logic_error);
    CHECK_NOTHROW(require_on_grid(a, formats::fp32, "A"));
    a(1, 0) = std::numeric_limits<float>::quiet_NaN();
    CHECK_NOTHROW(require_on_grid(a, formats::fp16, "A"));
    a(1, 0) = 70000.0F;
    CHECK_THROWS_AS(require_on_grid(a, formats::fp16, "A"), std::logic_error);
}

TEST_CASE("the grid of every format holds its own codes and refuses the numbers beside them") {
    for (const NamedFormat& named : named_formats()) {
        const FloatFormat& format = named.format;
        if (format.storage_bits() > 16 || format.padding_bits != 0) continue;
        CAPTURE(std::string(named.name));
        std::vector<float> numbers;
        int refused = 0;
        int beside = 0;
        for (std::uint32_t code = 0; code < (1U << format.storage_bits()); ++code) {
            const float x = in_fp32_container(format, code);
            numbers.push_back(x);
            if (x == 0 || !std::isfinite(x) || std::abs(x) < 0x1p-126F) continue;
            for (const float near : {std::nextafter(x, 0.0F), std::nextafter(x, 2 * x)}) {
                ++beside;
                Matrix one = Matrix::Constant(1, 1, near);
                try {
                    require_on_grid(one, format, "A");
                } catch (const std::logic_error&) {
                    ++refused;
                }
            }
        }
        CHECK_NOTHROW(require_on_grid(MatrixView(numbers.data(), 1, static_cast<Index>(numbers.size())), format, "A"));
        CHECK(refused == beside);
    }
}

TEST_CASE("an operand off the grid is refused in every build, and named, wherever it lies") {
    for (const char* spec : {"soft:ieee", "soft:h100", "eigen"}) {
        const auto backend = make_backend(spec);
        const ProductTypes types{formats::fp16, formats::fp32};
        Matrix a = ones(1, 16);
        a(0, 3) = 0.1F;
        CHECK_THROWS_WITH_AS((void)matmul(*backend, types, a, ones(16, 1)),
                             "A(0, 3) = 0x1.99999ap-4 is not a number of fp16: round it first", std::logic_error);
        CHECK_THROWS_WITH_AS((void)matmul(*backend, types, ones(1, 16), transposed(a)),
                             "B(3, 0) = 0x1.99999ap-4 is not a number of fp16: round it first", std::logic_error);
        Matrix c = Matrix::Constant(1, 1, 0x1.001p0F);
        CHECK_THROWS_WITH_AS((void)matmul(*backend, {formats::fp16, formats::fp16}, ones(1, 16), ones(16, 1), c),
                             "C(0, 0) = 0x1.001p+0 is not a number of fp16: round it first", std::logic_error);
    }
    // An instruction would ignore the low bits; a backend does not.
    CHECK_THROWS_WITH_AS((void)matmul(*make_backend("soft:h100"), {formats::tf32, formats::fp32},
                                      Matrix(Matrix::Constant(1, 1, 0.1F)), ones(1, 1)),
                         "A(0, 0) = 0x1.99999ap-4 is not a number of tf32: round it first", std::logic_error);
}

TEST_CASE("block-scaled products are the unit's own row, in any layout, and other backends name the remedy") {
    const ProductTypes types{formats::e4m3, formats::fp32, formats::e4m3, BlockScaling{formats::e8m0, 32}};
    CHECK(name_of(types) == "e4m3(e8m0/32)->fp32");
    const Matrix a = random_matrix(3, 70, formats::e4m3, 1);
    const Matrix b = random_matrix(70, 5, formats::e4m3, 2);
    Matrix x(3, 3);
    Matrix y(3, 5);
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = std::ldexp(1.0F, static_cast<int>(i % 7) - 3);
    for (Index i = 0; i < y.size(); ++i) y.data()[i] = std::ldexp(1.0F, static_cast<int>(i % 5) - 1);
    const auto backend = make_backend("soft:b200");
    Matrix d(3, 5);
    backend->matmul({types, a, b, std::nullopt, d, x, y});
    const Matrix a_t = a.transpose();
    const Matrix b_t = b.transpose();
    Matrix d_t(5, 3);
    backend->matmul({types, transposed(a_t), transposed(b_t), std::nullopt, MutableMatrixView(d_t).transposed(), x, y});
    CHECK(differing(d_t.transpose(), d) == 0);
    Matrix again(3, 5);
    make_backend("checked(soft:b200,soft:b200)")->matmul({types, a, b, std::nullopt, again, x, y});
    CHECK(differing(again, d) == 0);
    const Matrix flat = Matrix::Constant(3, 3, 1.0F);
    backend->matmul({types, a, b, std::nullopt, again, flat, y});
    CHECK(differing(again, d) > 0);

    CHECK(backend->promised_model(types) == "sm_100:tcgen05.mxf8f6f4.e4m3.fp32");
    CHECK(backend->path(types, 3, 5, 70) ==
          "sm_100:tcgen05.mxf8f6f4.e4m3.fp32, 3 chained instructions of k32, the last filled up with zeros, "
          "kernel scaled_groups");
    CHECK(make_backend("soft:rtx5090")->has_product(types));
    CHECK_FALSE(make_backend("soft:h100")->has_product(types));
    CHECK_THROWS_WITH_AS(
        make_backend("soft:h100")->matmul({types, a, b, std::nullopt, d, x, y}),
        "soft:h100 has no block-scaled e4m3(e8m0/32)->fp32 product; choose a unit of Blackwell (soft:b200, "
        "soft:rtx5090), or another recipe",
        std::invalid_argument);
    CHECK_THROWS_WITH_AS(backend->matmul({types, a, b, std::nullopt, d, flat, flat}),
                         "B's scales are 3 x 3 where the blocks are 3 x 5", std::invalid_argument);
    const Matrix one = ones(1, 1);
    Matrix result(1, 1);
    CHECK_THROWS_WITH_AS(backend->matmul({{formats::fp16, formats::fp32}, one, one, std::nullopt, result, x, y}),
                         "a fp16->fp32 product takes no scales", std::invalid_argument);
    x(1, 2) = 0.75F;
    CHECK_THROWS_WITH_AS(backend->matmul({types, a, b, std::nullopt, d, x, y}),
                         "A's scales(1, 2) = 0x1.8p-1 is not a number of e8m0: round it first", std::logic_error);
    for (const float scale : {0x1p-127F, 0x1p-126F, 1.0F, 0x1p127F, std::numeric_limits<float>::quiet_NaN()}) {
        CAPTURE(scale);
        x(1, 2) = scale;
        CHECK_NOTHROW(backend->matmul({types, a, b, std::nullopt, d, x, y}));
    }
    for (const float scale : {0.0F, -0.0F, -1.0F, 0x1p-128F, 3.0F, std::numeric_limits<float>::infinity()}) {
        CAPTURE(scale);
        x(1, 2) = scale;
        CHECK_THROWS_AS(backend->matmul({types, a, b, std::nullopt, d, x, y}), std::logic_error);
        CHECK_THROWS_AS(backend->matmul(transposed({types, a, b, std::nullopt, d, x, y})), std::logic_error);
    }
}

}  // namespace
