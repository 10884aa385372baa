#include "experiments/training/arithmetics.hpp"

namespace ulp {

std::string mixed_backend(const RunContext& context) { return context.backend.empty() ? "soft:h100" : context.backend; }

std::string backend_or_ieee(const RunContext& context) {
    return context.backend.empty() ? "soft:ieee" : "with_ieee(" + context.backend + ")";
}

Arithmetic fp32_arithmetic() { return {"fp32", recipe_by_name("fp32"), "soft:ieee"}; }

Arithmetic mixed_arithmetic(const RunContext& context, std::string name, LossScaleOptions loss_scale) {
    Arithmetic arithmetic{std::move(name), recipe_by_name("mixed_fp16"), mixed_backend(context)};
    arithmetic.recipe.loss_scale = std::move(loss_scale);
    return arithmetic;
}

Arithmetic dynamic_fp16(const RunContext& context) {
    return mixed_arithmetic(context, "fp16 dynamic", dynamic_loss_scale(context.settings.integer("scale_window")));
}

OptimizerOptions adam_of(const Settings& settings) {
    return {.kind = OptimizerKind::adam, .learning_rate = settings.real("learning_rate")};
}

LossScaleOptions dynamic_loss_scale(std::int64_t window, double initial) {
    LossScaleOptions options = loss_scale_dialect("pytorch");
    options.window = window;
    options.initial = initial;
    return options;
}

Setting pure_fp16_control() { return control_setting("pure_fp16 trains without masters and scaling", {"pure_fp16"}); }

std::vector<Arithmetic> under_control(const RunContext& context, std::vector<Arithmetic> arithmetics) {
    if (!has_control(context, "pure_fp16")) return arithmetics;
    for (std::size_t i = 1; i < arithmetics.size(); ++i) arithmetics[i].recipe = recipe_by_name("fp16");
    return arithmetics;
}

Recipe under_wide_control(const RunContext& context, Recipe recipe) {
    if (!has_control(context, "wide")) return recipe;
    for (FloatFormat* format : {&recipe.low, &recipe.weights, &recipe.inputs, &recipe.compute, &recipe.operand,
                                &recipe.accumulator, &recipe.update}) {
        *format = formats::fp32;
    }
    recipe.products = {};
    return recipe;
}

}  // namespace ulp
