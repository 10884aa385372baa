#include "engine/tape/scaled_matmul.hpp"

#include <vector>

#include "engine/rounding/rounder.hpp"
#include "softfloat/quantization/block_scaled.hpp"

namespace ulp {

namespace {

void dispatch(const Engine& engine, const Run& run, ProductPurpose purpose, const Product& p) {
    if (run.observers.product_tap) {
        run.observers.product_tap({purpose.layer, purpose.pass, p.types, p.a.rows, p.b.cols, p.a.cols,
                                   engine.backend->path(p.types, p.a.rows, p.b.cols, p.a.cols)});
    }
    engine.backend->matmul(p);
}

/// What a copy of an operand takes: in the narrow format, and in the fp32 container.
ByteCount bytes_of_copy(const MatrixView& operand, const FloatFormat& narrow) {
    const std::int64_t size = operand.rows * operand.cols;
    return {size * narrow.storage_bits() / 8, size * static_cast<std::int64_t>(sizeof(float))};
}

/// Operands in 8 bits with a scale each; the scales, powers of two, are taken out of the result again.
ByteCount matmul_with_delayed_scales(const Engine& engine, Run& run, const ProductTypes& types, ProductPurpose purpose,
                                     const MatrixView& a, const MatrixView& b, const MutableMatrixView& d) {
    const Recipe& recipe = engine.recipe;
    const auto format_of = [&](ProductPurpose::Gradient which) {
        return purpose.gradient == which ? recipe.scaled_gradient : recipe.scaled_operand;
    };
    const ProductTypes narrow{format_of(ProductPurpose::Gradient::a), types.accumulator,
                              format_of(ProductPurpose::Gradient::b)};
    const std::string place = std::string(purpose.layer) + ", " + std::string(purpose.pass);
    const auto scaled = [&](const MatrixView& operand, const FloatFormat& format, const std::string& name) {
        const std::string of = place + ", " + name;
        if (run.training) return with_delayed_scale(operand, format, of, recipe.scaling_history, run.scaling_history);
        return with_remembered_scale(operand, format, of, run.scaling_history);
    };
    const ScaledMatrix x = scaled(a, narrow.input, "a");
    const ScaledMatrix y = scaled(b, narrow.b_input, "b");
    dispatch(engine, run, purpose, {narrow, x.matrix, y.matrix, std::nullopt, d});
    const float back = x.inverse_scale * y.inverse_scale;
    for (Index i = 0; i < d.rows; ++i) {
        for (Index j = 0; j < d.cols; ++j) d(i, j) *= back;
    }
    ByteCount bytes = bytes_of_copy(a, narrow.input);
    return bytes += bytes_of_copy(b, narrow.b_input);
}

/// Operands as blocks along k: elements and scales where the backend has such a product. Elsewhere it multiplies the
/// numbers that they stand for, which, a power of two times 8 bits or less, are numbers of bf16.
ByteCount matmul_of_blocks(const Engine& engine, const Run& run, const ProductTypes& types, ProductPurpose purpose,
                           const MatrixView& a, const MatrixView& b, const MutableMatrixView& d) {
    const FloatFormat& element = engine.recipe.scaled_operand;
    const ProductTypes scaled{element, types.accumulator, element,
                              BlockScaling{formats::e8m0, static_cast<int>(mx_block_size)}};
    if (engine.backend->has_product(scaled)) {
        const BlockScaledMatrix x = block_scaled(a, element);
        const BlockScaledMatrix y = block_scaled(b.transposed(), element);
        dispatch(engine, run, purpose,
                 {scaled, x.elements, transposed(y.elements), std::nullopt, d, x.scales, transposed(y.scales)});
    } else {
        const Matrix x = in_blocks(a, element);
        const Matrix y = in_blocks(b.transposed(), element);
        dispatch(engine, run, purpose, {{formats::bf16, types.accumulator}, x, transposed(y), std::nullopt, d});
    }
    ByteCount bytes = bytes_of_copy(a, element);
    return bytes += bytes_of_copy(b, element);
}

}  // namespace

template <>
ByteCount scaled_matmul(const Engine& engine, Run& run, const ProductTypes& types, ProductPurpose purpose,
                        const BasicMatrixView<const float>& a, const BasicMatrixView<const float>& b,
                        const BasicMatrixView<float>& d) {
    switch (engine.recipe.scaling) {
        case OperandScaling::delayed: return matmul_with_delayed_scales(engine, run, types, purpose, a, b, d);
        case OperandScaling::blocks: return matmul_of_blocks(engine, run, types, purpose, a, b, d);
        case OperandScaling::none: break;
    }
    dispatch(engine, run, purpose, {types, a, b, std::nullopt, d});
    return {};
}

template <>
ByteCount scaled_matmul(const Engine&, Run&, const ProductTypes&, ProductPurpose,
                        const BasicMatrixView<const double>& a, const BasicMatrixView<const double>& b,
                        const BasicMatrixView<double>& d) {
    for (Index i = 0; i < a.rows; ++i) {
        for (Index j = 0; j < b.cols; ++j) {
            double sum = 0;
            for (Index k = 0; k < a.cols; ++k) sum += a(i, k) * b(k, j);
            d(i, j) = sum;
        }
    }
    return {};
}

}  // namespace ulp
