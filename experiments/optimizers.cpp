// Optimizers in mixed precision: steps beside their closed forms, the same nets in fp32 and 16 bits, and what Sophia
// clips.
#include <fmt/core.h>

#include "engine/nets/net_tasks.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::optimizers_experiment {
namespace {

// ---- Closed forms ----

/// The optimizer's steps and state in fp16, and so its masters: what has none of its own takes no loss scale.
Recipe with_fp16_update(Recipe recipe) {
    recipe.update = formats::fp16;
    recipe.loss_scale = constant_loss_scale(1);
    return recipe;
}
Recipe under_control(const RunContext& context, Recipe recipe) {
    return has_control(context, "fp16_update") ? with_fp16_update(std::move(recipe)) : recipe;
}

/// Adam's state is computed and kept in fp16; under the control "fp32_state" in fp32.
Recipe fp16_state(const RunContext& context) {
    Recipe recipe = recipe_by_name("mixed_fp16");
    if (!has_control(context, "fp32_state")) return with_fp16_update(std::move(recipe));
    recipe.loss_scale = constant_loss_scale(1);
    return recipe;
}

/// The weight after steps with these gradients, from 1, on an fp32 master of an fp16 weight.
float after_steps(const RunContext& context, const OptimizerOptions& options, const std::vector<float>& gradients,
                  double curvature = 0) {
    const Recipe recipe = under_control(context, recipe_by_name("mixed_fp16"));
    Model model(recipe, 1);
    Parameter& w = model.add("w", {1}, Init::constant(1));
    Optimizer optimizer(model, options);
    if (curvature > 0) {
        optimizer.load({{"w",
                         {{"mean", Tensor(Shape{1})},
                          {"curvature", Tensor(Shape{1}, std::vector<float>{static_cast<float>(curvature)})}}}},
                       0);
    }
    for (const float g : gradients) {
        w.gradient = Tensor(Shape{1}, std::vector<float>{g}, formats::fp16);
        optimizer.step();
    }
    return w.updated()[0];
}

/// A handful of fp32 roundings away from the closed form, which is exact.
Check closed_form(double closed, float measured) {
    return near(closed, 4 * 0x1p-24, static_cast<double>(measured), {"weight", "", 1, 9});
}

void claim_closed_forms(const RunContext& context, Result& result) {
    const float g = 0.5F;
    const std::string pytorch = "PyTorch, documentation of torch.optim";
    const auto claim = [&](std::string_view id, std::string_view source, std::string_view statement, double closed,
                           const OptimizerOptions& options, std::size_t steps, double curvature = 0) {
        const std::vector<float> gradients(steps, g);
        result.arithmetic(id, source, statement,
                          closed_form(closed, after_steps(context, options, gradients, curvature)));
    };
    claim("sgd", pytorch, "SGD: w = 1 - 0.1 g after a step.", 1 - 0.1 * 0.5, {.learning_rate = 0.1}, 1);
    claim("momentum", pytorch, "SGD with momentum 0.9: the third velocity is (1 + 0.9 + 0.81) g.",
          1 - 0.1 * 0.5 * (1 + 1.9 + 2.71), {.learning_rate = 0.1, .momentum = 0.9}, 3);
    claim("adam", "Kingma and Ba, Adam (2015), section 2.1: the step is about the rate",
          "Adam: with equal gradients every step is rate g / (|g| + eps), whatever g.",
          1 - 3 * 0.01 * 0.5 / (0.5 + 1e-8), {.kind = OptimizerKind::adam, .learning_rate = 0.01}, 3);
    claim("adagrad", "Duchi et al., Adaptive subgradient methods (2011)",
          "Adagrad: equal gradients give rate / sqrt(n) in step n.",
          1 - 0.1 * (1 + 1 / std::sqrt(2.0) + 1 / std::sqrt(3.0) + 0.5),
          {.kind = OptimizerKind::adagrad, .learning_rate = 0.1, .eps = 1e-10}, 4);
    const OptimizerOptions sophia{.kind = OptimizerKind::sophia,
                                  .learning_rate = 0.01,
                                  .beta1 = 0.965,
                                  .beta2 = 0.99,
                                  .eps = 1e-15,
                                  .weight_decay = 0.1};
    const std::string paper = "Liu et al., Sophia (2023), algorithm 3";
    claim("sophia_clipped", paper, "Sophia: where the curvature is 0 the step is clipped to the rate.",
          1 - 0.01 * (1 + 0.1), sophia, 1);
    claim("sophia", paper, "Sophia: unclipped it is rate m / (rho h), with m = (1 - beta1) g.",
          1 - 0.01 * (0.035 * 0.5 / (0.04 * 2) + 0.1), sophia, 1, 2);
}

// ---- Training ----

struct Method {
    std::string name;
    OptimizerOptions options;
};

Recipe scaled_fp16(double scale) {
    Recipe recipe = recipe_by_name("mixed_fp16");
    recipe.loss_scale = constant_loss_scale(scale);
    return recipe;
}

const std::vector<Method> methods = {
    {"SGD", {.learning_rate = 0.1, .momentum = 0.9}},
    {"Adam", {.kind = OptimizerKind::adam, .learning_rate = 0x1p-7}},
    {"Adagrad", {.kind = OptimizerKind::adagrad, .learning_rate = 0x1p-5, .eps = 1e-10}},
    {"Sophia",
     {.kind = OptimizerKind::sophia,
      .learning_rate = 0x1p-9,
      .beta1 = 0.965,
      .beta2 = 0.99,
      .eps = 1e-15,
      .weight_decay = 0.1}},
};
constexpr std::size_t adam = 1;
constexpr std::size_t sophia = 3;

using Shares = std::vector<double>;

/// A dense net on digits, with the curvature of every tenth batch for Sophia. Keeps the share of the updates that met
/// the clip in each step.
TaskBuilder with_curvature(const DataSplit& data) {
    return [&data](Model& model, std::uint64_t seed) {
        const Net net(model, dense_net({32}), shape_of(data.train), data.train.classes);
        Task task = images_task([net](Model&) { return net; }, data, 32)(model, seed);
        const auto clipped = std::make_shared<Shares>();
        const auto order = batches(data.train.size(), 32, seed + 1);
        task.after_step = [=, &data](Trainer& trainer, const StepResult& done) {
            const UpdateCounts& counts = trainer.optimizer().counts();
            clipped->push_back(static_cast<double>(counts.clipped) / static_cast<double>(counts.weights));
            if (done.step % 10 != 0) return;
            const Batch batch = batch_of(data.train, order(done.step));
            trainer.estimate_curvature([&](Tape& tape) -> Trainer::MeanLoss {
                const Var logits = net(images_on(tape, batch.images));
                const Random random(seed, hash_of("labels") + static_cast<std::uint64_t>(done.step));
                return {cross_entropy(logits, drawn_answers(logits.value(), random)), 32};
            });
        };
        keep(task, clipped);
        return task;
    };
}

struct Study {
    std::vector<Arithmetic> ways;
    Comparison runs;  // by method and way; last Adam with its state in fp16

    [[nodiscard]] std::size_t at(std::size_t method, std::size_t way) const { return method * ways.size() + way; }
    [[nodiscard]] Spread accuracy(std::size_t method, std::size_t way) const { return runs.spread(at(method, way)); }
    [[nodiscard]] Check parity(std::size_t method, std::size_t way) const {
        const Margin margin{0.02, "10 of the 500 test images", Margin::Side::not_below};
        return as_good(runs.scores(at(method, way)), runs.scores(at(method, 0)), margin, accuracy_text);
    }
    [[nodiscard]] Spread fp16_state() const { return runs.spread(runs.runs.size() - 1); }
    /// Sophia's, of the first seed.
    [[nodiscard]] const Shares& clipped(std::size_t way) const {
        return runs.runs[at(sophia, way)].front().kept<Shares>();
    }
};

Study study_of(const RunContext& context, const DataSplit& data, Result& result) {
    Study study;
    const bool coarse = has_control(context, "coarse");
    const auto spoilt = [&](const char* name, Recipe recipe) {
        recipe = under_control(context, std::move(recipe));
        if (coarse) {
            recipe.weights = formats::e3m2;
            recipe.master_weights = false;
        }
        return arithmetic_of(context, name, std::move(recipe));
    };
    study.ways = {fp32_arithmetic(), spoilt("bf16", recipe_by_name("bf16")), spoilt("fp16", scaled_fp16(0x1p10))};
    const TaskBuilder digits = images_task(dense_net({32}), data, 32);
    std::vector<Training> arms;
    const auto add = [&](const Method& method, const Arithmetic& way) {
        const bool curved = method.options.kind == OptimizerKind::sophia;
        arms.push_back({.arithmetic = way,
                        .task = curved ? with_curvature(data) : digits,
                        .optimizer = method.options,
                        .steps = context.settings.integer("steps")});
    };
    for (const Method& method : methods) {
        for (const Arithmetic& way : study.ways) add(method, way);
    }
    add(methods[adam], arithmetic_of(context, "fp16 state", fp16_state(context)));
    study.runs = compare(context, result, arms, context.settings.integer("seeds"));
    return study;
}

void claim_training(const Study& study, Result& result) {
    const std::string talk =
        cite(sources::volta_talk, "Mixed precision matches FP32 for optimizers: SGD, Adagrad, Adam");
    const std::string slides = cite(sources::round_table, "Sophia optimizer");
    double worst = 1;
    for (std::size_t m = 0; m < methods.size(); ++m) worst = smaller(worst, study.accuracy(m, 0).least);
    result.measured("learns", talk, "The net learns to read digits in fp32 with every optimizer and seed.",
                    at_least(0.8, worst, accuracy_text));
    for (std::size_t m = 0; m < methods.size(); ++m) {
        for (std::size_t w = 1; w < study.ways.size(); ++w) {
            result.measured(fmt::format("{}_{}", methods[m].name, study.ways[w].name), m == sophia ? slides : talk,
                            fmt::format("{} with {} weights and fp32 masters reaches fp32's accuracy.", methods[m].name,
                                        study.ways[w].name),
                            study.parity(m, w));
        }
    }
    result.measured("control_fp16_state", cite(sources::volta_talk, "Weight update: compute in FP32"),
                    "Adam with steps and state in fp16 fails, by more than 20 points: squares of gradients and eps are "
                    "0 there.",
                    below(study.accuracy(adam, 0).least - 0.2, study.fp16_state().largest, accuracy_text));
    const Quantity share{"clipped", "%", 100, 1};
    const double fp32 = mean_of(study.clipped(0));
    result.measured("sophia_clipped_share", slides,
                    "Sophia clips some of its updates and not all, as many in fp16 as in fp32, within 5 points.",
                    between(0.01, 0.99, fp32, share).at("of the updates in fp32") &&
                        near(fp32, 0.05, mean_of(study.clipped(2)), share).at("of them in fp16"));
}

void figure_accuracy(const Study& study, Result& result) {
    std::vector<std::string> arms;
    for (const Arithmetic& way : study.ways) arms.push_back(way.name);
    std::vector<ScoredCase> cases;
    for (std::size_t m = 0; m < methods.size(); ++m) {
        cases.push_back({methods[m].name, std::vector<std::vector<double>>(arms.size())});
        for (std::size_t w = 0; w < arms.size(); ++w) {
            for (const Learned& run : study.runs.runs[study.at(m, w)]) {
                cases.back().scores[w].push_back(run.scores.at(test_accuracy));
            }
        }
    }
    result.figure(figure_of_cases(
        cases, arms, 100, "points",
        {"accuracy", "Accuracy of four optimizers in mixed precision, minus fp32",
         "A dense net reads digits with 16-bit weights and gradients; masters and the optimizer's state are fp32.",
         study.runs.evidence}));
}

void figure_clipped(const Study& study, Result& result) {
    Curves curves;
    for (std::size_t w = 0; w < study.ways.size(); ++w) {
        curves.names.push_back(study.ways[w].name);
        curves.values.emplace_back();
        for (const Learned& run : study.runs.runs[study.at(sophia, w)]) {
            curves.values.back().push_back(run.kept<Shares>());
            for (double& share : curves.values.back().back()) share *= 100;
        }
    }
    result.figure(figure_of_curves(curves,
                                   {.relative = false,
                                    .what = "Share of the weights whose update was clipped",
                                    .label = "clipped updates, %",
                                    .unit = "points"},
                                   {"clipped", "Sophia: updates that meet the clip",
                                    "Where the curvature is not known yet, an update is clipped: Sophia then steps by "
                                    "sign. The curvature is estimated every 10 steps.",
                                    study.runs.evidence}));
}

void run(const RunContext& context, Result& result) {
    const DataSplit data = generated_digits(context, result);
    claim_closed_forms(context, result);
    const Study study = study_of(context, data, result);
    claim_training(study, result);
    figure_accuracy(study, result);
    figure_clipped(study, result);
}

}  // namespace

Experiment experiment() {
    return {"optimizers",
            "Optimizers in mixed precision",
            "Do SGD, Adam, Adagrad and Sophia train in 16 bits as they do in fp32?",
            {Chapter::systems, 1},
            {integer_setting("steps", "training steps", 300, 2000, 5, 1000000).smoke(100),
             integer_setting("seeds", "runs with weights and order of their own", 5, 9, 1, 100).smoke(3),
             control_setting("fp16_update computes and keeps the optimizer's numbers in fp16; coarse keeps weights in "
                             "FP6 E3M2, without masters; fp32_state gives Adam with its state in fp16 its fp32 state "
                             "back",
                             {"fp16_update", "coarse", "fp32_state"})},
            run,
            {Control("control=fp16_update",
                     "sgd momentum adam adagrad sophia_clipped sophia Adam_bf16 Adam_fp16 Adagrad_bf16 Adagrad_fp16 "
                     "Sophia_bf16 Sophia_fp16 sophia_clipped_share"),
             Control("control=coarse",
                     "SGD_bf16 SGD_fp16 Adam_bf16 Adam_fp16 Adagrad_bf16 Adagrad_fp16 Sophia_bf16 Sophia_fp16"),
             Control("control=fp32_state", "control_fp16_state"),
             Control("steps=10", "learns", RunSize::smoke, "steps=200 seeds=1")}};
}

}  // namespace ulp::optimizers_experiment
