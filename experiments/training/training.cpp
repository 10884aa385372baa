#include "experiments/training/training.hpp"

#include "engine/training/schedule.hpp"

namespace ulp {

std::int64_t Learned::skips() const { return std::count(skipped.begin(), skipped.end(), true); }

TrainingRun::TrainingRun(const Training& training, std::uint64_t seed)
    : training_(training),
      trainer_(Engine(training_.arithmetic.recipe, make_backend(training_.arithmetic.backend)), seed),
      task_(training_.task(trainer_.model(), seed)) {
    training_.optimizer.seed = seed;
    learned_.parameters = trainer_.model().parameter_count();
    trainer_.optimize(training_.optimizer);
    trainer_.keep_trace = training_.keep_trace;
    trainer_.before_update = [this](Optimizer& optimizer) {
        if (training_.clip_norm > 0) optimizer.clip_by_norm(training_.clip_norm);
        if (task_.before_update) task_.before_update(optimizer);
    };
    trainer_.observers().product_tap = task_.product_tap;
    if (task_.tap) {
        trainer_.watch(task_.watched, [this](const TapEvent& event) { task_.tap(trainer_.steps(), event); });
    }
}

StepResult TrainingRun::step() {
    const std::int64_t number = trainer_.steps();
    if (training_.schedule) {
        const double factor = training_.schedule(number, training_.steps);
        trainer_.optimizer().set_learning_rate(training_.optimizer.learning_rate * factor);
    }
    const StepResult done = trainer_.step([&](Tape& tape) { return task_.loss(tape, number); });
    learned_.losses.push_back(done.loss);
    learned_.scales.push_back(done.loss_scale);
    learned_.skipped.push_back(done.skipped);
    if (task_.after_step) task_.after_step(trainer_, done);
    return done;
}

Learned TrainingRun::measured(const Engine& arithmetic) const {
    Learned learned = learned_;
    Evaluation evaluation = trainer_.evaluation(arithmetic);
    if (task_.measure) task_.measure(evaluation, learned);
    return learned;
}

Learned train(const Training& training, std::uint64_t seed) {
    TrainingRun run(training, seed);
    for (std::int64_t step = 0; step < training.steps; ++step) run.step();
    return run.measured();
}

std::function<std::vector<Index>(std::int64_t)> batches(Index count, Index batch, std::uint64_t seed) {
    return [order = std::make_shared<BatchSchedule>(count, batch, seed)](std::int64_t step) { return order->at(step); };
}

std::string mixed_backend(const RunContext& context) { return context.backend.empty() ? "soft:h100" : context.backend; }

std::string unit_or_ieee(const RunContext& context) { return "with_ieee(" + mixed_backend(context) + ")"; }

Arithmetic fp32_arithmetic() { return {"fp32", recipe_by_name("fp32"), "soft:ieee"}; }

Arithmetic arithmetic_of(const RunContext& context, std::string name, Recipe recipe) {
    const bool wide = recipe.product_types().input == formats::fp32;
    return {std::move(name), std::move(recipe), wide ? "soft:ieee" : mixed_backend(context)};
}

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

namespace {

/// What a control makes of a recipe of mixed precision.
struct Spoiling {
    std::string name;
    std::string what;
    void (*spoil)(Recipe& recipe);
};
const std::vector<Spoiling> spoilings = {
    {"pure_fp16", "trains in fp16 without masters and scaling", [](Recipe& r) { r = recipe_by_name("fp16"); }},
    {"no_masters", "trains without fp32 masters", [](Recipe& r) { r.master_weights = false; }},
    {"coarse", "keeps the weights in FP8 E5M2, without masters",
     [](Recipe& r) {
         r.weights = formats::e5m2;
         r.master_weights = false;
     }},
    {"scale_1", "trains without a loss scale", [](Recipe& r) { r.loss_scale = constant_loss_scale(1); }},
    {"scale_2^-8", "scales it by 2^-8", [](Recipe& r) { r.loss_scale = constant_loss_scale(0x1p-8); }},
    {"scale_2^-12", "scales it by 2^-12", [](Recipe& r) { r.loss_scale = constant_loss_scale(0x1p-12); }},
    {"scale_2^-16", "scales the loss by 2^-16, as if gradients were that much smaller",
     [](Recipe& r) { r.loss_scale = constant_loss_scale(0x1p-16); }},
};

}  // namespace

Setting mixed_control(std::string help, std::vector<std::string> more) {
    for (const Spoiling& spoiling : spoilings) {
        help += (help.empty() ? "" : "; ") + spoiling.name + " " + spoiling.what;
        more.push_back(spoiling.name);
    }
    return control_setting(help, std::move(more));
}

void leave_out(const RunContext& context, Recipe& recipe) {
    const std::string what = context.settings.without();
    if (what.empty() || recipe.low.storage_bits() != 16) return;
    const auto leave = [&](const char* name, bool has, const auto& change) {
        if (!has || (what != name && what != "all")) return;
        change();
        if (context.left_out) context.left_out();
    };
    const bool in_fp16 = recipe.low == formats::fp16;
    leave("scale", recipe.loss_scale.dynamic || recipe.loss_scale.initial != 1,
          [&] { recipe.loss_scale = constant_loss_scale(1); });
    leave("masters", recipe.master_weights, [&] { recipe.master_weights = false; });
    leave("sums", in_fp16 && recipe.operand == formats::fp16 && recipe.accumulator == formats::fp32,
          [&] { recipe.accumulator = formats::fp16; });
    leave("norms", recipe.compute == formats::fp32, [&] {
        recipe.compute = recipe.low;
        recipe.keep_batchnorm_fp32 = false;
        std::erase_if(recipe.cast_rules, [](const CastRule& rule) {
            return rule.cast == Cast::single && (rule.op.ends_with("norm") || rule.op.ends_with("softmax"));
        });
    });
}

std::vector<Arithmetic> under_control(const RunContext& context, std::vector<Arithmetic> arithmetics) {
    for (Arithmetic& arithmetic : arithmetics) leave_out(context, arithmetic.recipe);
    for (const Spoiling& spoiling : spoilings) {
        if (!has_control(context, spoiling.name)) continue;
        for (std::size_t i = 1; i < arithmetics.size(); ++i) spoiling.spoil(arithmetics[i].recipe);
    }
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
