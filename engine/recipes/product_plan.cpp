#include "engine/recipes/product_plan.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/recipes/recipe.hpp"
#include "softfloat/format_names.hpp"

namespace ulp {
namespace {

bool varies_along_k(const OperandRule& operand) { return operand.how && operand.how->block.k != 0; }

/// The narrowest of bf16 and fp32 that holds an element times the scale of its block.
FloatFormat grid_of(const OperandRule& operand, const FloatFormat& plain) {
    if (!operand.how) return plain;
    const int element = operand.how->element.precision();
    const int scale = operand.how->scale.format.fraction_bits == 0 ? 0 : operand.how->scale.format.precision();
    return element + scale <= formats::bf16.precision() ? formats::bf16 : formats::fp32;
}

/// The types of a unit's product of elements and scales, where both operands have such blocks.
std::optional<ProductTypes> block_scaled_types(const OperandRule& a, const OperandRule& b, const FloatFormat& to) {
    if (!a.how || !b.how || a.how->block.k == 0 || a.how->block.k != b.how->block.k ||
        a.how->scale.format != b.how->scale.format) {
        return std::nullopt;
    }
    return ProductTypes{a.how->element, to, b.how->element, BlockScaling{a.how->scale.format, a.how->block.k}};
}

void require_same_transform(const OperandRule& a, const OperandRule& b) {
    const HadamardTransform none;
    if ((a.how ? a.how->transform : none) == (b.how ? b.how->transform : none)) return;
    throw std::invalid_argument("both operands of a product need the same Hadamard transform along k");
}

/// A piece of a promoted product has one scale a line.
void require_whole_pieces(const OperandRule& operand, int promote_every) {
    if (!varies_along_k(operand) || operand.how->block.k % promote_every == 0) return;
    throw std::invalid_argument(fmt::format("partial sums of {} k hold several blocks of {}; promote every {}",
                                            promote_every, operand.how->block.k, operand.how->block.k));
}

}  // namespace

ProductPlan plan_product(const ProductRule& rule, const ProductTypes& plain, const MatmulBackend& backend) {
    const auto& [a, b, promote_every, promote_to, output] = rule;
    if (promote_every < 0) {
        throw std::invalid_argument(
            fmt::format("a product promotes every {} k; give a count from 1 on, or 0 for none", promote_every));
    }
    if (!a.how && !b.how) return {ProductWay::plain, plain};
    require_same_transform(a, b);
    const ProductTypes elements{a.how ? a.how->element : plain.input, plain.accumulator,
                                b.how ? b.how->element : plain.b_input};
    if (promote_every > 0) {
        require_whole_pieces(a, promote_every);
        require_whole_pieces(b, promote_every);
        return {ProductWay::promoted, elements};
    }
    const std::optional<ProductTypes> scaled = block_scaled_types(a, b, plain.accumulator);
    if (scaled && backend.has_product(*scaled)) return {ProductWay::block_scaled, *scaled};
    if (!varies_along_k(a) && !varies_along_k(b)) return {ProductWay::scaled_after, elements};
    const FloatFormat x = grid_of(a, plain.input);
    const FloatFormat y = grid_of(b, plain.b_input);
    return {ProductWay::dequantised, {widest(x, y), plain.accumulator}};
}

std::string text_of(const ProductPlan& plan, const ProductRule& rule) {
    if (plan.way == ProductWay::dequantised) return ", of the numbers that elements and scales stand for";
    if (plan.way != ProductWay::promoted) return {};
    return fmt::format(", partial sums of {} k added in {}", rule.promote_every, name_of(rule.promote_to));
}

std::optional<std::string> refusal_of(const Recipe& recipe, const MatmulBackend& backend) {
    for (const ProductRule* rule : {&recipe.products.fprop, &recipe.products.dgrad, &recipe.products.wgrad}) {
        const ProductTypes types = plan_product(*rule, recipe.product_types(), backend).types;
        if (backend.has_product(types)) continue;
        return fmt::format(
            "{} has no {} product, which recipe {} needs; choose a unit that has it, with_ieee({}) for fp32 products, "
            "soft:ieee or eigen",
            backend.name(), name_of(types), recipe.name, backend.name());
    }
    return std::nullopt;
}

}  // namespace ulp
