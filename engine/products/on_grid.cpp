// Whether numbers lie on a format's grid, fast enough to ask before every product.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "engine/products/matmul.hpp"
#include "engine/tensor/matrix.hpp"
#include "engine/tensor/rounder.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/powers_of_two.hpp"
#include "softfloat/vector/simd_choice.hpp"

namespace ulp {
namespace {

std::uint32_t word_of(float x) { return std::bit_cast<std::uint32_t>(x); }

/// By way of the storage word. Any NaN passes.
bool is_on_grid(const FloatFormat& format, float x) {
    return std::isnan(x) || (!format.is_table() && normal_exponent(format, x)) ||
           word_of(in_fp32_container(format, operand_code(format, x))) == word_of(x);
}

/// The same in a few operations on the word of fp32, without branches. Refuses too much (an
/// infinity of fp16), never too little: the slow way decides.
struct Grid {
    std::uint32_t dropped_bits;  // of a normal number's word: 0 on the grid
    std::uint32_t max_finite;
    std::uint32_t refused_zero;  // -0 where the format has none, otherwise +0's word with a bit that no zero has
    float all_steps;             // 2^23 smallest subnormals, where they are not those of fp32; else 0

    explicit Grid(const FloatFormat& format)
        : dropped_bits((std::uint32_t{1} << (formats::fp32.fraction_bits - format.fraction_bits)) - 1),
          max_finite(word_of(in_fp32_container(
              format, static_cast<std::uint32_t>(format.max_finite_magnitude() << format.padding_bits)))),
          refused_zero(format.has_negative_zero() ? 1 : 0x80000000U),
          all_steps(0) {
        if (format.emin() == formats::fp32.emin()) {  // subnormals drop the same bits as normal numbers
            if (format.has_infinity() && format.emax() == formats::fp32.emax()) max_finite = 0x7F800000U;
            return;
        }
        all_steps = std::ldexp(1.0F, format.smallest_exponent() + formats::fp32.fraction_bits);
    }
    /// Formats of fp32's width or with exponents beyond it go the slow way.
    static bool fits(const FloatFormat& format) {
        return format.has_sign && format.fraction_bits < formats::fp32.fraction_bits &&
               format.emin() >= formats::fp32.emin() &&
               (format.emin() == formats::fp32.emin() || format.smallest_exponent() >= -126);
    }
};

/// Bits that a number of the grid does not have. In a sum with all_steps, a number up to that loses what is not a
/// multiple of the smallest subnormal.
[[gnu::always_inline]] inline std::uint32_t cut_bits(const Grid& grid, std::uint32_t magnitude) {
    const std::uint32_t small = std::min(magnitude, word_of(grid.all_steps));
    return (magnitude & grid.dropped_bits) |
           (word_of((std::bit_cast<float>(small) + grid.all_steps) - grid.all_steps) ^ small);
}

[[gnu::always_inline]] inline std::uint32_t off_grid(const Grid& grid, float x) {
    const std::uint32_t magnitude = word_of(x) & 0x7FFFFFFFU;
    const auto beyond = static_cast<std::uint32_t>(magnitude > grid.max_finite);
    const auto zero = static_cast<std::uint32_t>(word_of(x) == grid.refused_zero);
    const std::uint32_t is_number = 0U - static_cast<std::uint32_t>(magnitude <= 0x7F800000U);
    return is_number & (cut_bits(grid, magnitude) | beyond | zero);
}

/// Two passes over a stretch that stays in the nearest cache. The first is cheaper and settles what has no NaN.
[[gnu::always_inline]] inline bool any_off_grid(const Grid& grid, const float* x, Index count) {
    const Grid g = grid;
    std::uint32_t bits = 0;
    std::uint32_t largest = 0;
    for (Index i = 0; i < count; ++i) {
        const std::uint32_t magnitude = word_of(x[i]) & 0x7FFFFFFFU;
        bits |= cut_bits(g, magnitude);
        largest = std::max(largest, magnitude);
    }
    if (bits == 0 && largest <= g.max_finite && g.refused_zero != 0x80000000U) return false;
    std::uint32_t off = 0;
    for (Index i = 0; i < count; ++i) off |= off_grid(g, x[i]);
    return off != 0;
}

bool any_off_grid_plain(const Grid& grid, const float* x, Index count) { return any_off_grid(grid, x, count); }
#ifdef __x86_64__
[[gnu::target("avx2")]] bool any_off_grid_avx2(const Grid& grid, const float* x, Index count) {
    return any_off_grid(grid, x, count);
}
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] bool any_off_grid_avx512(const Grid& grid, const float* x,
                                                                               Index count) {
    return any_off_grid(grid, x, count);
}
#endif

}  // namespace

bool maybe_off_grid(const MatrixView& matrix, const FloatFormat& format) {
    if (format == formats::fp32 || matrix.empty()) return false;
    const MatrixView lines = matrix.row_major() ? matrix : matrix.transposed();
    if (format == formats::e8m0 && lines.row_major()) {
        bool powers = true;
        for (Index i = 0; i < lines.rows; ++i)
            powers &= powers_of_two(&lines(i, 0), 1, lines.cols, [](Index, std::int32_t) {});
        return !powers;
    }
    if (format.is_table()) {
        Matrix rounded = packed(lines);
        const Matrix given = rounded;
        round_all(format, {rounded.data(), static_cast<std::size_t>(rounded.size())});
        return std::memcmp(rounded.data(), given.data(), static_cast<std::size_t>(given.size()) * sizeof(float)) != 0;
    }
    if (!Grid::fits(format) || !lines.row_major()) return true;
    const Grid grid(format);
    auto* any_off = any_off_grid_plain;
#ifdef __x86_64__
    if (simd_choice() >= Simd::avx2) any_off = any_off_grid_avx2;
    if (simd_choice() >= Simd::avx512) any_off = any_off_grid_avx512;
#endif
    std::atomic<bool> found = false;
    if (lines.row_stride == lines.cols) {  // one run of numbers
        constexpr Index stretch = 2048;
        const Index count = lines.rows * lines.cols;
        in_parallel((count + stretch - 1) / stretch, stretch / 4, [&](Index first, Index last) {
            for (Index i = first; i < last; ++i) {
                if (!found && any_off(grid, lines.data + i * stretch, std::min(stretch, count - i * stretch))) {
                    found = true;
                }
            }
        });
    } else {
        in_parallel(lines.rows, lines.cols / 4, [&](Index first, Index last) {
            for (Index i = first; i < last; ++i) {
                if (any_off(grid, &lines(i, 0), lines.cols)) found = true;
            }
        });
    }
    return found;
}

void require_on_grid(const MatrixView& matrix, const FloatFormat& format, std::string_view what) {
    if (!maybe_off_grid(matrix, format)) return;
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Index j = 0; j < matrix.cols; ++j) {
            if (is_on_grid(format, matrix(i, j))) continue;
            throw std::logic_error(fmt::format("{}({}, {}) = {:a} is not a number of {}: round it first", what, i, j,
                                               matrix(i, j), name_of(format)));
        }
    }
}

std::string beyond_codes_text(const FloatFormat& format, std::uint64_t word) {
    const int bits = format.storage_bits();
    return fmt::format("0x{:X} is not a code of {}, whose codes are 0x0 to 0x{:X}{}", word, name_of(format),
                       (std::uint64_t{1} << bits) - 1,
                       bits <= 4 ? "; two codes packed into a byte must be unpacked to a byte each" : "");
}

}  // namespace ulp
