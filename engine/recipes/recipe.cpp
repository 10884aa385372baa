#include "engine/recipes/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace ulp {
namespace {

/// A table holds no other format: its values follow no fields.
bool holds(const FloatFormat& outer, const FloatFormat& inner) {
    if (outer.is_table()) return outer == inner;
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

namespace {

constexpr Cast low = Cast::low;
constexpr Cast fp32 = Cast::single;
constexpr Cast pass = Cast::as_stored;
constexpr Cast banned = Cast::banned;

struct CastListRow {
    std::string_view op;
    Cast apex;
    Cast pytorch_cuda;
    Cast pytorch_cpu;
};
constexpr std::array table = {
    //                              apex    CUDA    CPU
    CastListRow{"linear", low, low, low},           CastListRow{"matmul", low, low, low},
    CastListRow{"conv1d", low, low, low},           CastListRow{"conv2d", low, low, low},
    CastListRow{"conv_transpose2d", low, low, low}, CastListRow{"prelu", low, low, pass},
    CastListRow{"exp", fp32, fp32, pass},           CastListRow{"expm1", fp32, fp32, pass},
    CastListRow{"log", fp32, fp32, pass},           CastListRow{"log1p", fp32, fp32, pass},
    CastListRow{"pow", fp32, fp32, pass},           CastListRow{"reciprocal", fp32, fp32, pass},
    CastListRow{"rsqrt", fp32, fp32, pass},         CastListRow{"sinh", fp32, fp32, pass},
    CastListRow{"cosh", fp32, fp32, pass},          CastListRow{"tan", fp32, fp32, pass},
    CastListRow{"acos", fp32, fp32, pass},          CastListRow{"asin", fp32, fp32, pass},
    CastListRow{"softplus", fp32, fp32, pass},      CastListRow{"sum", fp32, fp32, pass},
    CastListRow{"prod", fp32, fp32, fp32},          CastListRow{"cumsum", fp32, fp32, pass},
    CastListRow{"cumprod", fp32, fp32, pass},       CastListRow{"norm", fp32, fp32, pass},
    CastListRow{"std", fp32, pass, pass},           CastListRow{"var", fp32, pass, pass},
    CastListRow{"softmax", fp32, fp32, pass},       CastListRow{"log_softmax", fp32, fp32, pass},
    CastListRow{"gelu", fp32, pass, pass},          CastListRow{"layer_norm", fp32, fp32, pass},
    CastListRow{"group_norm", fp32, fp32, pass},    CastListRow{"cross_entropy", fp32, fp32, fp32},
    CastListRow{"rms_norm", pass, fp32, pass},      CastListRow{"top_k_softmax", fp32, fp32, pass},
    CastListRow{"mse", fp32, fp32, fp32},           CastListRow{"bce_with_logits", fp32, fp32, fp32},
    CastListRow{"ctc", fp32, fp32, fp32},           CastListRow{"binary_cross_entropy", banned, banned, fp32},
};

}  // namespace

CastList cast_list_by_name(std::string_view name) {
    if (name == "apex") return CastList::apex;
    if (name == "pytorch_cuda") return CastList::pytorch_cuda;
    if (name == "pytorch_cpu") return CastList::pytorch_cpu;
    throw std::invalid_argument(fmt::format("no cast list '{}'; there are apex, pytorch_cuda, pytorch_cpu", name));
}

std::vector<CastRule> cast_rules_of(CastList list) {
    std::vector<CastRule> rules;
    for (const CastListRow& row : table) {
        const Cast cast = list == CastList::apex           ? row.apex
                          : list == CastList::pytorch_cuda ? row.pytorch_cuda
                                                           : row.pytorch_cpu;
        if (cast != Cast::as_stored) rules.push_back({std::string(row.op), cast});
    }
    return rules;
}

std::span<const std::string_view> product_operations() {
    static constexpr std::string_view rows[] = {"linear", "matmul", "conv2d", "conv_transpose2d"};
    return rows;
}

Recipe with_fp32_operations(Recipe recipe, const std::vector<std::string>& operations) {
    const auto products = product_operations();
    for (const std::string& op : operations) {
        std::erase_if(recipe.cast_rules, [&](const CastRule& rule) { return rule.op == op; });
        recipe.cast_rules.push_back({op, Cast::single});
        if (op == "batch_norm") recipe.keep_batchnorm_fp32 = true;
        if (std::ranges::find(products, op) == products.end()) continue;
        std::erase_if(recipe.excluded, [&](const Exclusion& exclusion) { return exclusion.kind == op; });
        recipe.excluded.push_back({.kind = op, .recipe = "fp32"});
    }
    return recipe;
}

Recipe with_low_operations(Recipe recipe, const std::vector<std::string>& operations) {
    for (const std::string& op : operations) {
        std::erase_if(recipe.cast_rules, [&](const CastRule& rule) { return rule.op == op; });
        recipe.cast_rules.push_back({op, Cast::low});
        if (op == "batch_norm") recipe.keep_batchnorm_fp32 = false;
    }
    return recipe;
}

}  // namespace ulp
