#include "softfloat/matrix_units/block_scaled.hpp"

#include <stdexcept>
#include <vector>

#include "softfloat/matrix_units/gemm_kernels/fast_scaled_gemm.hpp"
#include "softfloat/matrix_units/gemm_path.hpp"
#include "softfloat/matrix_units/table/mma_sim.hpp"
#include "softfloat/support/nearest_names.hpp"
#include "softfloat/support/parallel.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {

namespace {

std::vector<BlockScaledRow> build_table() {
    using namespace formats;
    std::vector<BlockScaledRow> rows;
    const auto add = [&](const std::string& unit, const FloatFormat& a, const FloatFormat& b, int k, int fraction_bits,
                         const FloatFormat& scale, int block, int exact, const std::string& source) {
        const TensorCoreModel unscaled{
            .a_format = a, .b_format = b, .instruction_k = k, .group_size = k, .fraction_bits = fraction_bits};
        rows.push_back(
            {unit + "." + names_of(a, b) + ".fp32", {unscaled, scale, block, exact}, Evidence::published, source});
    };
    const std::string source = equal_to_mma_sim();
    for (const std::string unit : {"sm_100:tcgen05", "sm_120:mma"}) {
        for (const auto& [a, b] : f8f6f4_pairs()) {
            add(unit + ".mxf8f6f4", a, b, 32, 25, e8m0, 32, 1, f8f6f4_source(a, b));
        }
        // kind::mxf4nvf4 by the format of its scales; PTX ISA 9.1 added E8M0 for blocks of 16.
        add(unit + ".mxf4", e2m1, e2m1, 64, 35, e8m0, 32, 16, source);
        add(unit + ".mxf4_block16", e2m1, e2m1, 64, 35, e8m0, 16, 16, source);
        add(unit + ".nvf4", e2m1, e2m1, 64, 35, e4m3, 16, 16, source);
    }
    add("sm_120:mma.nvf4_block32", e2m1, e2m1, 64, 35, e4m3, 32, 16,
        source + "; listed by its version 1, which has no GPU test of it");
    return rows;
}

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

void check_scales(const BlockScaledModel& model, const MatrixView& given, std::int64_t rows, std::int64_t scales,
                  const char* name) {
    if (given.data == nullptr || (given.rows == rows && given.cols == scales)) return;
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

void block_scaled_gemm_plain(const BlockScaledModel& model, const BlockScaledProblem& problem) {
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

void block_scaled_gemm(const BlockScaledModel& model, const BlockScaledProblem& problem) {
    check(model, problem);
    const GemmProblem& p = problem.product;
    if (choose_path(model, p.m(), p.n(), p.k()).kernel == GemmKernel::definition) {
        return block_scaled_gemm_plain(model, problem);
    }
    gemm_kernels::fast_scaled_gemm(kernels_of<gemm_kernels::Kernels>(simd_choice()), model, problem);
}

std::span<const BlockScaledRow> block_scaled_table() {
    static const std::vector<BlockScaledRow> table = build_table();
    return table;
}

const BlockScaledRow& find_block_scaled_model(std::string_view key) {
    std::vector<std::string> keys;
    for (const BlockScaledRow& row : block_scaled_table()) {
        if (row.key == key) return row;
        keys.push_back(row.key);
    }
    throw std::invalid_argument("there is no block-scaled model '" + std::string(key) + "'; nearest are " +
                                nearest_names(key, keys) + ", and `ulplab models` lists all");
}

}  // namespace ulp
