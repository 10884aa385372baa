#include "engine/recipes/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

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
Recipe mixed(std::string name, const FloatFormat& low, LossScaleOptions loss_scale) {
    return {.name = std::move(name),
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
Recipe pure(std::string name, const FloatFormat& format, const FloatFormat& accumulator) {
    return {.name = std::move(name),
            .low = format,
            .weights = format,
            .inputs = format,
            .compute = format,
            .operand = format,
            .accumulator = accumulator,
            .update = format};
}

/// 16-bit weights that the optimizer updates themselves.
Recipe without_masters(std::string name, const FloatFormat& low, LossScaleOptions loss_scale, UpdateRounding rounding) {
    Recipe recipe = mixed(std::move(name), low, std::move(loss_scale));
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
        Recipe tf32{.name = "tf32", .operand = formats::tf32};
        Recipe fp64 = pure("fp64", formats::fp64, formats::fp64);
        Recipe fp16_loss = mixed("mixed_fp16_fp16_loss", formats::fp16, loss_scale_dialect("pytorch"));
        fp16_loss.cast_rules.clear();
        Recipe fp8 = mixed("fp8", formats::bf16, constant_loss_scale(1));
        fp8.scaling = OperandScaling::delayed;
        Recipe mxfp8 = mixed("mxfp8", formats::bf16, constant_loss_scale(1));
        mxfp8.scaling = OperandScaling::blocks;
        Recipe bf16_moments = mixed("bf16_moments", formats::bf16, constant_loss_scale(1));
        bf16_moments.state.m = bf16_moments.state.v = {formats::bf16};
        Recipe msamp = mixed("msamp_o2", formats::bf16, constant_loss_scale(1));
        msamp.scaling = OperandScaling::delayed;
        msamp.state = {.master = StateFormat{formats::fp16, true},
                       .gradient = StateFormat{formats::e4m3, true},
                       .m = StateFormat{formats::e4m3, true},
                       .v = StateFormat{formats::fp16, true}};
        using enum UpdateRounding;
        return std::vector<Recipe>{
            {.name = "fp32"},
            tf32,
            mixed("bf16", formats::bf16, constant_loss_scale(1)),
            mixed("mixed_fp16", formats::fp16, loss_scale_dialect("pytorch")),
            fp16_loss,
            pure("fp16", formats::fp16, formats::fp16),
            pure("pure_bf16", formats::bf16, formats::fp32),
            fp8,
            mxfp8,
            without_masters("bf16_weights", formats::bf16, constant_loss_scale(1), nearest),
            without_masters("fp16_weights", formats::fp16, loss_scale_dialect("pytorch"), nearest),
            without_masters("bf16_sr", formats::bf16, constant_loss_scale(1), stochastic),
            without_masters("bf16_kahan", formats::bf16, constant_loss_scale(1), kahan),
            bf16_moments,
            msamp,
            fp64};
    }();
    return rows;
}

std::span<const std::string_view> pointwise_operations() {
    static constexpr std::string_view rows[] = {"relu",  "leaky_relu", "sigmoid",  "tanh",     "gelu",
                                                "scale", "add",        "subtract", "multiply", "dropout"};
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
