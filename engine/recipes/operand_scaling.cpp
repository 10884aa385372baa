#include "engine/recipes/operand_scaling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "engine/rounding/rounder.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/quantization/block_scaled.hpp"

namespace ulp {
namespace {

float largest_finite_magnitude(std::span<const float> values) {
    float largest = 0;
    for (const float x : values) {
        const float magnitude = std::abs(x);
        if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
    }
    return largest;
}

/// The largest power of two s with amax * s <= the format's largest number; 1 for amax = 0. Kept within 2^-60 .. 2^60,
/// so that the scales of two operands and their inverses stay normal.
float scale_for(float amax, const FloatFormat& format) {
    if (amax == 0) return 1;
    Context exact;
    const std::uint64_t word = convert_bits(formats::fp32, format, format.max_finite_magnitude(), exact);
    const float limit = std::bit_cast<float>(static_cast<std::uint32_t>(word));
    float scale = 0x1p60F;
    while (scale > 0x1p-60F && amax * scale > limit) scale *= 0.5F;
    return scale;
}

}  // namespace

namespace {

/// A copy without gaps, in the order that the original has in memory.
ScaledMatrix copy_of(const MatrixView& original) {
    const bool by_columns = original.col_major() && !original.row_major();
    const MatrixView lines = by_columns ? original.transposed() : original;
    ScaledMatrix result{Storage<float>(static_cast<std::size_t>(lines.rows * lines.cols)), {}, 1};
    for (Index i = 0; i < lines.rows; ++i) {
        for (Index j = 0; j < lines.cols; ++j) {
            result.values[static_cast<std::size_t>(i * lines.cols + j)] = lines(i, j);
        }
    }
    const MatrixView copy(result.values.data(), lines.rows, lines.cols);
    result.matrix = by_columns ? copy.transposed() : copy;
    return result;
}

float largest_of(const std::vector<float>& magnitudes) {
    return magnitudes.empty() ? 0 : *std::ranges::max_element(magnitudes);
}

/// Brings the copy's numbers into the format by the scale for this magnitude.
void scale_by(float amax, const FloatFormat& format, ScaledMatrix& matrix) {
    const float scale = scale_for(amax, format);
    matrix.inverse_scale = 1 / scale;
    for (float& x : matrix.values) x *= scale;
    round_all(format, matrix.values, {.saturate = true});
}

}  // namespace

ScaledMatrix with_delayed_scale(const MatrixView& original, const FloatFormat& format, const std::string& place,
                                int length, ScalingHistory& history) {
    std::vector<float>& magnitudes = history[place];
    const float amax = largest_of(magnitudes);
    ScaledMatrix result = copy_of(original);
    magnitudes.push_back(largest_finite_magnitude(result.values));
    if (magnitudes.size() > static_cast<std::size_t>(length)) magnitudes.erase(magnitudes.begin());
    scale_by(amax, format, result);
    return result;
}

ScaledMatrix with_remembered_scale(const MatrixView& original, const FloatFormat& format, const std::string& place,
                                   const ScalingHistory& history) {
    const auto known = history.find(place);
    ScaledMatrix result = copy_of(original);
    scale_by(known == history.end() ? 0 : largest_of(known->second), format, result);
    return result;
}

namespace {

/// Calls f(i, scales, elements) with the codes of each row i in blocks, the last block filled up with zeros.
template <class Function>
void each_row_in_blocks(const MatrixView& rows, const FloatFormat& element, const Function& f) {
    const auto blocks = (static_cast<std::size_t>(rows.cols) + mx_block_size - 1) / mx_block_size;
    std::vector<float> row(blocks * mx_block_size);
    std::vector<std::uint8_t> scales(blocks);
    std::vector<std::uint8_t> elements(row.size());
    for (Index i = 0; i < rows.rows; ++i) {
        std::ranges::fill(row, 0.0F);
        for (Index j = 0; j < rows.cols; ++j) row[static_cast<std::size_t>(j)] = rows(i, j);
        quantize_mx(element, row, scales, elements);
        f(i, std::span<const std::uint8_t>(scales), std::span<const std::uint8_t>(elements));
    }
}

}  // namespace

BlockScaledMatrix block_scaled(const MatrixView& rows, const FloatFormat& element) {
    const auto block = static_cast<Index>(mx_block_size);
    BlockScaledMatrix result{Matrix(rows.rows, rows.cols), Matrix(rows.rows, (rows.cols + block - 1) / block)};
    each_row_in_blocks(rows, element, [&](Index i, const auto& scales, const auto& elements) {
        for (Index j = 0; j < result.scales.cols(); ++j) {
            result.scales(i, j) = in_fp32_container(formats::e8m0, scales[static_cast<std::size_t>(j)]);
        }
        for (Index j = 0; j < rows.cols; ++j) {
            result.elements(i, j) = in_fp32_container(element, elements[static_cast<std::size_t>(j)]);
        }
    });
    return result;
}

Matrix in_blocks(const MatrixView& rows, const FloatFormat& element) {
    Matrix result(rows.rows, rows.cols);
    std::vector<float> row;
    each_row_in_blocks(rows, element, [&](Index i, const auto& scales, const auto& elements) {
        row.resize(elements.size());
        dequantize_mx(element, scales, elements, row);
        for (Index j = 0; j < rows.cols; ++j) result(i, j) = row[static_cast<std::size_t>(j)];
    });
    return result;
}

}  // namespace ulp
