#include "engine/tape/scaled_matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "engine/recipes/product_rules.hpp"
#include "engine/tensor/matrix.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/rounder.hpp"
#include "engine/tensor/storage.hpp"
#include "softfloat/quantization/quantize.hpp"

// Products of quantised operands, by each of the ways that a plan may take (engine/recipes/product_rules.hpp).

namespace ulp {
namespace {

/// A (m x k) and B (k x n) as they are, and quantised where their rules say so: the left one's lines are A's rows, the
/// right one's B's columns.
struct QuantizedOperands {
    MatrixView a, b;
    std::optional<Quantized> left, right;
};

using Dispatch = std::function<void(const Product&)>;

/// An operand's elements as lines along k, or the operand itself.
MatrixView elements_of(const std::optional<Quantized>& q, const MatrixView& plain) { return q ? q->elements() : plain; }
float tensor_scale_of(const std::optional<Quantized>& q) { return q ? q->tensor_scale : 1; }

/// The scale of each line for the block that holds place k, tensor scales not included; empty for 1.
std::vector<float> scales_at(const std::optional<Quantized>& q, Index k) {
    if (!q) return {};
    std::vector<float> scales(static_cast<std::size_t>(q->lines));
    for (Index i = 0; i < q->lines; ++i) {
        scales[static_cast<std::size_t>(i)] = q->scale(i / q->block_lines(), k / q->block_k());
    }
    return scales;
}
float scale_of(const std::vector<float>& scales, Index i) {
    return scales.empty() ? 1 : scales[static_cast<std::size_t>(i)];
}

/// f(d(i, j), i, j) for all numbers, along rows or columns as they lie.
template <class Function>
void each_number(const MutableMatrixView& d, const Function& f) {
    const bool by_columns = d.col_major() && !d.row_major();
    const MutableMatrixView lines = by_columns ? d.transposed() : d;
    in_parallel(lines.rows, lines.cols, [&](Index first, Index last) {
        for (Index i = first; i < last; ++i) {
            for (Index j = 0; j < lines.cols; ++j) by_columns ? f(lines(i, j), j, i) : f(lines(i, j), i, j);
        }
    });
}

/// Rounds each number to the format.
void round_rows(const FloatFormat& format, const MutableMatrixView& d) {
    const Rounder<float> rounder(format);
    each_number(d, [&](float& x, Index, Index) { x = rounder(x); });
}

/// What multiplies D at the end: the tensor scales of both operands.
void multiply_tensor_scales(const QuantizedOperands& o, const MutableMatrixView& d) {
    const float both = tensor_scale_of(o.left) * tensor_scale_of(o.right);
    if (both != 1) each_number(d, [&](float& x, Index, Index) { x *= both; });
}

/// The scales of an operand's blocks, one line each where a block spans several: these are copied to `memory`.
MatrixView line_scales(const Quantized& q, Matrix& memory) {
    if (q.block_lines() == 1) return {q.scales.data(), q.lines, q.blocks_along_k};
    memory = Matrix(q.lines, q.blocks_along_k);
    for (Index i = 0; i < q.lines; ++i) {
        for (Index j = 0; j < q.blocks_along_k; ++j) memory(i, j) = q.scale(i / q.block_lines(), j);
    }
    return memory;
}

void block_scaled(const ProductPlan& plan, const QuantizedOperands& o, const MutableMatrixView& d,
                  const Dispatch& dispatch) {
    Matrix of_left, of_right;
    const MatrixView x = line_scales(*o.left, of_left);
    const MatrixView y = line_scales(*o.right, of_right);
    dispatch({plan.types, o.left->elements(), o.right->elements().transposed(), std::nullopt, d, x, y.transposed()});
    multiply_tensor_scales(o, d);
}

void scaled_after(const ProductPlan& plan, const QuantizedOperands& o, const MutableMatrixView& d,
                  const Dispatch& dispatch) {
    dispatch(
        {plan.types, elements_of(o.left, o.a), elements_of(o.right, o.b.transposed()).transposed(), std::nullopt, d});
    const std::vector<float> x = scales_at(o.left, 0);
    const std::vector<float> y = scales_at(o.right, 0);
    each_number(d, [&](float& value, Index i, Index j) { value *= scale_of(x, i) * scale_of(y, j); });
    multiply_tensor_scales(o, d);
}

void promoted(const ProductPlan& plan, const ProductRule& rule, const QuantizedOperands& o, const MutableMatrixView& d,
              const Dispatch& dispatch) {
    const MatrixView a = elements_of(o.left, o.a);
    const MatrixView b = elements_of(o.right, o.b.transposed()).transposed();
    Matrix partial(d.rows, d.cols);
    each_number(d, [](float& sum, Index, Index) { sum = 0; });
    for (Index k = 0; k < a.cols; k += rule.promote_every) {
        const Index count = std::min<Index>(rule.promote_every, a.cols - k);
        dispatch({plan.types, a.part(0, k, a.rows, count), b.part(k, 0, count, b.cols), std::nullopt, partial});
        const std::vector<float> x = scales_at(o.left, k);
        const std::vector<float> y = scales_at(o.right, k);
        each_number(d, [&](float& sum, Index i, Index j) { sum += partial(i, j) * (scale_of(x, i) * scale_of(y, j)); });
        if (rule.promote_to != formats::fp32) round_rows(rule.promote_to, d);
    }
    multiply_tensor_scales(o, d);
}

/// Lines of what an operand's elements and scales stand for, on the product's grid, without the tensor scale; in the
/// elements' memory.
MatrixView meant(std::optional<Quantized>& q, const FloatFormat& grid, const MatrixView& plain) {
    if (!q) return plain;
    dequantize_blocks(*q);
    round_all(grid, q->numbers);
    return q->elements();
}

void dequantised(const ProductPlan& plan, QuantizedOperands& o, const MutableMatrixView& d, const Dispatch& dispatch) {
    const MatrixView x = meant(o.left, plan.types.input, o.a);
    const MatrixView y = meant(o.right, plan.types.b_input, o.b.transposed());
    dispatch({plan.types, x, y.transposed(), std::nullopt, d});
    multiply_tensor_scales(o, d);
}

/// D = A * B by the plan; `dispatch` computes products of the plan's types. Uses the operands up.
void quantized_product(const ProductPlan& plan, const ProductRule& rule, QuantizedOperands operands,
                       const MutableMatrixView& d, const Dispatch& dispatch) {
    switch (plan.way) {
        case ProductWay::plain: return dispatch({plan.types, operands.a, operands.b, std::nullopt, d});
        case ProductWay::promoted: return promoted(plan, rule, operands, d, dispatch);
        case ProductWay::block_scaled: return block_scaled(plan, operands, d, dispatch);
        case ProductWay::scaled_after: return scaled_after(plan, operands, d, dispatch);
        case ProductWay::dequantised: return dequantised(plan, operands, d, dispatch);
    }
}

}  // namespace
}  // namespace ulp

namespace ulp::inline ULPLAB_MODE {

std::string_view name_of(ProductPass pass) {
    constexpr std::string_view names[] = {"forward", "input gradient", "weight gradient"};
    return names[static_cast<std::size_t>(pass)];
}

namespace {

const ProductRule& rule_of(const ProductRules& rules, ProductPass pass) {
    constexpr ProductRule ProductRules::*by_pass[] = {&ProductRules::fprop, &ProductRules::dgrad, &ProductRules::wgrad};
    return rules.*by_pass[static_cast<std::size_t>(pass)];
}

/// x, w and dy by their side in the rules (A, B) of each pass.
std::string_view tensor_of(ProductPass pass, bool right) {
    constexpr std::string_view tensors[][2] = {{"x", "w"}, {"dy", "w"}, {"dy", "x"}};
    return tensors[static_cast<std::size_t>(pass)][right ? 1 : 0];
}

/// What a product is asked for, and by whom.
struct Request {
    const Engine& engine;
    Run& run;
    const ProductPurpose& purpose;

    /// A stream of random numbers of its own: by layer, pass, part, step and `what`.
    [[nodiscard]] std::uint64_t stream(std::string_view what) const {
        return hash_of(
            fmt::format("{}, {}, {}, {}, {}", purpose.layer, name_of(purpose.pass), purpose.part, run.step, what));
    }
    void tell_tap(const ProductPlan& plan, const ProductRule& rule, std::span<const Product> products) const {
        if (!run.observers.product_tap) return;
        for (const Product& p : products) {
            const Index m = p.a.rows, n = p.b.cols, k = p.a.cols;
            run.observers.product_tap({purpose.layer, name_of(purpose.pass), p.types, m, n, k,
                                       engine.backend->path(p.types, m, n, k) + text_of(plan, rule)});
        }
    }
    /// An operand by its rule: `right` counts in the rules, `side` is its place in this product.
    [[nodiscard]] std::optional<Quantized> quantized(const OperandRule& rule, bool right, std::string_view side,
                                                     const MatrixView& lines) const {
        if (!rule.how) return std::nullopt;
        const std::string_view tensor = tensor_of(purpose.pass, right);
        const bool of_forward = purpose.pass != ProductPass::forward && tensor != "dy";
        const OperandPlace place{fmt::format("{}, {}, {}", purpose.layer, name_of(purpose.pass), side),
                                 fmt::format("{}, {}", purpose.layer, tensor),
                                 of_forward || (tensor == "dy" && purpose.gradient_used_before)};
        return quantized_operand(
            rule, lines, place, run.scaling_history, run.training,
            {.seed = run.seed, .stream = stream(side), .signs_stream = stream("signs"), .memory = storage_resource()});
    }
};

/// How many of the lines' numbers their scale leaves no room for. A transform's numbers have scales of their own.
std::int64_t saturated_numbers(const std::optional<Quantized>& q, const MatrixView& lines) {
    if (!q || q->how.transform.size > 0) return 0;
    const FloatFormat& element = q->how.element;
    const double largest = round_to(element, FLT_MAX, Context{.saturate = true});
    const auto limit = static_cast<float>(largest + std::ldexp(0.5, element.emax() - element.fraction_bits));
    const bool by_columns = !lines.row_major();
    const MatrixView view = by_columns ? lines.transposed() : lines;
    const Index high = by_columns ? q->block_k() : q->block_lines(),
                wide = by_columns ? q->block_lines() : q->block_k();
    std::atomic<std::int64_t> count = 0;
    in_parallel(view.rows, view.cols, [&](Index first, Index last) {
        std::int64_t found = 0;
        for (Index i = first; i < last; ++i) {
            for (Index j = 0; j < view.cols; j += wide) {
                const float scale = by_columns ? q->scale(j / wide, i / high) : q->scale(i / high, j / wide);
                const float most = limit * scale * q->tensor_scale;
                for (Index l = j; l < std::min(j + wide, view.cols); ++l) {
                    const float x = std::abs(view(i, l));
                    found += static_cast<int>(x > most) & static_cast<int>(x <= FLT_MAX);
                }
            }
        }
        count += found;
    });
    return count;
}

/// What a copy of an operand takes: in its element format, and in the fp32 container.
ByteCount bytes_of_copy(const std::optional<Quantized>& operand) {
    if (!operand) return {};
    const std::int64_t size = operand->lines * operand->k;
    return {size * operand->how.element.storage_bits() / 8, size * static_cast<std::int64_t>(sizeof(float))};
}

}  // namespace

ByteCount scaled_matmul(const Engine& engine, Run& run, const ProductTypes& types, ProductPurpose purpose,
                        std::span<const MatrixProduct> products) {
    const Request request{engine, run, purpose};
    const ProductRule& rule = rule_of(purpose.rules != nullptr ? *purpose.rules : engine.recipe.products, purpose.pass);
    // The rules name dy first; a product may have it on its right.
    const bool swapped = purpose.gradient == ProductPurpose::Gradient::b;
    ProductRule sided = rule;
    if (swapped) std::swap(sided.a, sided.b);
    const ProductPlan plan = plan_product(sided, types, *engine.backend);
    if (plan.way == ProductWay::plain) {
        std::vector<Product> plain;
        for (const auto& [a, b, d] : products) plain.push_back({types, a, b, std::nullopt, d});
        request.tell_tap(plan, sided, plain);
        engine.backend->matmul(plain);
        return {};
    }
    ByteCount bytes;
    for (const auto& [a, b, d] : products) {
        QuantizedOperands operands{a, b, request.quantized(sided.a, swapped, "a", a),
                                   request.quantized(sided.b, !swapped, "b", b.transposed())};
        if (purpose.saturated != nullptr) {
            *purpose.saturated +=
                saturated_numbers(operands.left, a) + saturated_numbers(operands.right, b.transposed());
        }
        bytes = bytes_of_copy(operands.left);
        bytes += bytes_of_copy(operands.right);
        quantized_product(plan, sided, std::move(operands), d, [&](const Product& p) {
            request.tell_tap(plan, sided, {&p, 1});
            engine.backend->matmul(p);
        });
        if (sided.output) round_rows(*sided.output, d);
        ++purpose.part;
    }
    return bytes;
}

}  // namespace ulp::inline ULPLAB_MODE
