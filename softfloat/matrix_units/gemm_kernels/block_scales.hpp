// Block scales as the kernels take them.
#pragma once

#include <cstdint>
#include <vector>

#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/gemm_kernels/pack.hpp"

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

/// The scales of lines along k, rows of A or columns of B: [line][count].
struct Scales {
    std::int64_t count = 0;                   // of a line
    AlignedVector<float> values{};            // for the FP4 kernel; 0 for NaN
    AlignedVector<std::int32_t> exponents{};  // of their unit digits
    std::vector<char> nan{};                  // [line]: whether one of its scales is NaN

    [[nodiscard]] std::int32_t exponent(std::int64_t line, std::int64_t scale) const {
        return exponents[static_cast<std::size_t>(line * count + scale)];
    }
};

/// The scales of `lines` rows of a matrix, which gives the first `given` of each; behind them, and where it has no
/// data: ones.
Scales scales_of(const BlockScaledModel& model, const MatrixView& matrix, std::int64_t lines, std::int64_t given,
                 std::int64_t count, bool with_values);

/// One scale for each 16 elements, as the FP4 kernel takes them: scales of longer blocks stand several times.
Scales for_terms(const Scales& scales, std::int64_t lines, int repeats);

/// A bit for each line from `first` on: whether one of its scales is NaN.
std::uint64_t lines_with_nan(const Scales& scales, std::int64_t first, std::int64_t lines);

/// Numbers of lines from `first` on, `count` of each, as [number][line], `width` lines apart; zeros behind the last.
template <class T>
AlignedVector<T> turned_lines(const AlignedVector<T>& numbers, std::int64_t count, std::int64_t first,
                              std::int64_t lines, std::int64_t width) {
    AlignedVector<T> turned(static_cast<std::size_t>(count * width), T{});
    for (std::int64_t i = 0; i < lines; ++i) {
        for (std::int64_t s = 0; s < count; ++s) {
            turned[static_cast<std::size_t>(s * width + i)] =
                numbers[static_cast<std::size_t>((first + i) * count + s)];
        }
    }
    return turned;
}

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
