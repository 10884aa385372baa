#include "engine/recipes/product_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/recipes/recipe.hpp"
#include "softfloat/names.hpp"

namespace ulp {

// Each list of names is all fields of its struct: a new one does not compile until it is here, too.
std::string text_of(const OperandRule& rule) {
    const auto& [how, history] = rule;
    if (!how) return "as it is";
    const auto& [length, most_recent, key] = history;
    return fmt::format("{}, history {} {} {}", text_of(*how), length, most_recent, static_cast<int>(key));
}

std::string text_of(const ProductRule& rule) {
    const auto& [a, b, promote_every, promote_to, output] = rule;
    return fmt::format("a: {}; b: {}; promote {} {}; output {}", text_of(a), text_of(b), promote_every,
                       name_of(promote_to), output ? name_of(*output) : "none");
}

std::string text_of(const Exclusion& exclusion) {
    const auto& [layer, kind, first, last, recipe] = exclusion;
    return fmt::format("layer '{}' kind '{}' first {} last {}: {}", layer, kind, first, last, recipe);
}

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

namespace {

/// What a scale is computed from; 0 without earlier uses.
float statistic_of(const ScaleHistory& rule, const std::vector<float>& magnitudes) {
    if (magnitudes.empty()) return 0;
    return rule.most_recent ? magnitudes.back() : *std::ranges::max_element(magnitudes);
}

void enter(float magnitude, int length, std::vector<float>& magnitudes) {
    magnitudes.push_back(magnitude);
    if (magnitudes.size() > static_cast<std::size_t>(length)) magnitudes.erase(magnitudes.begin());
}

std::vector<float> known_at(const ScalingHistory& history, const std::string& place) {
    const auto entry = history.find(place);
    return entry == history.end() ? std::vector<float>() : entry->second;
}

}  // namespace

Quantized quantized_operand(const OperandRule& rule, const MatrixView& lines, const OperandPlace& place,
                            ScalingHistory& history, bool remember, QuantizedUse use) {
    if (rule.history.length == 0) return quantize(*rule.how, lines, use);
    const bool by_tensor = rule.history.key == ScaleHistory::Key::tensor;
    const std::string& key = by_tensor ? place.tensor : place.product;
    const std::string scale_key = key + ", scale";
    const std::vector<float> scale = by_tensor ? known_at(history, scale_key) : std::vector<float>();
    use.old_encode = scale.empty() ? 1 : scale.front();
    const bool again = by_tensor && place.used_before;
    Quantization how = *rule.how;
    if (again) how.zero = SpecialScale::old;
    use.statistic = again ? 0 : statistic_of(rule.history, known_at(history, key));
    Quantized q = quantize(how, lines, use);
    if (!remember || again) return q;
    enter(q.statistic, rule.history.length, history[key]);
    if (by_tensor) history[scale_key] = {q.encode};
    return q;
}

}  // namespace ulp
