// The products of ieee_product.hpp, written once over a vector kit (softfloat/vector/). Included by ieee_product_*.cpp.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/kernels/ieee_product.hpp"

namespace ulp {
namespace {

constexpr std::int64_t tile_rows = 4;
constexpr std::int64_t depth = 128;  // of k at a time: what is packed of B stays in the nearest cache
/// How many vectors wide a tile of D is, at most: AVX-512 has twice the registers.
template <class Vec>
constexpr int most_vectors = Vec::lanes >= 16 ? 4 : 2;

/// `depth` rows of B and as many columns of A, each row and column packed, filled up with zeros.
template <class Vec>
struct Packed {
    alignas(64) float b[depth * Vec::lanes * most_vectors<Vec>];
    alignas(64) float a[depth * tile_rows];
};

/// d(r, j) += a(r, k) * b(k, j) for each k in turn, in `rows` rows of d of `vectors` whole vectors; A is packed.
template <class Vec, int rows, int vectors>
void add_products(std::int64_t k, const float* a, const float* b, std::int64_t b_row_stride, float* d,
                  std::int64_t d_row_stride) {
    constexpr std::int64_t lanes = Vec::lanes;
    typename Vec::Float sum[rows][vectors];
    const auto each_sum = [&](const auto& f) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) f(sum[r][v], r, v);
        }
    };
    each_sum([&](auto& s, int r, int v) { s = Vec::load_float(d + r * d_row_stride + v * lanes); });
    for (; k > 0; --k, a += rows, b += b_row_stride) {
        each_sum([&](auto& s, int r, int v) {
            s = Vec::add(s, Vec::mul(Vec::set_float(a[r]), Vec::load_float(b + v * lanes)));
        });
    }
    each_sum([&](const auto& s, int r, int v) { Vec::store(d + r * d_row_stride + v * lanes, s); });
}

/// Columns of D, and k, that are computed together; their part of B, packed or where it lies.
struct Panel {
    std::int64_t first_col, cols, first_k, count;
    const float* b;
    std::int64_t b_row_stride;
};

/// Rows [i, i + rows) of a panel: packs A, and D where its columns do not fill the vectors.
template <class Vec, int rows, int vectors>
void tile(const GemmProblem& p, std::int64_t i, const Panel& panel, Packed<Vec>& packed) {
    const float* const a = p.a.data + i * p.a.row_stride + panel.first_k * p.a.col_stride;
    for (std::int64_t k = 0; k < panel.count; ++k) {
        for (int r = 0; r < rows; ++r) packed.a[k * rows + r] = a[r * p.a.row_stride + k * p.a.col_stride];
    }
    constexpr std::int64_t width = vectors * Vec::lanes;
    float* const d = p.d.data + i * p.d.row_stride + panel.first_col;
    const auto add = [&](float* sums, std::int64_t row_stride) {
        add_products<Vec, rows, vectors>(panel.count, packed.a, panel.b, panel.b_row_stride, sums, row_stride);
    };
    if (panel.cols == width) return add(d, p.d.row_stride);
    float whole[rows * width] = {};
    const std::size_t bytes = static_cast<std::size_t>(panel.cols) * sizeof(float);
    for (int r = 0; r < rows; ++r) std::memcpy(whole + r * width, d + r * p.d.row_stride, bytes);
    add(whole, width);
    for (int r = 0; r < rows; ++r) std::memcpy(d + r * p.d.row_stride, whole + r * width, bytes);
}

/// Columns [j, j + cols) of D.
template <class Vec, int vectors>
void columns(const GemmProblem& p, std::int64_t j, std::int64_t cols, Packed<Vec>& packed) {
    constexpr std::int64_t width = vectors * Vec::lanes;
    const std::size_t bytes = static_cast<std::size_t>(cols) * sizeof(float);
    for (std::int64_t first = 0; first < p.a.cols; first += depth) {
        const std::int64_t count = p.a.cols - first < depth ? p.a.cols - first : depth;
        const float* const b = p.b.data + first * p.b.row_stride + j * p.b.col_stride;
        Panel panel{j, cols, first, count, packed.b, width};
        if (p.b.col_stride == 1 && cols == width &&
            p.d.rows < tile_rows) {  // packing would cost as much as the product
            panel.b = b;
            panel.b_row_stride = p.b.row_stride;
        } else {
            if (cols < width) std::memset(packed.b, 0, sizeof packed.b);
            if (p.b.col_stride == 1) {
                for (std::int64_t k = 0; k < count; ++k) {
                    std::memcpy(packed.b + k * width, b + k * p.b.row_stride, bytes);
                }
            } else {
                for (std::int64_t c = 0; c < cols; ++c) {
                    const float* const from = b + c * p.b.col_stride;
                    for (std::int64_t k = 0; k < count; ++k) packed.b[k * width + c] = from[k * p.b.row_stride];
                }
            }
        }
        std::int64_t i = 0;
        for (; i + tile_rows <= p.d.rows; i += tile_rows) tile<Vec, tile_rows, vectors>(p, i, panel, packed);
        for (; i < p.d.rows; ++i) tile<Vec, 1, vectors>(p, i, panel, packed);
    }
}

template <class Vec>
void product(const GemmProblem& p, bool onto_d) {
    if (!onto_d) {
        const std::size_t bytes = static_cast<std::size_t>(p.d.cols) * sizeof(float);
        for (std::int64_t i = 0; i < p.d.rows; ++i) std::memset(p.d.data + i * p.d.row_stride, 0, bytes);
    }
    constexpr std::int64_t lanes = Vec::lanes;
    Packed<Vec> packed;
    for (std::int64_t j = 0; j < p.d.cols;) {
        const std::int64_t left = p.d.cols - j;
        const auto next = [&](std::int64_t width) { return left < width ? left : width; };
        std::int64_t cols = 0;
        if (most_vectors<Vec> == 4 && left > 2 * lanes) {
            cols = next(4 * lanes);
            columns<Vec, most_vectors<Vec>>(p, j, cols, packed);
        } else if (left > lanes) {
            cols = next(2 * lanes);
            columns<Vec, 2>(p, j, cols, packed);
        } else {
            cols = left;
            columns<Vec, 1>(p, j, cols, packed);
        }
        j += cols;
    }
}

/// Compilers vectorise it with the instructions of the unit.
inline void rounded_row(const GemmProblem& row, const Rounder<double>& rounder) {
    const Rounder<double> round = rounder;
    for (std::int64_t k = 0; k < row.a.cols; ++k) {
        const double a = static_cast<double>(row.a.data[k * row.a.col_stride]);
        const float* const b = row.b.data + k * row.b.row_stride;
        for (std::int64_t j = 0; j < row.d.cols; ++j) {
            const double product = round(a * static_cast<double>(b[j]));
            row.d.data[j] = static_cast<float>(round(static_cast<double>(row.d.data[j]) + product));
        }
    }
}

template <class Vec>
constexpr IeeeKernels make_kernels(const char* name) {
    return {name, product<Vec>, rounded_row};
}

}  // namespace
}  // namespace ulp
