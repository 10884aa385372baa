// Copies of matrices of fp32 numbers, fast also where rows become columns. A view has the members of MatrixView
// (softfloat/matrix_view.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ulp::support {

namespace copying {

inline constexpr std::int64_t four = 4;
using Four [[gnu::vector_size(16)]] = float;

inline Four load(const float* from) {
    Four x;
    std::memcpy(&x, from, sizeof x);
    return x;
}
inline void store(float* to, Four x) { std::memcpy(to, &x, sizeof x); }

inline constexpr std::int64_t line = 16;  // numbers of a cache line

/// Asks for `count` numbers from an address on, which a loop reaches some rounds later: the rows of a large matrix lie
/// on pages of their own, where the processor foresees nothing.
template <int to_write = 0>
void ask_for(const float* numbers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += line) __builtin_prefetch(numbers + i, to_write);
}
inline constexpr std::int64_t rounds_ahead = 12;

/// Four columns of four numbers, `from_next` apart, become four rows, `to_next` apart.
inline void turn_block(const float* from, std::int64_t from_next, float* to, std::int64_t to_next) {
    const Four a = load(from);
    const Four b = load(from + from_next);
    const Four c = load(from + 2 * from_next);
    const Four d = load(from + 3 * from_next);
    const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    store(to + to_next, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    store(to + 2 * to_next, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    store(to + 3 * to_next, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

/// Columns without gaps to rows without gaps.
template <class View, class MutableView>
void turn(const View& from, const MutableView& to) {
    // Each cache line of a column is read once.
    const std::int64_t cols = from.cols / four * four;
    for (std::int64_t first = 0; first < from.rows; first += line) {
        const std::int64_t last = std::min(first + line, from.rows);
        const std::int64_t rows = first + (last - first) / four * four;
        for (std::int64_t j = 0; j < cols; j += four) {
            for (std::int64_t col = j; col < j + four; ++col) {
                if (first + 2 * line < from.rows) {
                    __builtin_prefetch(&from(first + 2 * line, col));
                } else if (col + rounds_ahead < from.cols) {
                    __builtin_prefetch(&from(first, col + rounds_ahead));
                }
            }
            for (std::int64_t i = first; i < rows; i += four) {
                turn_block(&from(i, j), from.col_stride, &to(i, j), to.row_stride);
            }
        }
        for (std::int64_t i = first; i < last; ++i) {
            for (std::int64_t j = i < rows ? cols : 0; j < from.cols; ++j) to(i, j) = from(i, j);
        }
    }
}

/// Rows without gaps.
template <class View, class MutableView>
void copy_rows(const View& from, const MutableView& to) {
    constexpr std::int64_t short_row = 32;   // below, the call of memcpy costs more than its work
    constexpr std::int64_t long_row = 1024;  // a page: the processor foresees the rest of it
    for (std::int64_t i = 0; i < from.rows; ++i) {
        const float* const x = &from(i, 0);
        float* const y = &to(i, 0);
        if (from.cols < long_row && i + rounds_ahead < from.rows) ask_for(&from(i + rounds_ahead, 0), from.cols);
        if (from.cols > short_row) {
            std::memcpy(y, x, static_cast<std::size_t>(from.cols) * sizeof(float));
            continue;
        }
        std::int64_t j = 0;
        for (; j + four <= from.cols; j += four) store(y + j, load(x + j));
        for (; j < from.cols; ++j) y[j] = x[j];
    }
}

}  // namespace copying

/// Asks for the memory of a matrix that is written soon, so that the writes wait for none of it.
template <class MutableView>
void prepare_to_write(const MutableView& to) {
    if (to.col_stride != 1 && to.row_stride == 1) return prepare_to_write(to.transposed());
    if (to.col_stride != 1) return;
    for (std::int64_t i = 0; i < to.rows; ++i) copying::ask_for<1>(&to(i, 0), to.cols);
}

/// to(i, j) = from(i, j), bit for bit. Both have the same extents and do not overlap.
template <class View, class MutableView>
void copy_matrix(const View& from, const MutableView& to) {
    if (to.col_stride != 1 && to.row_stride == 1) return copy_matrix(from.transposed(), to.transposed());
    if (to.col_stride == 1 && from.col_stride == 1) return copying::copy_rows(from, to);
    if (to.col_stride == 1 && from.row_stride == 1) return copying::turn(from, to);
    for (std::int64_t i = 0; i < from.rows; ++i) {
        for (std::int64_t j = 0; j < from.cols; ++j) to(i, j) = from(i, j);
    }
}

}  // namespace ulp::support
