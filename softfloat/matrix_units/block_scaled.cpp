#include "softfloat/matrix_units/block_scaled.hpp"

#include <stdexcept>
#include <vector>

#include "softfloat/format_names.hpp"
#include "softfloat/support/nearest_names.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {

namespace {

std::vector<BlockScaledRow> build_table() {
    using namespace formats;
    const std::string claim = "MMA-Sim, arXiv 2511.10909";
    std::vector<BlockScaledRow> rows;
    const auto add = [&](const std::string& key, const FloatFormat& element, int k, int fraction_bits,
                         const FloatFormat& scale, int block, int exact) {
        const TensorCoreModel unscaled{.a_format = element,
                                       .b_format = element,
                                       .instruction_k = k,
                                       .group_size = k,
                                       .fraction_bits = fraction_bits};
        rows.push_back(
            {key + "." + name_of(element) + ".fp32", {unscaled, scale, block, exact}, Evidence::published, claim});
    };
    for (const std::string unit : {"sm_100:tcgen05", "sm_120:mma"}) {
        for (const FloatFormat& element : {e4m3, e5m2, e3m2, e2m3, e2m1})
            add(unit + ".mxf8f6f4", element, 32, 25, e8m0, 32, 1);
        add(unit + ".mxf4", e2m1, 64, 35, e8m0, 32, 16);
        add(unit + ".nvf4", e2m1, 64, 35, e4m3, 16, 16);
    }
    return rows;
}

/// Codes of the rows of a matrix, each filled up to `padded` codes with `filling`.
std::vector<std::uint32_t> codes_of(const FloatFormat& format, const MatrixView& matrix, std::int64_t padded,
                                    std::uint32_t filling) {
    std::vector<std::uint32_t> codes(static_cast<std::size_t>(matrix.rows * padded), filling);
    for (std::int64_t i = 0; i < matrix.rows; ++i) {
        for (std::int64_t j = 0; j < matrix.cols; ++j) {
            codes[static_cast<std::size_t>(i * padded + j)] = operand_code(format, matrix(i, j));
        }
    }
    return codes;
}

}  // namespace

void block_scaled_gemm(const BlockScaledModel& model, const BlockScaledProblem& problem) {
    const GemmProblem& p = problem.product;
    require_shapes(p);
    if (p.d.empty()) return;
    const TensorCoreModel& unscaled = model.unscaled;
    const std::int64_t step = unscaled.instruction_k;
    const std::int64_t k = (p.k() + step - 1) / step * step;
    const std::int64_t scales = (p.k() + model.scale_block - 1) / model.scale_block;
    const std::int64_t scales_k = k / model.scale_block;
    const std::uint32_t one = operand_code(model.scale_format, 1.0F);
    const auto a = codes_of(unscaled.a_format, p.a, k, 0);
    const auto b = codes_of(unscaled.b_format, p.b.transposed(), k, 0);
    const auto scale_codes = [&](const MatrixView& given, std::int64_t rows, const char* name) {
        if (given.data == nullptr) return std::vector<std::uint32_t>(static_cast<std::size_t>(rows * scales_k), one);
        if (given.rows == rows && given.cols == scales) return codes_of(model.scale_format, given, scales_k, one);
        throw std::invalid_argument("the scales of " + std::string(name) + " are " + std::to_string(given.rows) +
                                    " lines of " + std::to_string(given.cols) + ", not " + std::to_string(rows) +
                                    " of " + std::to_string(scales) + ": one for every " +
                                    std::to_string(model.scale_block) + " elements along k");
    };
    const auto x = scale_codes(problem.a_scales, p.m(), "A");
    const auto y = scale_codes(problem.b_scales.transposed(), p.n(), "B");
    for_each_index(p.m(), worth_threads(p.m() * p.n() * p.k() > (std::int64_t{1} << 16)), [&](std::int64_t i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            std::uint32_t d = !p.has_c() ? 0 : operand_code(unscaled.accumulator, p.c(i, j));
            for (std::int64_t at = 0; at < k; at += step) {
                const std::int64_t scale = at / model.scale_block;
                d = block_scaled_dot(model, a.data() + i * k + at, b.data() + j * k + at,
                                     x.data() + i * scales_k + scale, y.data() + j * scales_k + scale, d);
            }
            p.d(i, j) = in_fp32_container(unscaled.accumulator, d);
        }
    });
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
