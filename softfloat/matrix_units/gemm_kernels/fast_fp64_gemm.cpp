// Products with fp64 numbers by vector instructions.
#include <algorithm>
#include <bit>
#include <cmath>

#include "softfloat/matrix_units/chained_units.hpp"
#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/tile.hpp"
#include "softfloat/support/float_environment.hpp"

namespace ulp::gemm_kernels {

namespace {

constexpr std::int64_t rows_per_fp64_tile = 256;
constexpr std::int64_t rows_per_piece = 16;  // these and a panel's piece stay in the second-level cache
constexpr std::int64_t k_per_piece = 256;

using Fp64Tile = BasicTile<double>;

/// `rows` x `cols` numbers of a matrix from (row, col) on, `width` apart.
void pack(const BasicMatrixView<const double>& matrix, std::int64_t row, std::int64_t col, std::int64_t rows,
          std::int64_t cols, std::int64_t width, AlignedVector<double>& packed) {
    packed.resize(static_cast<std::size_t>(rows * width));
    for (std::int64_t i = 0; i < rows; ++i) {
        double* const line = packed.data() + i * width;
        for (std::int64_t j = 0; j < cols; ++j) line[j] = matrix(row + i, col + j);
    }
}

void run(const Kernels& kernels, const Fp64Problem& p, Fp64Tile& tile) {
    AlignedVector<double> a, b;
    for (std::int64_t k = 0; k < p.k(); k += k_per_piece) {
        const std::int64_t count = std::min(k_per_piece, p.k() - k);
        pack(p.b, k, tile.col, count, tile.cols, tile.width, b);
        if (p.a.col_stride == 1) {  // the kernel reads the rows where they lie
            kernels.fp64({&p.a(tile.row, k), b.data(), tile.c.data(), p.a.row_stride, count, tile.rows, tile.width});
            continue;
        }
        for (std::int64_t i = 0; i < tile.rows; i += rows_per_piece) {
            const std::int64_t rows = std::min(rows_per_piece, tile.rows - i);
            pack(p.a, tile.row + i, k, rows, count, count, a);
            kernels.fp64({a.data(), b.data(), &tile.at(i, 0), count, count, rows, tile.width});
        }
    }
}

/// A result that is NaN. Which one, the steps with infinities and NaNs decide where finite terms cannot overflow; else
/// the definition.
double which_nan(const TensorCoreModel& model, const Fp64Problem& p, std::int64_t i, std::int64_t j) {
    const auto word = [](double x) { return std::bit_cast<std::uint64_t>(x); };
    const double c = p.has_c() ? p.c(i, j) : 0.0;
    double terms = std::isfinite(c) ? std::fabs(c) : 0.0;
    double sum = std::bit_cast<double>(chained_fma(model, 0, 0, word(c)));
    for (std::int64_t k = 0; k < p.k(); ++k) {
        const double x = p.a(i, k), y = p.b(k, j);
        if (std::isfinite(x) && std::isfinite(y)) {
            terms += std::fabs(x * y);
        } else if (std::isnan(sum)) {
            sum = std::bit_cast<double>(chained_nan(model, word(x), word(y), word(sum)));
        } else {
            sum = std::bit_cast<double>(chained_fma(model, word(x), word(y), std::isinf(sum) ? word(sum) : 0));
        }
    }
    return terms <= 0x1p1022 ? sum : fp64_element(model, p, i, j);
}

/// What the kernel leaves: the zeros that fill the last instruction make +0 of -0, and once NaN means always NaN, but
/// which NaN is the definition's to say.
void store(const TensorCoreModel& model, const Fp64Problem& p, Fp64Tile& tile) {
    const double filling = p.k() % model.instruction_k == 0 ? -0.0 : 0.0;
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        for (std::int64_t j = 0; j < tile.cols; ++j) {
            const std::int64_t row = tile.row + i, col = tile.col + j;
            const double d = tile.at(i, j) + filling;
            p.d(row, col) = std::isnan(d) ? which_nan(model, p, row, col) : d;
        }
    }
}

}  // namespace

bool has_fp64_kernel(const TensorCoreModel& model) {
    return model.summation == Summation::fma_chain && model.rounding == Rounding::nearest_even &&
           model.a_format == formats::fp64 && model.b_format == formats::fp64 && !model.flush_subnormals &&
           !model.positive_input_zeros && model.variation == GroupVariation{};
}

bool fast_fp64_gemm(const Kernels& kernels, const TensorCoreModel& model, const Fp64Problem& p) {
    if (p.d.empty() || p.k() == 0 || !has_fp64_kernel(model)) return false;
    const std::int64_t width = std::int64_t{vectors_per_fp64_panel} * kernels.lanes / 2;
    const std::int64_t row_tiles = tiles_of(p.m(), rows_per_fp64_tile);
    for_each_index(row_tiles * tiles_of(p.n(), width), worth_threads_for(p), [&](std::int64_t t) {
        const support::FloatEnvironment environment;  // of this thread
        Fp64Tile tile;
        tile.load(p, p.c, t % row_tiles * rows_per_fp64_tile, rows_per_fp64_tile, t / row_tiles * width, width);
        run(kernels, p, tile);
        store(model, p, tile);
    });
    return true;
}

}  // namespace ulp::gemm_kernels
