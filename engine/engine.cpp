#include "engine/engine.hpp"

#include <vector>

#include "engine/rounder.hpp"

namespace ulp {

namespace {

void dispatch(const Engine& engine, const ProductTypes& types, ProductPurpose purpose, const MatrixView& a,
              const MatrixView& b, const MutableMatrixView& d) {
    if (engine.product_tap) {
        engine.product_tap({purpose.layer, purpose.pass, types, a.rows, b.cols, a.cols,
                            engine.backend->path(types, a.rows, b.cols, a.cols)});
    }
    engine.backend->matmul({types, a, b, std::nullopt, d});
}

/// What a copy of an operand takes: in the narrow format, and in the fp32 container.
ByteCount bytes_of_copy(const MatrixView& operand, const FloatFormat& narrow) {
    const std::int64_t size = operand.rows * operand.cols;
    return {size * narrow.storage_bits() / 8, size * static_cast<std::int64_t>(sizeof(float))};
}

/// Operands in 8 bits with a scale each; the scales, powers of two, are taken out of the result again.
ByteCount matmul_with_delayed_scales(const Engine& engine, const ProductTypes& types, ProductPurpose purpose,
                                     const MatrixView& a, const MatrixView& b, const MutableMatrixView& d) {
    const Recipe& recipe = engine.recipe;
    const auto format_of = [&](ProductPurpose::Gradient which) {
        return purpose.gradient == which ? recipe.scaled_gradient : recipe.scaled_operand;
    };
    const ProductTypes narrow{format_of(ProductPurpose::Gradient::a), types.accumulator,
                              format_of(ProductPurpose::Gradient::b)};
    const std::string place = std::string(purpose.layer) + ", " + std::string(purpose.pass);
    ScalingHistory& history = *engine.scaling_history;
    const ScaledMatrix x = with_delayed_scale(a, narrow.input, place + ", a", recipe.scaling_history, history);
    const ScaledMatrix y = with_delayed_scale(b, narrow.b_input, place + ", b", recipe.scaling_history, history);
    dispatch(engine, narrow, purpose, x.matrix, y.matrix, d);
    const float back = x.inverse_scale * y.inverse_scale;
    for (Index i = 0; i < d.rows; ++i) {
        for (Index j = 0; j < d.cols; ++j) d(i, j) *= back;
    }
    ByteCount bytes = bytes_of_copy(a, narrow.input);
    return bytes += bytes_of_copy(b, narrow.b_input);
}

/// Operands as blocks along k. A block's numbers, a power of two times 8 bits or less, are numbers of bf16, which is
/// what the backend multiplies.
ByteCount matmul_of_blocks(const Engine& engine, const ProductTypes& types, ProductPurpose purpose, const MatrixView& a,
                           const MatrixView& b, const MutableMatrixView& d) {
    const Matrix x = in_blocks(a, engine.recipe.scaled_operand);
    const Matrix y = in_blocks(b.transposed(), engine.recipe.scaled_operand);
    dispatch(engine, {formats::bf16, types.accumulator}, purpose, x, transposed(y), d);
    ByteCount bytes = bytes_of_copy(a, engine.recipe.scaled_operand);
    return bytes += bytes_of_copy(b, engine.recipe.scaled_operand);
}

}  // namespace

template <>
ByteCount scaled_matmul(const Engine& engine, const ProductTypes& types, ProductPurpose purpose,
                        const BasicMatrixView<const float>& a, const BasicMatrixView<const float>& b,
                        const BasicMatrixView<float>& d) {
    switch (engine.recipe.scaling) {
        case OperandScaling::delayed: return matmul_with_delayed_scales(engine, types, purpose, a, b, d);
        case OperandScaling::blocks: return matmul_of_blocks(engine, types, purpose, a, b, d);
        case OperandScaling::none: break;
    }
    dispatch(engine, types, purpose, a, b, d);
    return {};
}

template <>
ByteCount scaled_matmul(const Engine&, const ProductTypes&, ProductPurpose, const BasicMatrixView<const double>& a,
                        const BasicMatrixView<const double>& b, const BasicMatrixView<double>& d) {
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
