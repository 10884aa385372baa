#include "engine/tape/scaled_matmul.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "engine/recipes/product_rules.hpp"
#include "engine/tape/quantized_product.hpp"
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
        bytes = bytes_of_copy(operands.left);
        bytes += bytes_of_copy(operands.right);
        quantized_product(plan, sided, std::move(operands), d, [&](const Product& p) { dispatch({&p, 1}); });
        if (sided.output) round_rows(*sided.output, d);
        ++purpose.part;
    }
    return bytes;
}

}  // namespace ulp::inline ULPLAB_MODE
