#include "softfloat/matrix_units/gemm_kernels/block_scales.hpp"

#include <cmath>
#include <optional>

#include "softfloat/support/powers_of_two.hpp"

namespace ulp::gemm_kernels {

Scales scales_of(const BlockScaledModel& model, const MatrixView& matrix, std::int64_t lines, std::int64_t given,
                 std::int64_t count, bool with_values) {
    Scales scales{count, {}, {}, {}};
    const auto size = static_cast<std::size_t>(lines * count);
    if (with_values) scales.values.assign(size, 1.0F);
    scales.exponents.assign(size, 0);
    scales.nan.assign(static_cast<std::size_t>(lines), 0);
    const bool powers = model.scale_format == formats::e8m0 && !with_values;
    for (std::int64_t i = 0; matrix.data != nullptr && i < lines; ++i) {
        std::int32_t* const row = scales.exponents.data() + i * count;
        const auto put = [row](std::int64_t s, std::int32_t exponent) { row[s] = exponent; };
        if (powers && given > 0 && powers_of_two(&matrix(i, 0), matrix.col_stride, given, put)) continue;
        for (std::int64_t s = 0; s < given; ++s) {
            const auto at = static_cast<std::size_t>(i * count + s);
            if (const std::optional<int> exponent = normal_exponent(model.scale_format, matrix(i, s))) {
                if (with_values) scales.values[at] = matrix(i, s);
                scales.exponents[at] = *exponent;
                continue;
            }
            const Scale scale = decode_scale(model.scale_format, operand_code(model.scale_format, matrix(i, s)));
            if (scale.nan) scales.nan[static_cast<std::size_t>(i)] = 1;
            if (with_values) {
                scales.values[at] = scale.nan ? 0.0F
                                              : std::ldexp(static_cast<float>(scale.significand),
                                                           scale.exponent - model.scale_format.fraction_bits);
            }
            scales.exponents[at] = scale.nan ? 0 : scale.exponent;
        }
    }
    return scales;
}

Scales for_terms(const Scales& scales, std::int64_t lines, int repeats) {
    if (repeats == 1) return scales;
    Scales each{scales.count * repeats, {}, {}, scales.nan};
    for (std::int64_t i = 0; i < lines * scales.count * repeats; ++i) {
        each.values.push_back(scales.values[static_cast<std::size_t>(i / repeats)]);
        each.exponents.push_back(scales.exponents[static_cast<std::size_t>(i / repeats)]);
    }
    return each;
}

std::uint64_t lines_with_nan(const Scales& scales, std::int64_t first, std::int64_t lines) {
    std::uint64_t bits = 0;
    for (std::int64_t i = 0; i < lines; ++i) {
        bits |= std::uint64_t{scales.nan[static_cast<std::size_t>(first + i)] != 0} << i;
    }
    return bits;
}

}  // namespace ulp::gemm_kernels
