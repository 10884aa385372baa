#include "softfloat/matrix_units/block_scaled.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/parallel.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {

namespace {

/// Codes of a row, filled up to `padded` of them with `filling`.
std::vector<std::uint32_t> codes_of(const FloatFormat& format, const MatrixView& matrix, std::int64_t row,
                                    std::int64_t padded, std::uint32_t filling) {
    std::vector<std::uint32_t> codes(static_cast<std::size_t>(padded), filling);
    if (matrix.data == nullptr) return codes;
    for (std::int64_t j = 0; j < matrix.cols; ++j) {
        codes[static_cast<std::size_t>(j)] = operand_code(format, matrix(row, j));
    }
    return codes;
}

/// A row of A or a column of B with its scales, filled up to whole instructions.
struct ScaledLine {
    std::vector<std::uint32_t> elements, scales;
};
ScaledLine scaled_line(const BlockScaledModel& model, const FloatFormat& format, const MatrixView& matrix,
                       const MatrixView& scales, std::int64_t row) {
    const std::int64_t step = model.unscaled.instruction_k;
    const std::int64_t k = (matrix.cols + step - 1) / step * step;
    const std::uint32_t one = operand_code(model.scale_format, 1.0F);
    return {codes_of(format, matrix, row, k, 0), codes_of(model.scale_format, scales, row, k / model.scale_block, one)};
}
ScaledLine row_of(const BlockScaledModel& model, const BlockScaledProblem& p, std::int64_t i) {
    return scaled_line(model, model.unscaled.a_format, p.product.a, p.a_scales, i);
}
ScaledLine column_of(const BlockScaledModel& model, const BlockScaledProblem& p, std::int64_t j) {
    return scaled_line(model, model.unscaled.b_format, p.product.b.transposed(), p.b_scales.transposed(), j);
}

float element_of(const BlockScaledModel& model, const ScaledLine& row, const ScaledLine& column, float c) {
    const FloatFormat& accumulator = model.unscaled.accumulator;
    std::uint32_t d = operand_code(accumulator, c);
    for (std::size_t at = 0; at < row.elements.size(); at += static_cast<std::size_t>(model.unscaled.instruction_k)) {
        const std::size_t scale = at / static_cast<std::size_t>(model.scale_block);
        d = block_scaled_dot(model, row.elements.data() + at, column.elements.data() + at, row.scales.data() + scale,
                             column.scales.data() + scale, d);
    }
    return in_fp32_container(accumulator, d);
}

/// A value of the format without a sign, or NaN. Most are seen at once: normal numbers of few bits.
bool is_scale(const FloatFormat& format, float x) {
    const auto word = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t unused = 0x80000000U | ((1U << (23 - format.fraction_bits)) - 1);
    const int exponent = static_cast<int>(word >> 23) - 127;
    if ((word & unused) == 0 && exponent >= format.emin() && exponent < format.emax()) return true;
    if (std::isnan(x)) return format.has_nan();
    return !std::signbit(x) && in_fp32_container(format, operand_code(format, x)) == x;
}

void check_scales(const BlockScaledModel& model, const MatrixView& given, std::int64_t rows, std::int64_t scales,
                  const char* name) {
    if (given.data == nullptr) return;
    for (std::int64_t i = 0; given.rows == rows && given.cols == scales && i < rows; ++i) {
        for (std::int64_t j = 0; j < scales; ++j) {
            const float x = given(i, j);
            if (is_scale(model.scale_format, x)) continue;
            throw std::invalid_argument("scale " + std::to_string(j) + " of line " + std::to_string(i) + " of " + name +
                                        " is " + std::to_string(x) + ", not a scale in " + name_of(model.scale_format) +
                                        "; scales have no sign and are not rounded");
        }
    }
    if (given.rows == rows && given.cols == scales) return;
    throw std::invalid_argument("the scales of " + std::string(name) + " are " + std::to_string(given.rows) +
                                " lines of " + std::to_string(given.cols) + ", not " + std::to_string(rows) + " of " +
                                std::to_string(scales) + ": one for every " + std::to_string(model.scale_block) +
                                " elements along k");
}

void check(const BlockScaledModel& model, const BlockScaledProblem& problem) {
    const GemmProblem& p = problem.product;
    require_shapes(p);
    if (p.d.empty()) return;
    const std::int64_t scales = (p.k() + model.scale_block - 1) / model.scale_block;
    check_scales(model, problem.a_scales, p.m(), scales, "A");
    check_scales(model, problem.b_scales.transposed(), p.n(), scales, "B");
}

}  // namespace

float block_scaled_element(const BlockScaledModel& model, const BlockScaledProblem& problem, std::int64_t i,
                           std::int64_t j) {
    const GemmProblem& p = problem.product;
    return element_of(model, row_of(model, problem, i), column_of(model, problem, j), p.has_c() ? p.c(i, j) : 0.0F);
}

void gemm_plain(const BlockScaledModel& model, const BlockScaledProblem& problem) {
    check(model, problem);
    const GemmProblem& p = problem.product;
    std::vector<ScaledLine> columns;
    for (std::int64_t j = 0; p.m() > 0 && j < p.n(); ++j) columns.push_back(column_of(model, problem, j));
    for_each_index(p.m(), worth_threads(p.m() * p.n() * p.k() > (std::int64_t{1} << 16)), [&](std::int64_t i) {
        const ScaledLine row = row_of(model, problem, i);
        for (std::int64_t j = 0; j < p.n(); ++j) {
            const float c = p.has_c() ? p.c(i, j) : 0.0F;
            p.d(i, j) = element_of(model, row, columns[static_cast<std::size_t>(j)], c);
        }
    });
}

void gemm(const BlockScaledModel& model, const BlockScaledProblem& problem) {
    check(model, problem);
    const auto& kernels = kernels_of<gemm_kernels::Kernels>(simd_choice());
    if (!gemm_kernels::fast_scaled_gemm(kernels, model, problem)) gemm_plain(model, problem);
}

}  // namespace ulp
