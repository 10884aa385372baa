#include "engine/recipes/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/recipes/quantized_recipes.hpp"

namespace ulp {
namespace {

bool holds(const FloatFormat& outer, const FloatFormat& inner) {
    return outer.fraction_bits >= inner.fraction_bits && outer.emax() >= inner.emax() &&
           outer.smallest_exponent() <= inner.smallest_exponent();
}

std::vector<CastRule> losses_in_fp32() {
    return {{"cross_entropy", Cast::single},
            {"mse", Cast::single},
            {"bce_with_logits", Cast::single},
            {"ctc", Cast::single}};
}

/// Weights, activations and gradients in a 16-bit format, fp32 masters, the loss in fp32.
Recipe mixed(std::string name, std::string what, const FloatFormat& low, LossScaleOptions loss_scale) {
    return {.name = std::move(name),
            .what = std::move(what),
            .low = low,
            .weights = low,
            .inputs = low,
            .operand = low,
            .master_weights = true,
            .keep_batchnorm_fp32 = true,
            .cast_rules = losses_in_fp32(),
            .loss_scale = std::move(loss_scale)};
}

/// Everything in the format, each step rounded to it.
Recipe pure(std::string name, std::string what, const FloatFormat& format, const FloatFormat& accumulator) {
    return {.name = std::move(name),
            .what = std::move(what),
            .low = format,
            .weights = format,
            .inputs = format,
            .compute = format,
            .operand = format,
            .accumulator = accumulator,
            .update = format};
}

/// 16-bit weights that the optimizer updates themselves.
Recipe without_masters(std::string name, std::string what, const FloatFormat& low, LossScaleOptions loss_scale,
                       UpdateRounding rounding) {
    Recipe recipe = mixed(std::move(name), std::move(what), low, std::move(loss_scale));
    recipe.master_weights = false;
    recipe.update_rounding = rounding;
    return recipe;
}

}  // namespace

FloatFormat widest(const FloatFormat& a, const FloatFormat& b) {
    if (holds(a, b)) return a;
    return holds(b, a) ? b : formats::fp32;
}

OpPrecision Recipe::precision_of(std::string_view op, std::span<const FloatFormat> tensors) const {
    FloatFormat input = tensors.empty() ? inputs : tensors.front();
    for (const FloatFormat& format : tensors) input = widest(input, format);
    for (const CastRule& rule : cast_rules) {
        if (rule.op != op) continue;
        if (rule.cast == Cast::low) input = low;
        if (rule.cast == Cast::single) input = formats::fp32;
        if (rule.cast == Cast::banned) {
            throw std::invalid_argument(fmt::format("recipe {} bans {}: its result is unsafe in 16 bits", name, op));
        }
    }
    const auto grid = [&](const FloatFormat& wanted) { return holds(wanted, input) ? input : wanted; };
    const ProductTypes product{grid(operand), accumulator, grid(b_operand.value_or(operand))};
    return {input, {widest(compute, input), rounding}, input, product};
}

const std::vector<Recipe>& recipes() {
    static const std::vector<Recipe> rows = [] {
        Recipe tf32{
            .name = "tf32", .what = "fp32, but products round their operands to tf32", .operand = formats::tf32};
        Recipe fp64 = pure("fp64", "everything in fp64, for gradient checks", formats::fp64, formats::fp64);
        Recipe fp16_loss = mixed("mixed_fp16_fp16_loss", "mixed_fp16 with the loss in fp16, then scaled", formats::fp16,
                                 loss_scale_dialect("pytorch"));
        fp16_loss.cast_rules.clear();
        Recipe bf16_moments = mixed("bf16_moments", "as bf16, the optimizer's moments kept in bf16 (DeepSeek-V3)",
                                    formats::bf16, constant_loss_scale(1));
        bf16_moments.state.m = bf16_moments.state.v = {formats::bf16};
        using enum UpdateRounding;
        std::vector<Recipe> all = {
            {.name = "fp32", .what = "everything in fp32; with soft:ieee in a written order"},
            tf32,
            mixed("bf16", "weights, activations and gradients in bf16, fp32 masters", formats::bf16,
                  constant_loss_scale(1)),
            mixed("mixed_fp16", "weights, activations and gradients in fp16, fp32 masters, a dynamic loss scale",
                  formats::fp16, loss_scale_dialect("pytorch")),
            fp16_loss,
            pure("fp16", "all in fp16, products accumulated in it, no masters, no loss scale", formats::fp16,
                 formats::fp16),
            pure("pure_bf16", "all in bf16, products accumulated in fp32, no masters", formats::bf16, formats::fp32),
            without_masters("bf16_weights", "as bf16 without masters: updates in fp32, new weights rounded to nearest",
                            formats::bf16, constant_loss_scale(1), nearest),
            without_masters("fp16_weights", "as mixed_fp16 without masters", formats::fp16,
                            loss_scale_dialect("pytorch"), nearest),
            without_masters("bf16_sr", "as bf16_weights, new weights rounded stochastically", formats::bf16,
                            constant_loss_scale(1), stochastic),
            without_masters("bf16_kahan", "as bf16_weights, with Kahan's compensation in bf16", formats::bf16,
                            constant_loss_scale(1), kahan),
            bf16_moments};
        for (const QuantizedRecipe& row : quantized_recipes()) {
            Recipe recipe = mixed(row.name, row.what, formats::bf16, constant_loss_scale(1));
            recipe.products = row.products;
            recipe.excluded = row.excluded;
            recipe.state = row.state;
            all.push_back(std::move(recipe));
        }
        all.push_back(fp64);
        return all;
    }();
    return rows;
}

std::span<const std::string_view> pointwise_operations() {
    static constexpr std::string_view rows[] = {"relu", "leaky_relu", "sigmoid",  "tanh",    "gelu", "scale",
                                                "add",  "subtract",   "multiply", "dropout", "silu"};
    return rows;
}

bool Recipe::fuses(std::string_view op) const { return std::ranges::find(fused, op) != fused.end(); }

ProductTypes Recipe::product_types() const { return {operand == formats::fp32 ? low : operand, accumulator}; }

Recipe recipe_by_name(std::string_view name) {
    const std::size_t plus = name.rfind('+');
    if (plus != std::string_view::npos) {
        Recipe recipe = recipe_by_name(name.substr(0, plus));
        const std::string_view option = name.substr(plus + 1);
        if (option == "ftz") {
            recipe.rounding = {.flush_inputs = true, .flush_outputs = true};
        } else if (option == "fused") {
            recipe.fused.assign(pointwise_operations().begin(), pointwise_operations().end());
        } else {
            throw std::invalid_argument(fmt::format("a recipe has no option '+{}'; there are +ftz, +fused", option));
        }
        recipe.name = name;
        return recipe;
    }
    std::string known;
    for (const Recipe& row : recipes()) {
        if (row.name == name) return row;
        known += (known.empty() ? "" : ", ") + row.name;
    }
    throw std::invalid_argument(
        fmt::format("no recipe '{}'; there are {}, each also with +ftz and +fused after its name", name, known));
}

}  // namespace ulp
