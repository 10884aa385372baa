#include "engine/tape/scaled_matmul.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cfloat>
#include <cmath>
#include <optional>
#include <vector>

#include "engine/recipes/product_rules.hpp"
#include "engine/tape/quantized_product.hpp"
#include "engine/tensor/parallel.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/rounder.hpp"
#include "engine/tensor/storage.hpp"

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
    void dispatch(const ProductPlan& plan, const ProductRule& rule, std::span<const Product> products) const {
        if (run.observers.product_tap) {
            for (const Product& p : products) {
                const Index m = p.a.rows, n = p.b.cols, k = p.a.cols;
                run.observers.product_tap({purpose.layer, name_of(purpose.pass), p.types, m, n, k,
                                           engine.backend->path(p.types, m, n, k) + text_of(plan, rule)});
            }
        }
        engine.backend->matmul(products);
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
    const auto dispatch = [&](std::span<const Product> some) { request.dispatch(plan, sided, some); };
    if (plan.way == ProductWay::plain) {
        std::vector<Product> plain;
        for (const auto& [a, b, d] : products) plain.push_back({types, a, b, std::nullopt, d});
        dispatch(plain);
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
        quantized_product(plan, sided, std::move(operands), d, [&](const Product& p) { dispatch({&p, 1}); });
        if (sided.output) round_rows(*sided.output, d);
        ++purpose.part;
    }
    return bytes;
}

}  // namespace ulp::inline ULPLAB_MODE
