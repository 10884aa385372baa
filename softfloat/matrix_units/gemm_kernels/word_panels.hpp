// Operands of integer kernels as they read them: two k in a 32-bit word, the first in the lower half, zeros behind the
// last k.
#pragma once

#include <algorithm>
#include <cstdint>

#include "softfloat/matrix_units/gemm_kernels/pack.hpp"
#include "softfloat/matrix_units/gemm_kernels/panel.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

constexpr std::uint32_t word_of_pair(std::int16_t first, std::int16_t second) {
    return static_cast<std::uint16_t>(first) | std::uint32_t{static_cast<std::uint16_t>(second)} << 16;
}

/// Rows of A, `padded` k each. Strided(i, k) is an element, convert(element) its operand.
template <class Strided, class Convert>
AlignedVector<std::uint32_t> word_rows(const Strided& a, std::int64_t rows, std::int64_t k, std::int64_t padded,
                                       const Convert& convert) {
    AlignedVector<std::uint32_t> words(static_cast<std::size_t>(rows * padded / 2));
    for (std::int64_t i = 0; i < rows; ++i) {
        std::uint32_t* row = words.data() + i * padded / 2;
        for (std::int64_t s = 0; s < k / 2; ++s) {
            row[s] = word_of_pair(convert(a(i, 2 * s)), convert(a(i, 2 * s + 1)));
        }
        if (k % 2 != 0) row[k / 2] = word_of_pair(convert(a(i, k - 1)), 0);
    }
    return words;
}

/// Columns [first, first + cols) of B as steps of `width` words, `padded` / 2 of them.
template <class Strided, class Convert>
void fill_word_panel(const Strided& b, std::int64_t first, std::int64_t cols, std::int64_t k, std::int64_t padded,
                     std::int64_t width, const Convert& convert, AlignedVector<std::uint32_t>& words) {
    words.assign(static_cast<std::size_t>(padded / 2 * width), 0);
    const auto put = [&](std::int64_t step, std::int64_t j) {
        const bool pair = 2 * step + 1 < k;
        words[static_cast<std::size_t>(step * width + j)] =
            word_of_pair(convert(b(2 * step, first + j)), pair ? convert(b(2 * step + 1, first + j)) : std::int16_t{0});
    };
    // In the order of memory.
    if (b.col_stride <= b.row_stride) {
        for (std::int64_t step = 0; step < tiles_of(k, 2); ++step) {
            for (std::int64_t j = 0; j < cols; ++j) put(step, j);
        }
    } else {
        for (std::int64_t j = 0; j < cols; ++j) {
            for (std::int64_t step = 0; step < tiles_of(k, 2); ++step) put(step, j);
        }
    }
}

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
