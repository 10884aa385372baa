// Exponential moving averages of weights kept in 16 bits: the step of an average, (1 - decay) times its distance from
// the weight, is below half an ulp by itself, and the average stays where it began.
#include "experiments/natural/lost_updates.hpp"
#include "experiments/natural/tuning.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::weight_averages_experiment {
namespace {

using namespace natural;

constexpr std::array decays = {0.99, 0.999, 0.9999};

/// How averages are kept.
struct AverageKeeping {
    std::string name;
    FloatFormat format;
    UpdateRounding rounding = UpdateRounding::nearest;
};

/// What is left of the averages of one training: shares of those that never left their start, and their largest steps.
struct Standstill {
    std::vector<double> measured;                  // [decay][keeping]
    std::vector<std::array<double, 2>> predicted;  // [decay]: in bf16 and fp16, from fp32 alone
    std::vector<UpdateSizes> largest_steps;        // [decay]: in ulps of bf16
};

/// Averages of one training, and what fp32 alone says of them.
struct AverageWatch {
    std::vector<Averages> averages;                   // [decay][keeping]
    std::vector<std::vector<float>> start, farthest;  // by parameter: the weights, and how far they went from there
    std::vector<std::vector<float>> started;          // by average: as it began, all parameters in a row

    void begin(const Model& model, const std::vector<AverageKeeping>& keepings, std::uint64_t seed) {
        for (const double decay : decays) {
            for (const AverageKeeping& keeping : keepings) {
                averages.emplace_back(model, AverageOptions{decay, keeping.format, keeping.rounding, seed});
                started.push_back(numbers_of(averages.back()));
            }
        }
        for (const Parameter& p : model.parameters()) {
            start.emplace_back(p.value.values().begin(), p.value.values().end());
            farthest.emplace_back(start.back().size(), 0.0F);
        }
    }
    void follow(const Model& model, std::int64_t step) {
        for (Averages& average : averages) average.update(model, step);
        for (std::size_t p = 0; p < start.size(); ++p) {
            const Tensor& now = model.parameters()[p].value;
            for (std::size_t i = 0; i < start[p].size(); ++i) {
                farthest[p][i] = std::max(farthest[p][i], std::fabs(now[static_cast<Index>(i)] - start[p][i]));
            }
        }
    }
    static std::vector<float> numbers_of(const Averages& average) {
        std::vector<float> numbers;
        for (const auto& [name, tensor] : average.tensors()) {
            numbers.insert(numbers.end(), tensor.values().begin(), tensor.values().end());
        }
        return numbers;
    }
};

Standstill standstill_of(const AverageWatch& watch) {
    Standstill found;
    for (std::size_t a = 0; a < watch.averages.size(); ++a) {
        const std::vector<float> now = AverageWatch::numbers_of(watch.averages[a]);
        double same = 0;
        for (std::size_t i = 0; i < now.size(); ++i) same += now[i] == watch.started[a][i] ? 1 : 0;
        found.measured.push_back(same / static_cast<double>(now.size()));
    }
    for (const double decay : decays) {
        std::array<double, 2> lost{};
        UpdateSizes sizes{};
        double count = 0;
        for (std::size_t p = 0; p < watch.start.size(); ++p) {
            for (std::size_t i = 0; i < watch.start[p].size(); ++i, ++count) {
                const float weight = watch.start[p][i];
                const auto step = static_cast<float>((1 - decay) * static_cast<double>(watch.farthest[p][i]));
                for (std::size_t f = 0; f < lost.size(); ++f) {
                    lost[f] += static_cast<double>(step) < half_ulp(weight_formats[f], weight) ? 1 : 0;
                }
                add_size(sizes, weight, step);
            }
        }
        for (double& share : lost) share /= count;
        found.predicted.push_back(lost);
        found.largest_steps.push_back(sizes);
    }
    return found;
}

/// The task, with averages for each of `decays` in each way. Scores: the accuracy of each average, [decay][keeping];
/// keeps Standstill.
TaskBuilder averaged_task(const TaskBuilder& task, const std::vector<AverageKeeping>& keepings) {
    return [=](Model& model, std::uint64_t seed) {
        Task result = task(model, seed);
        const auto watch = std::make_shared<AverageWatch>();
        result.before_update = [=](Optimizer& optimizer) {
            if (watch->averages.empty()) watch->begin(optimizer.model(), keepings, seed);
        };
        result.after_step = [watch](Trainer& trainer, const StepResult& done) {
            watch->follow(trainer.model(), done.step);
        };
        result.measure = [=, measure = result.measure, &model](Evaluation& evaluation, Learned& learned) {
            std::vector<double> scores;
            for (const Averages& average : watch->averages) {
                for (Parameter& parameter : model.parameters()) parameter.assign(average.tensors().at(parameter.name));
                measure(evaluation, learned);
                scores.push_back(learned.scores.at(test_accuracy));
            }
            learned.scores = std::move(scores);
            learned.more = standstill_of(*watch);
        };
        return result;
    };
}

enum : std::size_t { fp32, bf16, fp16, bf16_stochastic };

std::vector<AverageKeeping> average_keepings(const RunContext& context) {
    const bool narrow = has_control(context, "narrow");
    const auto kept = [&](FloatFormat format) {
        return narrow ? formats::e5m2 : has_control(context, "wide") ? formats::fp32 : format;
    };
    const auto rounding = has_control(context, "nearest") ? UpdateRounding::nearest : UpdateRounding::stochastic;
    return {{"fp32", formats::fp32},
            {"bf16", kept(formats::bf16)},
            {"fp16", kept(formats::fp16)},
            {"bf16 stochastic", narrow ? formats::e5m2 : formats::bf16, rounding}};
}

/// The averages of one decay side by side, as if each were a run.
Comparison at_decay(const Comparison& trained, const std::vector<AverageKeeping>& keepings, std::size_t decay) {
    Comparison averages;
    for (std::size_t k = 0; k < keepings.size(); ++k) {
        averages.arithmetics.push_back({keepings[k].name, recipe_by_name("fp32"), "soft:ieee"});
        averages.runs.emplace_back();
        for (const Learned& run : trained.runs.front()) {
            averages.runs.back().push_back({.scores = {run.scores.at(decay * keepings.size() + k)}});
        }
    }
    return averages;
}

void claim_standstill(const Comparison& trained, std::size_t keepings, std::size_t decay, Result& result) {
    const Quantity never{"averages that never move", "%", 100, 1};
    const Margin margin{0.01, "one weight in a hundred"};
    for (const std::size_t keeping : {bf16, fp16}) {
        const char* name = keeping == bf16 ? "bf16" : "fp16";
        std::vector<double> measured, predicted;
        for (const Learned& run : trained.runs.front()) {
            const auto& found = run.kept<Standstill>();
            measured.push_back(found.measured.at(decay * keepings + keeping));
            predicted.push_back(found.predicted.at(decay).at(keeping - bf16));
        }
        result.measured(
            fmt::format("never_move_{}_{}", name, decays[decay]),
            cite(sources::volta_talk, "Weight update: if w >> lr * dw then update doesn't change w"),
            fmt::format("With a decay of {} as many averages in {} never leave their start as fp32's run predicts: "
                        "where (1 - decay) times a weight's largest distance from it is less than half an ulp.",
                        decays[decay], name),
            as_good(measured, predicted, margin, never));
    }
}

void claim_decay(const Comparison& averages, double decay, Result& result) {
    const Margin margin{0.01, "one image in a hundred", Margin::Side::not_below};
    const std::string usual = cite("PyTorch Image Models (timm)", "ModelEma: decay=0.9999");
    const std::string own = cite(sources::own_prediction, "16-bit averages of weights read fewer digits");
    const auto claim = [&](std::size_t keeping, bool worse) {
        std::string id = averages.arithmetics[keeping].name;
        std::ranges::replace(id, ' ', '_');
        result.measured(
            fmt::format("{}_{}", id, decay), worse ? own : usual,
            fmt::format("With a decay of {} averages in {} read {} unseen digits {} fp32.", decay,
                        averages.arithmetics[keeping].name, worse ? "fewer" : "as many",
                        worse ? "than those in" : "as those in"),
            (worse ? falls_short : as_good)(averages.scores(keeping), averages.scores(fp32), margin, accuracy_text));
    };
    claim(bf16, true);
    claim(fp16, decay > 0.999);
    if (decay > 0.99) claim(bf16_stochastic, false);  // where to nearest fails
}

void figure_steps(const Comparison& trained, Result& result) {
    Figure figure{
        .name = "updates",
        .title = "Averages of weights: the largest step of each, by decay",
        .caption =
            "(1 - decay) times a weight's largest distance from its start, in fp32, all seeds, in ulps of the weight "
            "in bf16. Left of the lines: less than half an ulp.",
        .meaning = "What lies left of a format's line never moves in it:",
        .evidence = "",
        .axes = update_axes("largest step of the average in ulps of its weight in bf16", "share of the weights"),
        .looks = {{.mark = Mark::histogram}},
        .guides = half_ulps()};
    for (std::size_t d = 0; d < decays.size(); ++d) {
        UpdateSizes sizes{};
        std::vector<double> in_bf16, in_fp16;
        for (const Learned& run : trained.runs.front()) {
            const auto& found = run.kept<Standstill>();
            for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] += found.largest_steps[d][i];
            in_bf16.push_back(found.predicted[d][0]);
            in_fp16.push_back(found.predicted[d][1]);
        }
        std::int64_t all = 0;
        for (const std::int64_t count : sizes) all += count;
        figure.series.push_back(series_of(fmt::format("decay {}", decays[d]), sizes, all));
        figure.meaning += fmt::format("{} at {} {:.1f} % of the weights in bf16 and {:.1f} % in fp16",
                                      d == 0 ? "" : ",", decays[d], 100 * mean_of(in_bf16), 100 * mean_of(in_fp16));
    }
    figure.meaning += ".";
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const TunedDigits data = tuned_digits_of(context, result);
    const Layers net = dense_net({settings.integer("hidden")});
    const Comparison first = first_training(context, result, net, data, {0, 0.1});
    const std::vector<AverageKeeping> keepings = average_keepings(context);
    const Training second{
        .task = averaged_task(starting_from(images_task(net, data.second, 32), weights_left(context, first)), keepings),
        .optimizer = {.kind = OptimizerKind::adam, .learning_rate = settings.real("learning_rate")},
        .steps = settings.integer("steps")};
    const Comparison trained =
        compare(context, result, {fp32_arithmetic()}, second, settings.integer("seeds"), {0.1, 1});

    std::vector<ScoredCase> cases;
    std::vector<std::string> names;
    for (const AverageKeeping& keeping : keepings) names.push_back(keeping.name);
    for (std::size_t d = 0; d < decays.size(); ++d) {
        const Comparison averages = at_decay(trained, keepings, d);
        claim_standstill(trained, keepings.size(), d, result);
        claim_decay(averages, decays[d], result);
        cases.push_back({fmt::format("decay {}", decays[d]), {}});
        for (std::size_t k = 0; k < keepings.size(); ++k) cases.back().scores.push_back(averages.scores(k));
    }
    const Comparison slowest = at_decay(trained, keepings, decays.size() - 1);
    figure_steps(trained, result);
    result.figure(
        figure_of_cases(cases, names, 100, "% of unseen digits",
                        {"accuracy", "Averages of weights: unseen sheared digits read right",
                         fmt::format("The net that the averages begin with reads {} of the sheared digits; with a "
                                     "decay of {} averages in fp32 read {}, in bf16 {}.",
                                     accuracy_text.text(first.mean(0, test_accuracy)), decays.back(),
                                     accuracy_text.text(slowest.mean(fp32)), accuracy_text.text(slowest.mean(bf16))),
                         ""}));
}

}  // namespace

Experiment experiment() {
    return {
        "weight_averages",
        "Averages of weights that never leave their start",
        "Which averages of weights can be kept in 16 bits, and does fp32 alone predict it?",
        {Chapter::swamping, 3},
        {integer_setting("first_steps", "training steps on plain digits", 300, 2000, 1, 1000000).smoke(60),
         integer_setting("steps", "training steps on sheared digits, with averages", 2000, 8000, 1, 1000000).smoke(60),
         integer_setting("seeds", "training runs", 5, 5, 1, 100).smoke(2),
         integer_setting("hidden", "width of the hidden layer", 32, 64, 2, 4096).smoke(16),
         integer_setting("side", "pixels a side of generated digits", 14, 28, 8, 64),
         integer_setting("shear", "hundredths by which a row moves for each row below the middle", 40, 40, -200, 200),
         integer_setting("train_images", "generated digits to train on", 2000, 10000, 64, 1000000).smoke(200),
         integer_setting("test_images", "generated digits to test on", 1000, 4000, 1, 1000000).smoke(100),
         real_setting("learning_rate", "of Adam", 1e-3, 1e-3, 0, 10),
         control_setting("wide keeps averages of bf16 and fp16 in fp32; narrow keeps all but fp32's in E5M2; nearest "
                         "rounds those to nearest that are rounded stochastically",
                         {"wide", "narrow", "nearest"}),
         path_setting("mnist", "folder with the MNIST idx files, instead of generated digits")},
        run,
        {Control("control=wide",
                 "never_move_bf16_0.99 never_move_bf16_0.999 never_move_fp16_0.999 bf16_0.999 never_move_bf16_0.9999 "
                 "never_move_fp16_0.9999 bf16_0.9999 fp16_0.9999",
                 RunSize::quick),
         Control("control=narrow",
                 "never_move_bf16_0.99 never_move_fp16_0.99 bf16_0.99 fp16_0.99 never_move_bf16_0.999 "
                 "never_move_fp16_0.999 fp16_0.999 bf16_stochastic_0.999 never_move_bf16_0.9999 never_move_fp16_0.9999 "
                 "bf16_stochastic_0.9999",
                 RunSize::quick),
         Control("control=nearest", "bf16_stochastic_0.999 bf16_stochastic_0.9999", RunSize::quick)},
        Effect{"fp16_0.9999"},
        fp32_alone};
}

}  // namespace ulp::weight_averages_experiment
