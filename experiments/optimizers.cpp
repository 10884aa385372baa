// Optimizers in mixed precision: steps beside their closed forms, the same nets in fp32 and 16 bits, and what Sophia
// clips.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/data/digits.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/shared/sources.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/functions/cr.hpp"

namespace ulp {
namespace {

using sources::cite;

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

void claim_step(std::string_view id, std::string_view source, std::string_view statement, double closed, float measured,
                Result& result) {
    // A handful of fp32 roundings; the closed form is exact.
    result.claim_if(std::fabs(closed - static_cast<double>(measured)) <= 4 * 0x1p-24, id, source, statement,
                    fmt::format("{:.9f} within 4 units of 2^-24", closed), fmt::format("{:.9f}", measured));
}

void claim_closed_forms(const RunContext& context, Result& result) {
    const float g = 0.5F;
    const std::string pytorch = "PyTorch, documentation of torch.optim";
    claim_step("sgd", pytorch, "SGD: w = 1 - 0.1 g after a step.", 1 - 0.1 * 0.5,
               after_steps(context, {.learning_rate = 0.1}, {g}), result);
    claim_step("momentum", pytorch, "SGD with momentum 0.9: the third velocity is (1 + 0.9 + 0.81) g.",
               1 - 0.1 * 0.5 * (1 + 1.9 + 2.71),
               after_steps(context, {.learning_rate = 0.1, .momentum = 0.9}, {g, g, g}), result);
    claim_step("adam", "Kingma and Ba, Adam (2015), section 2.1: the step is about the rate",
               "Adam: with equal gradients every step is rate g / (|g| + eps), whatever g.",
               1 - 3 * 0.01 * 0.5 / (0.5 + 1e-8),
               after_steps(context, {.kind = OptimizerKind::adam, .learning_rate = 0.01}, {g, g, g}), result);
    claim_step("adagrad", "Duchi et al., Adaptive subgradient methods (2011)",
               "Adagrad: equal gradients give rate / sqrt(n) in step n.",
               1 - 0.1 * (1 + 1 / std::sqrt(2.0) + 1 / std::sqrt(3.0) + 0.5),
               after_steps(context, {.kind = OptimizerKind::adagrad, .learning_rate = 0.1, .eps = 1e-10}, {g, g, g, g}),
               result);
    OptimizerOptions sophia{.kind = OptimizerKind::sophia,
                            .learning_rate = 0.01,
                            .beta1 = 0.965,
                            .beta2 = 0.99,
                            .eps = 1e-15,
                            .weight_decay = 0.1};
    const std::string paper = "Liu et al., Sophia (2023), algorithm 3";
    claim_step("sophia_clipped", paper, "Sophia: where the curvature is 0 the step is clipped to the rate.",
               1 - 0.01 * (1 + 0.1), after_steps(context, sophia, {g}), result);
    claim_step("sophia", paper, "Sophia: unclipped it is rate m / (rho h), with m = (1 - beta1) g.",
               1 - 0.01 * (0.035 * 0.5 / (0.04 * 2) + 0.1), after_steps(context, sophia, {g}, 2), result);
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

/// Labels drawn from the model's own predictions, for Sophia's curvature.
std::vector<int> drawn_labels(const Tensor& logits, Random random) {
    const Index classes = logits.dim(-1);
    std::vector<int> labels;
    for (Index row = 0; row < logits.size() / classes; ++row) {
        const float* x = logits.data() + row * classes;
        const float top = *std::max_element(x, x + classes);
        double sum = 0;
        for (Index j = 0; j < classes; ++j) sum += static_cast<double>(cr::exp(x[j] - top));
        double left = random.uniform() * sum;
        int label = 0;
        while (label + 1 < classes && (left -= static_cast<double>(cr::exp(x[label] - top))) > 0) ++label;
        labels.push_back(label);
    }
    return labels;
}

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
            Tape tape(trainer.engine());
            const Var logits = net(images_on(tape, batch.images));
            const Random random(seed, hash_of("labels") + static_cast<std::uint64_t>(done.step));
            tape.backward(cross_entropy(logits, drawn_labels(logits.value(), random)));
            trainer.optimizer().update_curvature(32);
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
    [[nodiscard]] Spread fp16_state() const { return runs.spread(runs.runs.size() - 1); }
    /// Sophia's, of the first seed.
    [[nodiscard]] const Shares& clipped(std::size_t way) const {
        return runs.runs[at(sophia, way)].front().kept<Shares>();
    }
};

Study study_of(const RunContext& context, const DataSplit& data) {
    Study study;
    const std::string backend = backend_or_ieee(context);
    study.ways = {{"fp32", recipe_by_name("fp32"), backend},
                  {"bf16", under_control(context, recipe_by_name("bf16")), backend},
                  {"fp16", under_control(context, scaled_fp16(0x1p10)), backend}};
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
    add(methods[adam], {"fp16 state", with_fp16_update(recipe_by_name("mixed_fp16")), backend});
    study.runs = compare(context, arms, context.settings.integer("seeds"));
    return study;
}

void claim_training(const Study& study, Result& result) {
    const std::string talk =
        cite(sources::volta_talk, "Mixed precision matches FP32 for optimizers: SGD, Adagrad, Adam");
    const std::string slides = cite(sources::round_table, "Sophia optimizer");
    for (std::size_t m = 0; m < methods.size(); ++m) {
        const Spread reference = study.accuracy(m, 0);
        for (std::size_t w = 1; w < study.ways.size(); ++w) {
            const Spread spread = study.accuracy(m, w);
            result.claim_if(as_good(spread, reference, {Parity::Rule::median_not_below, 0.02}) && reference.least > 0.8,
                            fmt::format("{}_{}", methods[m].name, study.ways[w].name), m == sophia ? slides : talk,
                            fmt::format("{} with {} weights and fp32 masters reaches fp32's accuracy.", methods[m].name,
                                        study.ways[w].name),
                            fmt::format("at most 2 points below {}", percent_text(reference)), percent_text(spread));
        }
    }
    const Spread narrow = study.fp16_state();
    result.claim_if(narrow.largest < study.accuracy(adam, 0).least - 0.2, "control_fp16_state",
                    cite(sources::volta_talk, "Weight update: compute in FP32"),
                    "Adam with steps and state in fp16 fails: squares of gradients and eps are 0 there.",
                    fmt::format("more than 20 points below {}", percent_text(study.accuracy(adam, 0))),
                    percent_text(narrow));
    const double fp32 = mean_of(study.clipped(0));
    const double fp16 = mean_of(study.clipped(2));
    result.claim_if(fp32 > 0 && fp32 < 1 && std::fabs(fp32 - fp16) < 0.05, "sophia_clipped_share", slides,
                    "Sophia clips some of its updates and not all, as many in fp16 as in fp32.",
                    fmt::format("within 5 points of {:.1f} %", 100 * fp32), fmt::format("{:.1f} %", 100 * fp16));
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
         ""}));
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
    result.figure(figure_of_curves(
        curves,
        {.relative = false,
         .what = "Share of the weights whose update was clipped",
         .label = "clipped updates, %",
         .unit = "points"},
        {"clipped", "Sophia: updates that meet the clip",
         "Where the curvature is not known yet, an update is clipped: Sophia then steps by sign. The curvature is "
         "estimated every 10 steps.",
         ""}));
}

void run(const RunContext& context, Result& result) {
    const DataSplit data = generated_digit_split(2000, 500, 14, context.seed);
    result.input({"generated digits for training", data.train.digest()});
    result.input({"generated digits for testing", data.test.digest()});
    claim_closed_forms(context, result);
    const Study study = study_of(context, data);
    claim_training(study, result);
    figure_accuracy(study, result);
    figure_clipped(study, result);
}

}  // namespace

Experiment optimizers_experiment() {
    return {"optimizers",
            "Optimizers in mixed precision",
            "Do SGD, Adam, Adagrad and Sophia train in 16 bits as they do in fp32?",
            Chapter::systems,
            {integer_setting("steps", "training steps", 300, 2000, 20, 1000000),
             integer_setting("seeds", "runs with weights and order of their own", 3, 5, 1, 100),
             control_setting("fp16_update computes and keeps the optimizer's numbers in fp16", {"fp16_update"})},
            run,
            {{{"steps=200", "seeds=1"},
              {"control=fp16_update"},
              {"sgd", "momentum", "adam", "adagrad", "sophia_clipped", "sophia", "Adam_bf16", "Adam_fp16",
               "Adagrad_bf16", "Adagrad_fp16", "Sophia_bf16", "Sophia_fp16", "sophia_clipped_share"}}}};
}

}  // namespace ulp
