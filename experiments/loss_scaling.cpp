// Constant loss scales from 2^0 to 2^30 and a moving one: what each loses and what it costs; one pass over the
// exponents of an fp32 run that predicts both ends; and the sawtooth that a moving scale draws.
#include <fmt/core.h>

#include <limits>

#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "experiments/training/watched_nets.hpp"
#include "softfloat/functions/quick_exp_log.hpp"

namespace ulp::loss_scaling_experiment {
namespace {

/// All seeds of one way to train.
using Runs = std::vector<Learned>;

/// Under the control "unscaled" the scale is 1; under "stuck" a moving one is 2^24 and stays there.
Recipe scaled_fp16(const RunContext& context, LossScaleOptions scale) {
    Recipe recipe = recipe_by_name("mixed_fp16");
    const bool stuck = scale.dynamic && has_control(context, "stuck");
    recipe.loss_scale = has_control(context, "unscaled") ? constant_loss_scale(1)
                        : stuck                          ? constant_loss_scale(0x1p24)
                                                         : std::move(scale);
    return recipe;
}

/// The ways to train; those by a constant scale begin with arm_constant.
enum : std::size_t { arm_fp32, arm_bf16, arm_dynamic, arm_ordinary, arm_ordinary_unscaled, arm_constant };

struct Study {
    std::vector<int> exponents{};  // of the constant scales
    Comparison arms{};

    [[nodiscard]] const Runs& fp32() const { return arms.runs[arm_fp32]; }
    /// By the number of the scale's exponent.
    [[nodiscard]] const Runs& constant(std::size_t i) const { return arms.runs[arm_constant + i]; }
    /// By how much a constant scale lies below fp32, mean over the seeds.
    [[nodiscard]] double loss_of_accuracy(std::size_t i) const {
        return arms.mean(arm_fp32) - arms.mean(arm_constant + i);
    }
};

/// What still counts as fp32's accuracy, for every net here.
constexpr double accuracy_margin = 0.02;
const Margin as_fp32{accuracy_margin, "10 of the 500 test images", Margin::Side::not_below};

Study study_of(const RunContext& context, const DataSplit& data, Result& result) {
    const Settings& settings = context.settings;
    const double weight = std::ldexp(1.0, static_cast<int>(settings.integer("loss_exponent")));
    const TaskBuilder unbalanced =
        images_task(unbalanced_net(static_cast<int>(settings.integer("feature_exponent"))), data, 32, weight);
    const TaskBuilder ordinary = has_control(context, "same_net") ? unbalanced : images_task(dense_net({32}), data, 32);
    const auto unscaled = [&] { return scaled_fp16(context, constant_loss_scale(1)); };
    Study study;
    std::vector<Training> arms;
    const auto add = [&](const Recipe& recipe, const TaskBuilder& task) {
        arms.push_back({.arithmetic = arithmetic_of(context, recipe.name, recipe),
                        .task = watching_gradient_ranges(task),
                        .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0x1p-7},
                        .steps = settings.integer("steps")});
    };
    add(recipe_by_name("fp32"), unbalanced);
    add(has_control(context, "bf16_as_fp16") ? unscaled() : recipe_by_name("bf16"), unbalanced);
    add(scaled_fp16(context, dynamic_loss_scale(settings.integer("window"))), unbalanced);
    add(recipe_by_name("fp32"), ordinary);
    add(unscaled(), ordinary);
    for (int n = 0; n <= settings.integer("last_exponent"); n += static_cast<int>(settings.integer("exponent_step"))) {
        study.exponents.push_back(n);
        add(scaled_fp16(context, constant_loss_scale(std::ldexp(1.0, n))), unbalanced);
    }
    study.arms = compare(context, result, arms, settings.integer("seeds"), {0, 0.85});
    return study;
}

/// Zeros of a run's gradients beyond those that fp32 has too (units that are off, black pixels), as a share of the
/// rest.
double measured_lost(const Runs& runs, const BinadeHistogram& fp32) {
    const BinadeHistogram found = gradients_of(runs);
    const double structural = fp32.share(fp32.zeros());
    return std::max(0.0, (found.share(found.zeros()) - structural) / (1 - structural));
}

bool overflowed(const Runs& runs) {
    return std::any_of(runs.begin(), runs.end(),
                       [](const Learned& run) { return run.kept<GradientRanges>().infinite > 0; });
}

void claim_ends(const Study& study, Result& result) {
    const double ruined = study.arms.spread(arm_fp32).least - 0.05;
    const Check ruined_unscaled = below(ruined, study.arms.spread(arm_constant).largest, accuracy_text);
    result.measured(
        "too_small", cite(sources::volta_talk, "Too small a factor doesn't retain enough small values"),
        "Unscaled, this net loses so large a share of its gradients that its best seed falls more than 5 points below "
        "fp32's worst.",
        ruined_unscaled);
    const std::size_t last = study.exponents.size() - 1;
    std::int64_t infinite = 0;
    for (const Learned& run : study.constant(last)) infinite += run.kept<GradientRanges>().infinite;
    result.measured("too_large", cite(sources::volta_talk, "Too large a factor causes overflows"),
                    fmt::format("A constant scale of 2^{} overflows and ruins the net: its best seed falls more than 5 "
                                "points below fp32's worst.",
                                study.exponents.back()),
                    at_least(1, static_cast<double>(infinite), {"steps", "steps with infinite gradients", 1, 0}) &&
                        below(ruined, study.arms.spread(arm_constant + last).largest, accuracy_text));
    const auto parity = [&](const char* id, const std::string& source, const char* statement, std::size_t arm,
                            std::size_t reference) {
        result.measured(id, source, statement,
                        as_good(study.arms.scores(arm), study.arms.scores(reference), as_fp32, accuracy_text));
    };
    result.measured("bf16_needs_none", cite(sources::round_table, "BFP16: no need for scaling loss"),
                    "A net that fp16 ruins without a scale trains in bf16 (called BFP16 there) without one.",
                    given(ruined_unscaled,
                          as_good(study.arms.scores(arm_bf16), study.arms.scores(arm_fp32), as_fp32, accuracy_text)));
    parity("control_ordinary_net", cite(sources::paper, "3.2: many networks match fp32 without loss scaling"),
           "A net without the imbalance trains in fp16 without a scale.", arm_ordinary_unscaled, arm_ordinary);
    parity("dynamic", cite(sources::volta_talk, "Automatic loss scaling frees users from choosing a scaling factor"),
           "A moving scale that starts at 2^16 trains the net to fp32's accuracy.", arm_dynamic, arm_fp32);
}

/// The exponents of the sweep whose scales train to within 2 points of fp32.
std::vector<int> good_exponents(const Study& study) {
    std::vector<int> good;
    for (std::size_t i = 0; i < study.exponents.size(); ++i) {
        if (study.loss_of_accuracy(i) <= accuracy_margin) good.push_back(study.exponents[i]);
    }
    return good;
}

void claim_prediction(const Study& study, const ScalePrediction& prediction, Result& result) {
    const std::string algorithm =
        cite(sources::paper,
             "3.2: choose a factor so that its product with the maximum absolute gradient value is below 65,504");
    const int first = prediction.first_exponent();
    const int last = prediction.last_exponent();
    int last_clean = -1;
    int last_predicted = -1;
    double worst = -std::numeric_limits<double>::infinity();
    double error = 0;
    for (std::size_t i = 0; i < study.exponents.size(); ++i) {
        const int n = study.exponents[i];
        const bool clean = !overflowed(study.constant(i));
        if (clean) last_clean = n;
        if (n <= last) last_predicted = n;
        if (n >= first && n <= last) worst = larger(worst, study.loss_of_accuracy(i));
        const double lost = prediction.gradients.lost_share(n);
        if (clean && lost <= 0.03) {
            error = larger(error, std::fabs(measured_lost(study.constant(i), prediction.gradients) - lost));
        }
    }
    result.measured("predicted_overflow", algorithm,
                    "The largest scale of the sweep without an infinite gradient is the one that the fp32 run's "
                    "largest gradient predicts; its exponent is given.",
                    equal(last_predicted, last_clean));
    result.measured("predicted_window", algorithm,
                    fmt::format("Every scale of the sweep from 2^{} (no tensor loses more than half of its gradients) "
                                "to 2^{} trains to within 2 points of fp32's accuracy, mean over the seeds.",
                                first, last),
                    at_most(accuracy_margin, std::isfinite(worst) ? worst : 1, {"loss", "% below fp32", 100, 1}));
    const std::vector<int> good = good_exponents(study);
    const double spared = good.empty() ? std::numeric_limits<double>::quiet_NaN() : first - good.front();
    result.measured("predicted_lower_end", cite(sources::own_prediction, "no tensor loses more than half"),
                    "The window's lower end, at which no tensor loses more than half of its gradients, asks for more "
                    "than this net needs: scales of the sweep that are smaller by two binades and more train as well.",
                    at_least(2, spared, {"", "binades below the prediction", 1, 0}));
    result.measured("predicted_share", algorithm,
                    "Where the histogram predicts a loss of at most 3% of the gradients, the runs lose as many.",
                    at_most(0.02, error, {"difference", "% of the gradients from it", 100, 2}));
}

/// Where the scales that train as fp32 does begin and end, beside the prediction.
std::string text_of_ends(const Study& study, int first, int last) {
    const std::vector<int> good = good_exponents(study);
    std::string text = fmt::format(
        "The prediction, from 2^{} to 2^{}, asks that no tensor loses more than half of its gradients and that none "
        "overflows. ",
        first, last);
    if (good.empty()) return text + "No scale of the sweep trains as fp32 does.";
    text += fmt::format("The scales of the sweep that train to within 2 points of fp32 lie between 2^{} and 2^{}.",
                        good.front(), good.back());
    return good.front() < first ? text + " At the lower end the prediction asks for more than the net needs." : text;
}

void figure_accuracy(const Study& study, const ScalePrediction& prediction, Result& result) {
    const int first = prediction.first_exponent();
    const int last = prediction.last_exponent();
    Figure figure{"accuracy", "Accuracy against the loss scale",
                  fmt::format("Digits in fp16 with fp32 masters; median of {}, dots: minimum and maximum. Grey: fp32's "
                              "minimum to maximum. Shaded: predicted from the exponents of the fp32 runs.",
                              counted(study.fp32().size(), "seed")),
                  text_of_ends(study, first, last), study.arms.evidence};
    if (const std::vector<int> good = good_exponents(study); !good.empty()) {
        figure.headline = fmt::format(
            "{} of the {} loss scales train fp16 as fp32, from 2^{} to 2^{}; unscaled the net reads {:.0f} % of the "
            "digits.",
            good.size(), study.exponents.size(), good.front(), good.back(),
            100 * study.arms.spread(arm_constant).middle);
    }
    const auto level = [&](const std::string& name, double value) {
        figure.series.push_back(curve(
            name, 0, study.exponents.back(), [&](int) { return value; }, study.exponents.back()));
    };
    const Spread reference = study.arms.spread(arm_fp32);
    level("fp32 least", reference.least);
    level("fp32 largest", reference.largest);
    figure.series.push_back(
        {"predicted window", formats::fp64, {{static_cast<double>(first), 0}, {static_cast<double>(last), 0}}});
    for (const auto& [name, which] : {std::pair{"constant scale", &Spread::middle}, std::pair{"least", &Spread::least},
                                      std::pair{"largest", &Spread::largest}}) {
        Series series{name};
        for (std::size_t i = 0; i < study.exponents.size(); ++i) {
            series.points.push_back(
                {static_cast<double>(study.exponents[i]), study.arms.spread(arm_constant + i).*which});
        }
        figure.series.push_back(std::move(series));
    }
    level("moving scale", study.arms.spread(arm_dynamic).middle);
    figure.axes = {{.label = "loss scale",
                    .numbers = Numbers::powers,
                    .from = -0.7,
                    .to = study.exponents.back() + 0.7,
                    .step = 4.0},
                   percent_axis("accuracy")};
    figure.looks = {{.mark = Mark::none},
                    {.mark = Mark::none},
                    {.mark = Mark::none},
                    {.mark = Mark::linespoints, .colour = 2, .size = 1.3, .title = "fp16, constant scale"},
                    {.mark = Mark::points, .colour = 2, .point = 2, .size = 0.7, .title = "its minimum and maximum"},
                    {.mark = Mark::points, .colour = 2, .point = 2, .size = 0.7, .title = ""},
                    {.colour = 5, .width = 2.5, .dash = 2, .title = "fp16, moving scale"}};
    figure.guides = {{.left = first - 0.5, .right = last + 0.5, .strength = 0.13, .colour = 5},
                     {.bottom = 100 * reference.least, .top = 100 * reference.largest}};
    figure.notes.push_back({first - 0.5, 10, "predicted"});
    result.figure(std::move(figure));
}

void figure_lost(const Study& study, const ScalePrediction& prediction, Result& result) {
    Figure figure{"lost", "Gradients lost at each loss scale: predicted and measured",
                  "Share of the gradients that are not zero in fp32. Line: from the exponents of the fp32 runs. "
                  "Points: counted in the fp16 runs, where no gradient is infinite.",
                  "The histogram of an fp32 run, moved by n places, predicts what a scale of 2^n loses; what else is "
                  "lost in the layers before a lost gradient it does not know. Predicted and counted:",
                  study.arms.evidence};
    Series measured{"measured"};
    double near = 0;
    for (std::size_t i = 0; i < study.exponents.size(); ++i) {
        if (overflowed(study.constant(i))) continue;
        const int n = study.exponents[i];
        const double lost = measured_lost(study.constant(i), prediction.gradients);
        measured.points.push_back({static_cast<double>(n), lost});
        const double off = std::fabs(lost - prediction.gradients.lost_share(n));
        if (off > 0.02) {
            figure.meaning +=
                fmt::format(" 2^{} {:.1f} % and {:.1f} %,", n, 100 * prediction.gradients.lost_share(n), 100 * lost);
        } else {
            near = larger(near, off);
        }
    }
    figure.meaning.back() = ';';
    figure.meaning +=
        fmt::format(" at the other scales without overflow they differ by at most {:.1f} points.", 100 * near);
    figure.series = {
        curve("predicted", 0, study.exponents.back(), [&](int n) { return prediction.gradients.lost_share(n); }),
        std::move(measured)};
    figure.axes = {{.label = "loss scale",
                    .numbers = Numbers::powers,
                    .from = -0.7,
                    .to = study.exponents.back() + 0.7,
                    .step = 4.0},
                   share_axis("share of the gradients", 0)};
    figure.looks = {{.width = 4, .title = "predicted from the exponents in fp32"},
                    {.mark = Mark::points, .size = 1.6, .title = "counted in the fp16 runs"}};
    result.figure(std::move(figure));
}

// ---- The sawtooth ----

/// A net that reverses sequences in fp32, and in fp16 with a moving scale.
Comparison sawtooth_of(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const Recipe fp16 = scaled_fp16(context, dynamic_loss_scale(settings.integer("window")));
    const Training reversal{.task = watching_largest_gradients(reversal_task({})),
                            .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0x1p-7},
                            .steps = settings.integer("translation_steps")};
    return compare(context, result, {fp32_arithmetic(), arithmetic_of(context, "fp16", fp16)}, reversal,
                   settings.integer("seeds"), {0.85, 1});
}

void claim_sawtooth(const Comparison& saw, std::int64_t window, Result& result) {
    const Learned& fp16 = saw.runs[1].front();
    const std::vector<double>& scales = fp16.scales;
    std::int64_t wrong = 0;
    std::int64_t clean = 0;
    for (std::size_t i = 0; i + 1 < scales.size(); ++i) {
        clean = fp16.skipped[i] ? 0 : clean + 1;
        const double expected = fp16.skipped[i] ? scales[i] / 2 : clean == window ? scales[i] * 2 : scales[i];
        if (clean == window) clean = 0;
        wrong += scales[i + 1] == expected ? 0 : 1;
    }
    result.measured("sawtooth", cite(sources::volta_talk, "Automatic Loss Scale Factor for a Translation Net"),
                    fmt::format("The scale of a net that reverses sequences is a sawtooth: halved by every overflow, "
                                "doubled after {} clean steps, and by nothing else.",
                                window),
                    equal(0, wrong, "other changes") &&
                        at_least(3, static_cast<double>(fp16.skips()), {"overflows", "overflows", 1, 0}));
    const Margin margin{0.01, "one word of a hundred", Margin::Side::not_below};
    result.measured("translation", cite(sources::volta_talk, "Trained to the same accuracy as the FP32 model"),
                    "In fp16 with the moving scale a net learns to reverse sequences as in fp32.",
                    as_good(saw.scores(1), saw.scores(0), margin, {"words right", "%", 100, 1}));
}

void figure_sawtooth(const Comparison& saw, std::int64_t window, Result& result) {
    const Learned& fp16 = saw.runs[1].front();
    Figure figure{"sawtooth", "A moving loss scale over training",
                  fmt::format("Attention net that reverses sequences, fp16; window of {} steps (2000 in practice). "
                              "Grey: 65504 / the step's largest gradient.",
                              window),
                  "", saw.evidence};
    Series ceiling{"largest scale without overflow"};
    const Series scale{"loss scale", formats::fp64, points_of(fp16.scales)};
    Series skipped{"skipped steps"};
    const auto& largest = fp16.kept<std::vector<double>>();
    std::vector<double> room;  // powers of two by which the scale could be larger
    for (std::size_t i = 0; i < fp16.scales.size(); ++i) {
        const auto x = static_cast<double>(i);
        if (!fp16.skipped[i]) {
            ceiling.points.push_back({x, 65504 / largest[i]});
            const double times = ceiling.points.back().y / fp16.scales[i];
            if (std::isfinite(times)) room.push_back(quick_phase::log2(times));
        }
        if (fp16.skipped[i]) skipped.points.push_back({x, fp16.scales[i]});
    }
    figure.meaning = fmt::format("{} of {} steps are skipped.", fp16.skips(), fp16.scales.size());
    if (!room.empty()) {
        const Spread spread = spread_of(std::move(room));
        figure.meaning += fmt::format(
            " In the others the largest scale without an overflow is {:.1f} to {:.1f} powers of two larger than the "
            "scale, {:.1f} in the median.",
            spread.least, spread.largest, spread.middle);
    }
    figure.series = {std::move(ceiling), scale, std::move(skipped)};
    figure.axes = {{.label = "step"}, power_axis("loss scale", 2)};
    figure.looks = {{.colour = pale, .width = 1.5, .title = "65504 / largest gradient"},
                    {.mark = Mark::steps, .width = 3},
                    {.mark = Mark::points, .size = 1.4, .title = "overflow: step skipped"}};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const std::int64_t window = context.settings.integer("window");
    const DataSplit data = generated_digits(context, result);
    const Study study = study_of(context, data, result);
    const ScalePrediction prediction(study.fp32());
    claim_ends(study, result);
    claim_prediction(study, prediction, result);
    const Comparison saw = sawtooth_of(context, result);
    claim_sawtooth(saw, window, result);
    figure_accuracy(study, prediction, result);
    figure_lost(study, prediction, result);
    figure_sawtooth(saw, window, result);
}

}  // namespace

Experiment experiment() {
    return {
        "loss_scaling",
        "Loss scaling: which scales work, and how to know before",
        "Between which ends may the loss scale lie, and does one look at the exponents predict them?",
        {Chapter::remedies, 5},
        {integer_setting("steps", "training steps of the digits net", 300, 1500, 20, 1000000).smoke(60),
         integer_setting("translation_steps", "training steps of the net that reverses sequences", 400, 3000, 20,
                         1000000)
             .smoke(40),
         integer_setting("seeds", "runs with weights and order of their own", 3, 5, 1, 100).smoke(2),
         integer_setting("last_exponent", "the largest constant scale is 2 to this power", 30, 30, 8, 100),
         integer_setting("exponent_step", "distance of the constant scales in powers of two", 2, 1, 1, 15).smoke(15),
         integer_setting("feature_exponent", "features are too large by 2 to this power", 8, 8, 0, 10),
         integer_setting("loss_exponent", "the loss is one of many terms: its weight is 2 to this power", -12, -12, -20,
                         0),
         integer_setting("window", "clean steps until a moving scale grows", 20, 100, 1, 1000000).smoke(5),
         control_setting("unscaled trains with a scale of 1 instead of any other; stuck holds moving scales at 2^24; "
                         "bf16_as_fp16 takes fp16 for bf16; same_net takes the unbalanced net for the ordinary one",
                         {"unscaled", "stuck", "bf16_as_fp16", "same_net"})},
        run,
        {Control("feature_exponent=4", "too_small"),
         Control("control=unscaled", "too_large dynamic predicted_overflow predicted_window predicted_share sawtooth"),
         Control("control=unscaled",
                 "too_large dynamic predicted_overflow predicted_window predicted_lower_end predicted_share sawtooth",
                 RunSize::quick),
         Control("control=stuck", "sawtooth translation"), Control("control=bf16_as_fp16", "bf16_needs_none"),
         Control("control=same_net", "control_ordinary_net")},
        Effect{
            "too_small", "features that are too large by 2^8, and a loss times 2^-12", {"coordinate_net", "big_lstm"}}};
}

}  // namespace ulp::loss_scaling_experiment
