// Where the optimizer's updates go: into fp32 masters, or onto 16-bit weights rounded to nearest, at random, or with
// Kahan's compensation; and what 16-bit moments do to Adam. Weights of size 1 make it plain; the
// same happens in ordinary training runs: natural/fine_tuned_digits.cpp, fine_tuned_text.cpp, decayed_rate.cpp.
#include "engine/training/images.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/float.hpp"

namespace ulp::master_weights_experiment {
namespace {

struct Variant {
    std::string name;
    FloatFormat weights;
    bool masters = true;
    UpdateRounding rounding = UpdateRounding::nearest;
    bool bf16_moments = false;
};

const std::vector<Variant> variants = {
    {"fp32", formats::fp32},
    {"fp16 with fp32 masters", formats::fp16},
    {"fp16 updated to nearest", formats::fp16, false},
    {"fp16 updated stochastically", formats::fp16, false, UpdateRounding::stochastic},
    {"fp16 with Kahan sums", formats::fp16, false, UpdateRounding::kahan},
    {"bf16 with fp32 masters", formats::bf16},
    {"bf16 updated to nearest", formats::bf16, false},
    {"bf16 updated stochastically", formats::bf16, false, UpdateRounding::stochastic},
    {"bf16 with Kahan sums", formats::bf16, false, UpdateRounding::kahan},
    {"fp16 with fp32 masters and bf16 moments", formats::fp16, true, UpdateRounding::nearest, true},
};
enum : std::size_t {
    reference,
    fp16_masters,
    fp16_nearest,
    fp16_stochastic,
    fp16_kahan,
    bf16_masters,
    bf16_nearest,
    bf16_stochastic,
    bf16_kahan,
    moments
};

/// Under the control "masters" updates rounded to nearest go into fp32 masters, under "nearest" none do but in fp32.
Variant under_control(const RunContext& context, Variant variant) {
    if (variant.weights == formats::fp32) return variant;
    if (has_control(context, "masters") && variant.rounding == UpdateRounding::nearest) variant.masters = true;
    if (has_control(context, "nearest")) {
        variant.masters = false;
        variant.rounding = UpdateRounding::nearest;
    }
    return variant;
}

/// Only where the updates go differs; the loss scale is in the middle of what works.
Recipe recipe_of(const RunContext& context, const Variant& variant) {
    if (variant.weights == formats::fp32) return recipe_by_name("fp32");
    const bool half = variant.weights == formats::fp16;
    Recipe recipe = recipe_by_name(half ? "mixed_fp16" : "bf16");
    recipe.master_weights = variant.masters;
    const bool nearest = !variant.masters && variant.rounding == UpdateRounding::nearest;
    if (half && nearest && has_control(context, "coarse")) recipe.weights = formats::e5m2;
    recipe.loss_scale = constant_loss_scale(half ? 0x1p10 : 1);
    if (variant.bf16_moments) {
        recipe.state.m = recipe.state.v = {has_control(context, "fp16_moments") ? formats::fp16 : formats::bf16};
    }
    return recipe;
}

/// Updates that should have moved a weight and did not, by parameter.
struct Swamped {
    std::map<std::string, std::int64_t> updates, lost;
    std::vector<Tensor> gradients, weights;

    void before(Optimizer& optimizer) {
        gradients = optimizer.gradients();
        weights.clear();
        for (const Parameter& p : optimizer.model().parameters()) weights.push_back(p.updated());
    }
    void after(Optimizer& optimizer) {
        std::size_t i = 0;
        for (const Parameter& p : optimizer.model().parameters()) {
            for (Index j = 0; j < p.updated().size(); ++j) {
                const bool counts = gradients[i][j] != 0;
                updates[p.name] += counts ? 1 : 0;
                lost[p.name] += counts && p.updated()[j] == weights[i][j] ? 1 : 0;
            }
            ++i;
        }
    }
    [[nodiscard]] double share(const std::string& name) const {
        return static_cast<double>(lost.at(name)) / static_cast<double>(updates.at(name));
    }
};

/// The task; keeps the updates that it lost.
TaskBuilder counting_lost(const TaskBuilder& task) {
    return watching<Swamped>(task, [](Task& watched, const auto& counts) {
        watched.before_update = [counts](Optimizer& optimizer) { counts->before(optimizer); };
        watched.after_step = [counts](Trainer& trainer, const StepResult&) { counts->after(trainer.optimizer()); };
    });
}

struct Study {
    int first_exponent = 0;  // of the learning rates
    int last_exponent = 0;
    Comparison runs{};  // of the net of signs by learning rate and variant; of the ordinary net by variant

    [[nodiscard]] const std::vector<Learned>& at(int exponent, std::size_t variant) const {
        return runs.runs.at(place(exponent, variant));
    }
    [[nodiscard]] std::vector<double> accuracies(int exponent, std::size_t variant) const {
        return runs.scores(place(exponent, variant));
    }
    [[nodiscard]] Spread accuracy(int exponent, std::size_t variant) const {
        return runs.spread(place(exponent, variant));
    }
    /// Where accuracies of the ordinary net are found.
    [[nodiscard]] int ordinary() const { return last_exponent + 1; }
    [[nodiscard]] double lost_share(int exponent, std::size_t variant, const std::string& parameter) const {
        return at(exponent, variant).front().kept<Swamped>().share(parameter);
    }

  private:
    [[nodiscard]] std::size_t place(int exponent, std::size_t variant) const {
        return static_cast<std::size_t>(exponent - first_exponent) * variants.size() + variant;
    }
};

Study study_of(const RunContext& context, const DataSplit& data, Result& result) {
    Study study{.first_exponent = static_cast<int>(context.settings.integer("least_rate_exponent")),
                .last_exponent = static_cast<int>(context.settings.integer("largest_rate_exponent"))};
    std::vector<Training> arms;
    const auto add = [&](double rate, const TaskBuilder& task) {
        for (const Variant& chosen : variants) {
            const Variant variant = under_control(context, chosen);
            arms.push_back(
                {.arithmetic = arithmetic_of(context, variant.name, recipe_of(context, variant)),
                 .task = counting_lost(task),
                 .optimizer = {.kind = OptimizerKind::adam, .learning_rate = rate, .rounding = variant.rounding},
                 .steps = context.settings.integer("steps")});
        }
    };
    const TaskBuilder signs = images_task(sign_net(), data, 32);
    for (int exponent = study.first_exponent; exponent <= study.last_exponent; ++exponent) {
        add(std::ldexp(1.0, exponent), signs);
    }
    add(0x1p-8, images_task(dense_net({32}), data, 32));
    study.runs = compare(context, result, arms, context.settings.integer("seeds"));
    return study;
}

struct Statement {
    std::string_view id;
    std::string source;
    std::string text;
    std::size_t variant;
};

/// That the variant is as good as fp32 at the same rate.
void claim_parity(const Study& study, int exponent, const Statement& claim, Result& result) {
    const Margin margin{0.02, "10 of the 500 test images", Margin::Side::not_below};
    result.measured(claim.id, claim.source, claim.text,
                    as_good(study.accuracies(exponent, claim.variant), study.accuracies(exponent, reference), margin,
                            accuracy_text));
}

void claim_collapse(const Study& study, int exponent, Result& result) {
    const double half = study.accuracy(exponent, reference).least / 2;
    const std::string at = fmt::format("With Adam at a rate of 2^{} on weights of size 1, ", exponent);
    const std::string bf16_nearest_place = cite(sources::bf16_paper, "Nearest rounding of weight updates");
    result.measured("fp16_updates_collapse",
                    cite(sources::paper, "3.1: updating fp16 weights results in 80% relative accuracy loss"),
                    at + "the best seed of a net whose fp16 weights are rounded to nearest reads less than half of "
                         "what fp32's worst reads.",
                    below(half, study.accuracy(exponent, fp16_nearest).largest, accuracy_text));
    result.measured(
        "bf16_updates_collapse", bf16_nearest_place,
        at + "the best seed with bf16 weights rounded to nearest reads less than half of what fp32's worst reads.",
        below(half, study.accuracy(exponent, bf16_nearest).largest, accuracy_text));
    const std::string masters = cite(sources::volta_talk, "FP32 Master weights and update");
    const std::string remedies = cite(sources::bf16_paper, "Stochastic rounding and Kahan summation");
    for (const Statement& remedy :
         {Statement{"fp16_masters", masters, "fp16 weights with fp32 masters", fp16_masters},
          {"bf16_masters", masters, "bf16 weights with fp32 masters", bf16_masters},
          {"fp16_stochastic", remedies, "stochastic rounding of fp16 weights", fp16_stochastic},
          {"fp16_kahan", remedies, "fp16 weights with Kahan's compensation", fp16_kahan},
          {"bf16_stochastic", remedies, "stochastic rounding of bf16 weights", bf16_stochastic},
          {"bf16_kahan", remedies, "bf16 weights with Kahan's compensation", bf16_kahan}}) {
        Statement whole = remedy;
        whole.text = at + remedy.text + " reaches fp32's accuracy.";
        claim_parity(study, exponent, whole, result);
    }
    result.measured("swamped", cite(sources::volta_talk, "Weight update: if w >> lr * dw then update doesn't change w"),
                    at + "nearly all updates of the first layer's fp16 weights change nothing.",
                    above(0.95, study.lost_share(exponent, fp16_nearest, "fc1.weight"),
                          {"updates that change nothing", "% of the updates", 100, 2}));
}

/// With the cause taken away, the effect is gone.
void claim_controls(const Study& study, Result& result) {
    const int large = study.last_exponent;
    claim_parity(
        study, large,
        {"control_large_rate", cite(sources::volta_talk, "Weight update: if w >> lr * dw then update doesn't change w"),
         fmt::format("A net with weights of size 1 at a rate of 2^{}, where updates exceed half a unit in the last "
                     "place, trains without masters.",
                     large),
         fp16_nearest},
        result);
    claim_parity(
        study, study.ordinary(),
        {"some_nets_need_none",
         cite(sources::volta_talk, "FP16 mantissa is sufficient for some networks, some require FP32"),
         "A net with PyTorch's small initial weights trains with fp16 updates, without masters.", fp16_nearest},
        result);
}

/// How many of the 128 significands of bf16 change when they are multiplied by 0.999 and rounded back.
int decaying_significands() {
    int changed = 0;
    for (std::uint64_t i = 0; i < 128; ++i) {
        const bf16 v = bf16::from_bits(static_cast<std::uint16_t>(0x3F80 + i));
        const bf16 next(static_cast<float>(v) * 0.999F);
        changed += next.bits() != v.bits() ? 1 : 0;
    }
    return changed;
}

void claim_moments(const Study& study, Result& result) {
    const std::string place = cite(sources::bf16_paper, "Optimizer state in 16 bits");
    result.arithmetic("bf16_moment_never_decays", place,
                      "Rounded to bf16, 0.999 v is v for every significand: Adam's second moment never falls.",
                      equal(0, decaying_significands(), "of 128 significands change"));
    claim_parity(study, study.ordinary(),
                 {"bf16_moments", place, "A net as short as this one trains with bf16 moments all the same.", moments},
                 result);
}

/// fp16 left, bf16 right; fp32 and its range in both.
void draw_by_panel(Figure& figure) {
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
        const bool is_bf16 = figure.series[i].name.starts_with("bf16");
        constexpr std::array colours{8, 5, 7, 4};  // of ways to update
        const int colour = i < 3 ? black : colours.at((i - 3) % colours.size());
        figure.looks.push_back(i < 2    ? Look{.colour = pale,
                                               .width = 1.5,
                                               .title = i == 0 ? "fp32, minimum and maximum" : "",
                                               .panel = every_panel}
                               : i == 2 ? Look{.colour = black, .width = 4, .panel = every_panel}
                                        : Look{.mark = Mark::linespoints,
                                               .colour = colour,
                                               .size = 1.1,
                                               .title = is_bf16 ? "" : figure.series[i].name.substr(5),
                                               .panel = is_bf16 ? 1 : 0});
    }
}

void figure_accuracy(const Study& study, Result& result) {
    Figure figure{
        "accuracy", "Accuracy against the learning rate, by where the updates go",
        fmt::format("Digits, one hidden layer, weights of size 1, Adam; median of {}. Grey: fp32's minimum to maximum.",
                    counted(study.runs.runs.front().size(), "seed")),
        "Rounded to nearest, an update below half a unit in the last place is lost. The lowest rates down to which the "
        "median lies within 5 points of fp32's:",
        study.runs.evidence};
    const auto add = [&](const std::string& name, std::size_t variant, double Spread::*which) {
        figure.series.push_back(curve(name, study.first_exponent, study.last_exponent,
                                      [&](int e) { return study.accuracy(e, variant).*which; }));
    };
    add("fp32 least", reference, &Spread::least);
    add("fp32 largest", reference, &Spread::largest);
    for (std::size_t v = 0; v < moments; ++v) {
        add(variants[v].name, v, &Spread::middle);
        int lowest = study.last_exponent + 1;
        while (lowest > study.first_exponent &&
               study.accuracy(lowest - 1, v).middle >= study.accuracy(lowest - 1, reference).middle - 0.05) {
            --lowest;
        }
        if (v != reference) {
            figure.meaning += fmt::format(" {} {},", variants[v].name,
                                          lowest > study.last_exponent ? "none" : power_of_two_text(lowest));
        }
    }
    figure.axes = {{.label = "learning rate", .numbers = Numbers::powers, .step = 1.0}, percent_axis("accuracy")};
    figure.panels = {{"fp16 weights"}, {"bf16 weights"}};
    figure.key = Key::bottom_right;
    draw_by_panel(figure);
    result.figure(std::move(figure));
}

void figure_swamped(const Study& study, Result& result) {
    Figure figure{
        "swamped", "Updates that change nothing, by layer",
        "Share of the updates with a gradient that is not zero that leave their weight as it was; first seed.",
        fmt::format("The weights start at size 1, the biases at 0. Lost at rates of {} and {}:",
                    power_of_two_text(study.first_exponent), power_of_two_text(study.last_exponent)),
        study.runs.evidence};
    for (const std::size_t v : {fp16_nearest, bf16_nearest}) {
        for (const char* layer : {"fc1.weight", "fc2.weight", "fc1.bias"}) {
            Series series = curve(fmt::format("{}: {}", variants[v].name, layer), study.first_exponent,
                                  study.last_exponent, [&](int e) { return study.lost_share(e, v, layer); });
            figure.meaning += fmt::format(" {} {:.0f} % and {:.0f} %,", series.name, 100 * series.points.front().y,
                                          100 * series.points.back().y);
            figure.series.push_back(std::move(series));
        }
    }
    figure.axes = {{.label = "learning rate", .numbers = Numbers::powers, .step = 1.0},
                   percent_axis("share of the updates")};
    for (int i = 0; i < 6; ++i) {
        figure.looks.push_back(
            {.mark = Mark::linespoints, .colour = 2 - i / 3, .dash = 1 + i % 3, .point = 5 + 2 * (i % 3), .size = 1.1});
    }
    figure.key_rows = 3;
    result.figure(std::move(figure));
}

void figure_loss(const Study& study, int exponent, Result& result) {
    Comparison shown;
    for (const std::size_t v : {reference, fp16_masters, fp16_stochastic, fp16_kahan, fp16_nearest, bf16_nearest}) {
        shown.arithmetics.push_back({variants[v].name, {}, {}});
        shown.runs.push_back(study.at(exponent, v));
    }
    result.figure(figure_of_curves(
        losses_of(shown),
        {.window = 20, .what = "Loss of a batch; only what becomes of the updates differs", .label = "loss"},
        {"loss", fmt::format("Training loss at a learning rate of {}", power_of_two_text(exponent)), "",
         study.runs.evidence}));
}

/// Both nets side by side: 0 the ordinary one, 1 the one of signs.
void figure_ablation(const Study& study, int exponent, Result& result) {
    Figure figure{"ablation", "Two nets, ten ways to update",
                  fmt::format("Median of {}; lines: minimum to maximum. Left bars: small initial weights, rate 2⁻⁸. "
                              "Right bars: weights of size 1, rate {}.",
                              counted(study.runs.runs.front().size(), "seed"), power_of_two_text(exponent)),
                  "", study.runs.evidence};
    for (std::size_t v = 0; v < variants.size(); ++v) {
        Bars bars(variants[v].name);
        bars.add(0, study.accuracy(study.ordinary(), v));
        bars.add(1, study.accuracy(exponent, v));
        bars.move_into(figure);
    }
    const auto worse = [&](int rate) {
        std::vector<std::string> names;
        for (std::size_t v = 0; v < variants.size(); ++v) {
            if (study.accuracy(rate, v).middle >= study.accuracy(rate, reference).middle - 0.05) continue;
            names.push_back(variants[v].name);
        }
        return names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", "));
    };
    figure.meaning = fmt::format(
        "Medians more than 5 points below fp32's with small initial weights: {}; with weights of size 1: {}.",
        worse(study.ordinary()), worse(exponent));
    const auto percent = [&](std::size_t v) { return 100 * study.accuracy(exponent, v).middle; };
    figure.headline = fmt::format(
        "Weights of size 1, small updates: fp16 weights read {:.0f} % of the digits, fp16 with fp32 masters {:.0f} %, "
        "fp32 {:.0f} %.",
        percent(fp16_nearest), percent(fp16_masters), percent(reference));
    figure.plot = "pairs";
    figure.axes.y = percent_axis("accuracy");
    figure.variables = {{"first_bars", "small initial weights"}, {"second_bars", "weights of size 1"}};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const int exponent = static_cast<int>(context.settings.integer("collapse_exponent"));
    const DataSplit data = generated_digits(context, result);
    const Study study = study_of(context, data, result);
    const int shown = std::clamp(exponent, study.first_exponent, study.last_exponent);
    claim_collapse(study, shown, result);
    claim_controls(study, result);
    claim_moments(study, result);
    figure_ablation(study, shown, result);
    figure_accuracy(study, result);
    figure_swamped(study, result);
    figure_loss(study, shown, result);
}

}  // namespace

Experiment experiment() {
    return {
        "master_weights",
        "Master weights: where the updates go",
        "Which nets need fp32 master weights, and what else keeps small updates from being lost?",
        {Chapter::remedies, 1},
        {integer_setting("steps", "training steps", 300, 3000, 20, 1000000).smoke(40),
         integer_setting("seeds", "runs with weights and order of their own", 3, 5, 1, 100).smoke(3),
         integer_setting("least_rate_exponent", "the least learning rate is 2 to this power", -13, -15, -20, -6)
             .smoke(-12),
         integer_setting("largest_rate_exponent", "the largest learning rate is 2 to this power", -9, -6, -12, 0)
             .smoke(-12),
         // In ten times the steps the few updates that still count at 2^-12 add up: 38 to 46 % are right in the end.
         integer_setting("collapse_exponent", "the learning rate of the comparison is 2 to this power", -12, -13, -20,
                         0),
         control_setting("masters updates fp32 masters instead of rounding to nearest, nearest 16-bit weights rounded "
                         "to nearest; coarse leaves 2 fraction bits to fp16 weights that are rounded to nearest; "
                         "fp16_moments keeps Adam's moments in fp16 instead of bf16",
                         {"masters", "nearest", "coarse", "fp16_moments"})},
        run,
        {Control("control=masters", "fp16_updates_collapse bf16_updates_collapse swamped"),
         Control("control=nearest", "fp16_masters bf16_masters fp16_stochastic fp16_kahan bf16_stochastic bf16_kahan"),
         Control("control=coarse", "control_large_rate some_nets_need_none", RunSize::smoke,
                 "least_rate_exponent=-9 largest_rate_exponent=-9"),
         Control("control=fp16_moments", "bf16_moments")},
        Effect{"fp16_updates_collapse",
               "weights of size 1, beside which updates of 2^-12 are half a unit in the last place",
               {"fine_tuned_digits", "fine_tuned_text", "decayed_rate"}}};
}

}  // namespace ulp::master_weights_experiment
