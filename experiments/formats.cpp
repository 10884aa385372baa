// The same nets trained in every format: which arrive where fp32 does, which need a scale for that, and what TF32
// changes.
#include <bit>

#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/round.hpp"

namespace ulp::formats_experiment {
namespace {

/// The loss and the operands of 8 bits as they are; gradients in E4M3 like all else.
Recipe without_scales(Recipe recipe) {
    recipe.loss_scale = constant_loss_scale(1);
    if (recipe.products.quantised()) recipe.operand = formats::e4m3;
    recipe.products = {};
    return recipe;
}

std::vector<Arithmetic> all_ways(const RunContext& context) {
    std::vector<Arithmetic> ways = {{"fp32", recipe_by_name("fp32")},
                                    {"tf32", recipe_by_name("tf32")},
                                    {"bf16", recipe_by_name("bf16")},
                                    {"fp16 with loss scale", recipe_by_name("mixed_fp16")},
                                    {"fp16 without", without_scales(recipe_by_name("mixed_fp16"))},
                                    {"fp16 throughout", recipe_by_name("fp16")},
                                    {"fp8 with tensor scales", recipe_by_name("fp8")},
                                    {"fp8 without", without_scales(recipe_by_name("fp8"))},
                                    {"mxfp8 with block scales", recipe_by_name("mxfp8")}};
    for (Arithmetic& way : ways) {
        way.backend = unit_or_ieee(context);
        way.recipe = under_wide_control(context, std::move(way.recipe));
        if (has_control(context, "coarse_weights") && way.name != "fp32") {
            way.recipe.weights = formats::e5m2;
            way.recipe.master_weights = false;
            way.recipe.loss_scale = constant_loss_scale(1);
        }
        if (has_control(context, "unscaled")) way.recipe = without_scales(std::move(way.recipe));
    }
    return ways;
}
enum : std::size_t {
    way_fp32,
    way_tf32,
    way_bf16,
    way_fp16,
    way_fp16_unscaled,
    way_fp16_pure,
    way_fp8,
    way_fp8_unscaled,
    way_mx
};

struct Subject {
    std::string name;
    std::string what;  // for the statements
    TaskBuilder task;
    OptimizerOptions optimizer;
};

struct Study {
    std::vector<Arithmetic> ways;
    std::vector<Subject> subjects;
    Comparison runs;  // by subject and way

    [[nodiscard]] std::size_t at(std::size_t subject, std::size_t way) const { return subject * ways.size() + way; }
    [[nodiscard]] Spread accuracy(std::size_t subject, std::size_t way) const { return runs.spread(at(subject, way)); }
};
enum : std::size_t { dense, unbalanced, transformer };

Study study_of(const RunContext& context, const DataSplit& data, Result& result) {
    Study study;
    study.ways = all_ways(context);
    const OptimizerOptions adam{.kind = OptimizerKind::adam, .learning_rate = 0x1p-7};
    study.subjects = {{"dense net",
                       "a plain dense net",
                       images_task(dense_net({32}), data, 32),
                       {.learning_rate = 0.1, .momentum = 0.9}},
                      {"net with small gradients", "a net with small gradients",
                       images_task(unbalanced_net(8), data, 32, 0x1p-12), adam},
                      {"Transformer block", "a Transformer block", images_task(image_transformer(1), data, 16), adam}};
    std::vector<Training> arms;
    for (const Subject& subject : study.subjects) {
        for (const Arithmetic& way : study.ways) {
            arms.push_back({.arithmetic = way,
                            .task = subject.task,
                            .optimizer = subject.optimizer,
                            .steps = context.settings.integer("steps"),
                            .schedule = linear_decay_factor});
        }
    }
    study.runs = compare(context, result, arms, context.settings.integer("seeds"));
    return study;
}

void claim_as_good(const Study& study, std::size_t subject, std::size_t way, std::string_view id,
                   std::string_view source, const std::string& statement, Result& result) {
    static const Margin margin{0.02, "two test images in a hundred", Margin::Side::not_below};
    result.measured(id, source, statement,
                    as_good(study.runs.scores(study.at(subject, way), test_accuracy),
                            study.runs.scores(study.at(subject, way_fp32), test_accuracy), margin, accuracy_text));
}

void claim_worse(const Study& study, std::size_t subject, std::size_t way, std::string_view id, std::string_view source,
                 const std::string& statement, Result& result) {
    result.measured(
        id, source, statement,
        below(study.accuracy(subject, way_fp32).least - 0.05, study.accuracy(subject, way).largest, accuracy_text)
            .because("5 points below fp32's worst seed"));
}

void claim_training(const Study& study, Result& result) {
    const std::string tf32 = cite(sources::round_table, "TF32 achieves the same accuracy as FP32 training");
    const std::string bf16 = cite(sources::round_table, "BFP16: no need for scaling loss");
    const std::string fp8 = "Micikevicius et al., FP8 formats for deep learning (2022), section 4";
    const std::string mx = "Rouhani et al., Microscaling data formats for deep learning (2023), section 4";
    const std::string same = cite(sources::amp_slides, "Same accuracy as FP32, with no hyperparameter changes");
    const char* ids[] = {"dense", "small_gradients", "transformer"};
    for (std::size_t s = 0; s < study.subjects.size(); ++s) {
        const std::string& what = study.subjects[s].what;
        const auto good = [&](std::string_view id, std::string_view source, std::size_t way, const char* how) {
            claim_as_good(study, s, way, fmt::format("{}_{}", id, ids[s]), source,
                          fmt::format("{} trains to fp32's accuracy {}, with the same hyperparameters.", what, how),
                          result);
        };
        good("tf32", tf32, way_tf32, "in TF32");
        good("bf16", bf16, way_bf16, "in bf16 without a loss scale");
        good("fp16", same, way_fp16, "in fp16 with a loss scale");
        good("fp8", fp8, way_fp8, "with FP8 products and a scale a tensor");
        good("mx", mx, way_mx, "with MXFP8 products");
    }
    claim_worse(study, unbalanced, way_fp16_unscaled, "fp16_needs_scale",
                cite(sources::volta_talk, "Loss scaling preserves small gradient values"),
                "Without a loss scale the net with small gradients does not train in fp16.", result);
    claim_as_good(study, dense, way_fp16_unscaled, "control_fp16_unscaled",
                  cite(sources::paper, "3.2: many networks match fp32 without loss scaling"),
                  "The dense net trains in fp16 without a loss scale; only the net with small gradients needs one.",
                  result);
    claim_worse(study, unbalanced, way_fp8_unscaled, "fp8_needs_scales", fp8,
                "Without scales FP8 products lose the net with small gradients.", result);
}

/// Of a matrix of random numbers: how many differ from A after A times the identity, as the recipe multiplies, and how
/// many of these are not A rounded to the format.
struct Identity {
    int changed = 0;
    int not_rounded = 0;
    int changed_by_relu = 0;
};

Identity multiply_by_identity(const RunContext& context, std::string_view recipe) {
    constexpr Index n = 64;
    const Engine engine(under_wide_control(context, recipe_by_name(recipe)), make_backend(unit_or_ieee(context)));
    Tape tape(engine);
    Tensor a({n, n});
    Tensor identity({n, n});
    Random random(context.seed, "A");
    for (float& x : a.values()) x = static_cast<float>(random.uniform());
    for (Index i = 0; i < n; ++i) identity[i * n + i] = 1;
    const Var x = tape.constant(a);
    const Var product = matmul(x, tape.constant(identity));
    const Var same = relu(x);
    Identity found;
    for (Index i = 0; i < a.size(); ++i) {
        const auto bits = [](float v) { return std::bit_cast<std::uint32_t>(v); };
        found.changed += bits(product.value()[i]) != bits(a[i]) ? 1 : 0;
        found.not_rounded += bits(product.value()[i]) != bits(round_to(engine.recipe.operand, a[i])) ? 1 : 0;
        found.changed_by_relu += bits(same.value()[i]) != bits(a[i]) ? 1 : 0;
    }
    return found;
}

void claim_identity(const RunContext& context, Result& result) {
    const std::string slide = cite(sources::round_table, "TF32: only convolutions and products convert their inputs");
    const Identity tf32 = multiply_by_identity(context, "tf32");
    const Identity fp32 = multiply_by_identity(context, "fp32");
    result.measured("identity_tf32", slide,
                    "Of 4096 random numbers A, A times the identity has others in TF32 nearly everywhere: A rounded to "
                    "TF32, bit for bit. In fp32 it is A. Storage and other operations stay in fp32 in TF32 too: relu "
                    "changes no positive number.",
                    above(4000, tf32.changed, {"", "changed", 1, 0}) && equal(0, tf32.not_rounded, "not A rounded") &&
                        equal(0, fp32.changed, "changed in fp32") && equal(0, tf32.changed_by_relu, "changed by relu"));
}

void figure_accuracy(const Study& study, Result& result) {
    Figure figure{"accuracy", "Three nets in nine arithmetics",
                  fmt::format("Accuracy on unseen digits; median of {}, lines: minimum to maximum. The same data, "
                              "order and hyperparameters.",
                              counted(study.runs.runs.front().size(), "seed")),
                  "Medians more than 5 points below fp32's:", study.runs.evidence};
    for (std::size_t s = 0; s < study.subjects.size(); ++s) {
        Bars bars(study.subjects[s].name);
        std::vector<std::string> worse;
        for (std::size_t w = 0; w < study.ways.size(); ++w) {
            const double middle = study.accuracy(s, w).middle;
            bars.add(static_cast<double>(w), study.accuracy(s, w));
            if (middle >= study.accuracy(s, way_fp32).middle - 0.05) continue;
            worse.push_back(fmt::format("{} {}", study.ways[w].name, accuracy_text.text(middle)));
        }
        bars.move_into(figure, {.mark = Mark::boxes, .shift = 0.27 * (static_cast<double>(s) - 1)});
        figure.meaning += fmt::format(" {}: {} (fp32 {}){}", study.subjects[s].name,
                                      worse.empty() ? "none" : fmt::format("{}", fmt::join(worse, ", ")),
                                      accuracy_text.text(study.accuracy(s, way_fp32).middle),
                                      s + 1 < study.subjects.size() ? ";" : ".");
    }
    const auto percent = [&](std::size_t way) { return 100 * study.accuracy(unbalanced, way).middle; };
    figure.headline = fmt::format(
        "Small gradients: without a loss scale fp16 reads {:.0f} % of the digits, with one {:.0f} %, bf16 without one "
        "{:.0f} %.",
        percent(way_fp16_unscaled), percent(way_fp16), percent(way_bf16));
    figure.axes = {named_axis({"fp32", "tf32", "bf16", "fp16, scaled", "fp16, not scaled", "fp16 throughout",
                               "fp8, scaled", "fp8, not scaled", "mxfp8"}),
                   percent_axis("accuracy")};
    figure.bar_width = 0.25;
    result.figure(std::move(figure));
}

void figure_loss(const Study& study, Result& result) {
    Comparison shown;
    for (std::size_t w = 0; w < study.ways.size(); ++w) {
        shown.arithmetics.push_back(study.ways[w]);
        shown.runs.push_back(study.runs.runs[study.at(unbalanced, w)]);
    }
    result.figure(figure_of_curves(
        losses_of(shown, 0x1p12),
        {.window = 10, .logarithmic = true, .what = "Loss of a batch, divided by the loss's weight", .label = "loss"},
        {"loss", "The net with small gradients: training loss", "", study.runs.evidence}));
}

void run(const RunContext& context, Result& result) {
    const DataSplit data = generated_digits(context, result);
    const Study study = study_of(context, data, result);
    claim_training(study, result);
    claim_identity(context, result);
    figure_accuracy(study, result);
    figure_loss(study, result);
}

}  // namespace

Experiment experiment() {
    return {
        "formats",
        "Formats: the same nets from fp32 down to 8 bits",
        "Which formats train a net as fp32 does, and which need scales for it?",
        {Chapter::formats, 1},
        {integer_setting("steps", "training steps", 170, 1500, 20, 1000000).smoke(30),
         integer_setting("seeds", "runs with weights and order of their own", 3, 8, 1, 100).smoke(1),
         control_setting("wide uses fp32 instead of the other formats, unscaled leaves all scales out, coarse_weights "
                         "trains E5M2 weights without masters and scale",
                         {"wide", "unscaled", "coarse_weights"})},
        run,
        {Control("control=wide", "fp16_needs_scale fp8_needs_scales identity_tf32"),
         Control("control=coarse_weights",
                 "tf32_dense bf16_dense fp16_dense fp8_dense mx_dense tf32_small_gradients bf16_small_gradients "
                 "fp16_small_gradients fp8_small_gradients mx_small_gradients tf32_transformer bf16_transformer "
                 "fp16_transformer fp8_transformer mx_transformer control_fp16_unscaled",
                 RunSize::quick, "steps=60"),
         Control("control=unscaled",
                 "fp16_small_gradients fp8_small_gradients mx_small_gradients fp8_transformer mx_transformer",
                 RunSize::quick, "steps=60")},
        Effect{"fp16_needs_scale",
               "features that are too large by 2^8, and a loss times 2^-12 so that gradients are small",
               {"coordinate_net", "big_lstm"}}};
}

}  // namespace ulp::formats_experiment
