// Adam throughout fp16, as `model.half()` gives it: its eps of 1e-8 is 0 there, and most second moments are, too.
// Nothing is inserted. optimizers compares single steps with their closed forms.
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/round.hpp"

namespace ulp::adam_eps_experiment {
namespace {

float in_fp16(double x) { return static_cast<float>(round_to(formats::fp16, x)); }

/// The first step of a run.
struct FirstStep {
    std::vector<float> gradients{};    // of all weights, as the optimizer got them
    std::vector<float> before{};       // the weights
    double largest_update = 0;         // of a weight; infinite where one became infinite or NaN
    std::int64_t zero_moments = 0;     // second moments that are 0 though the gradient is not
    BinadeHistogram histogram{};       // of the gradients
    BinadeHistogram second_moments{};  // (1 - beta2) g^2
};

std::vector<float> weights_of(const Model& model) {
    std::vector<float> all;
    for (const Parameter& p : model.parameters())
        all.insert(all.end(), p.value.values().begin(), p.value.values().end());
    return all;
}

TaskBuilder watched_task(const DataSplit& data, const Settings& settings) {
    const TaskBuilder task = images_task(dense_net({settings.integer("hidden")}), data, settings.integer("batch"));
    return watching<FirstStep>(task, [](Task& watched, const auto& first) {
        watched.before_update = [first](Optimizer& optimizer) {
            if (optimizer.steps() > 0) return;
            first->before = weights_of(optimizer.model());
            for (const Tensor& g : optimizer.gradients()) {
                first->gradients.insert(first->gradients.end(), g.values().begin(), g.values().end());
            }
        };
        watched.after_step = [first](Trainer& trainer, const StepResult& done) {
            if (done.step > 0) return;
            const std::vector<float> after = weights_of(trainer.model());
            std::vector<float> squares;
            for (const float g : first->gradients) squares.push_back(static_cast<float>(0.001 * g * g));
            first->histogram.add(first->gradients);
            first->second_moments.add(squares);
            for (std::size_t i = 0; i < after.size(); ++i) {
                const double change = std::fabs(static_cast<double>(after[i]) - first->before[i]);
                first->largest_update = std::isfinite(change) ? std::max(first->largest_update, change) : HUGE_VAL;
            }
            std::size_t at = 0;
            for (const Parameter& p : trainer.model().parameters()) {
                for (const float v : trainer.optimizer().state().at(p.name).at("square").values()) {
                    if (v == 0 && first->gradients[at] != 0) ++first->zero_moments;
                    ++at;
                }
            }
        };
    });
}

/// A way to train, with its eps.
struct EpsWay {
    Arithmetic arithmetic;
    double eps;
};
enum : std::size_t { way_fp32, way_1e8, way_1e7, way_1e6, way_1e5, way_1e4, way_1e3, way_state, way_mixed, way_bf16 };

std::vector<EpsWay> ways_of(const RunContext& context) {
    const auto way = [&](const std::string& name, Recipe recipe, double eps) -> EpsWay {
        return {{name, std::move(recipe), unit_or_ieee(context)}, eps};
    };
    const Recipe fp16 = recipe_by_name("fp16");
    Recipe wide_state = fp16;
    wide_state.update = formats::fp32;
    std::vector<EpsWay> ways = {way("fp32", recipe_by_name("fp32"), 1e-8)};
    for (const double eps : {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3}) {
        ways.push_back(way(fmt::format("fp16 eps {:.0e}", eps), has_control(context, "fp32_state") ? wide_state : fp16,
                           has_control(context, "small_eps") ? eps / 10 : eps));
    }
    const bool spoilt = has_control(context, "fp16_state");
    ways.push_back(way("fp16 with fp32 steps", spoilt ? fp16 : wide_state, 1e-8));
    ways.push_back(way("mixed fp16", spoilt ? fp16 : recipe_by_name("mixed_fp16"), 1e-8));
    ways.push_back(way("pure bf16", spoilt ? fp16 : recipe_by_name("pure_bf16"), 1e-8));
    return ways;
}

/// What fp16 makes of a gradient in Adam's first step, by rule: the second moment (1 - beta2) g^2, each product
/// rounded.
float second_moment(float g) {
    return in_fp16(static_cast<double>(in_fp16(0.001)) * in_fp16(static_cast<double>(g) * g));
}

/// The largest first update, by rule, from the gradients of an fp32 run: rate g / (sqrt(second moment / 0.001) + eps).
double predicted_update(const std::vector<float>& gradients, double rate, double eps) {
    double largest = 0;
    for (const float g : gradients) {
        const double divisor = std::sqrt(static_cast<double>(second_moment(g)) / 0.001) + in_fp16(eps);
        if (in_fp16(0.1 * g) != 0) largest = larger(largest, rate * std::fabs(g) / divisor);
    }
    return largest;
}

struct Study {
    std::vector<EpsWay> ways;
    Comparison runs;
    double rate;

    [[nodiscard]] const FirstStep& first(std::size_t way, std::size_t seed) const {
        return runs.runs[way][seed].kept<FirstStep>();
    }
    [[nodiscard]] std::size_t seeds() const { return runs.runs.front().size(); }
};

void claim_rule(const RunContext& context, const Study& study, Result& result) {
    result.arithmetic(
        "default_is_zero", "PyTorch, documentation of torch.optim.Adam: eps=1e-08",
        "Adam's default eps of 1e-8 is 0 in fp16, as is all up to 2^-25 = 3.0e-8; 1e-7 is not.",
        equal(0, fp16(1e-8)) && equal(0, fp16(0x1p-25)) && equal(1, in_fp16(1e-7) > 0 ? 1 : 0, "above 0"));
    const float factor = has_control(context, "eightfold") ? 8 : 1;
    double share_error = 0;
    double worst_ratio = 1;
    for (std::size_t seed = 0; seed < study.seeds(); ++seed) {
        std::vector<float> gradients = study.first(way_fp32, seed).gradients;
        for (float& g : gradients) g *= factor;
        const auto zero = std::ranges::count_if(gradients, [](float g) { return g != 0 && second_moment(g) == 0; });
        const FirstStep& low = study.first(way_1e4, seed);
        share_error = larger(share_error, std::fabs(static_cast<double>(zero - low.zero_moments)) /
                                              static_cast<double>(gradients.size()));
        for (const std::size_t way : {way_1e6, way_1e5, way_1e4, way_1e3}) {
            const double ratio =
                predicted_update(gradients, study.rate, study.ways[way].eps) / study.first(way, seed).largest_update;
            worst_ratio = larger(worst_ratio, larger(ratio, 1 / ratio));
        }
    }
    const std::string place = cite(sources::paper, "3.2: values below 2^-24 become zero in fp16");
    result.measured("predicted_moments", place,
                    "The fp32 run's first gradients predict how many of Adam's second moments are 0 in fp16: those "
                    "whose 0.001 g^2 is not above 2^-25.",
                    at_most(0.02, share_error, {"difference", "% of the weights", 100, 2}));
    result.measured("predicted_update", place,
                    "They predict Adam's largest first update in fp16, too: where the second moment is 0, rate * g / "
                    "eps, from eps = 1e-6 to 1e-3.",
                    at_most(1.5, worst_ratio, {"", "times the other, prediction or measurement", 1, 2}));
}

void claim_training(const Study& study, Result& result) {
    const Margin margin{0.02, "two test images in a hundred", Margin::Side::not_below};
    const std::string source = "PyTorch, documentation of torch.optim.Adam: eps=1e-08";
    const Scores fp32 = study.runs.scores(way_fp32, test_accuracy);
    const auto broken = std::ranges::count_if(study.runs.runs[way_1e8], [](const Learned& run) {
        return std::ranges::any_of(run.losses, [](double loss) { return !std::isfinite(loss); });
    });
    result.measured("default_diverges", source,
                    "With Adam's default eps a net that is trained throughout in fp16 has an infinite or NaN loss, "
                    "with every seed.",
                    equal(static_cast<std::int64_t>(study.seeds()), broken, "seeds"));
    constexpr double guessing = 0.1;  // of ten digits
    const auto good = [&](std::size_t way, const char* id, const std::string& where, const char* statement) {
        result.measured(id, where, statement,
                        as_good(study.runs.scores(way, test_accuracy), fp32, margin, accuracy_text));
    };
    result.measured("eps_1e5", source, "With eps = 1e-5 the net in fp16 learns, but less than in fp32.",
                    given(at_least(2 * guessing, study.runs.mean(way_1e5, test_accuracy), accuracy_text),
                          falls_short(study.runs.scores(way_1e5, test_accuracy), fp32, margin, accuracy_text)));
    good(way_1e4, "eps_1e4", source, "With eps = 1e-4 the net learns in fp16 as in fp32 with 1e-8.");
    good(way_state, "fp32_steps", cite(sources::paper, "3.1: fp32 master copy of weights"),
         "With Adam's steps and moments in fp32 the net learns in fp16 as in fp32, with the default eps and without "
         "master weights.");
    good(way_mixed, "mixed", cite(sources::paper, "3.1: fp32 master copy of weights"),
         "In mixed precision the net learns as in fp32, with the default eps.");
    good(way_bf16, "bf16", cite(sources::round_table, "BFP16: no need for scaling loss"),
         "Throughout in bf16, which has fp32's range, the net learns as in fp32, with the default eps.");
}

void figure_histogram(const Study& study, Result& result) {
    const FirstStep& first = study.first(way_fp32, 0);
    const BinadeHistogram& v = first.second_moments;
    Figure figure{
        "histogram",
        "Adam's first step: gradients, and their second moments",
        "Share of the weights in each binade, in fp32, first seed. The second moment is 0.001 g^2. Shaded: what fp16 "
        "makes 0, and its subnormal numbers.",
        fmt::format("fp16 makes {:.0f} % of the gradients 0, and {:.0f} % of the second moments. Such a weight moves "
                    "by rate * g / eps: with an eps of 0 infinitely far.",
                    100 * first.histogram.share(first.histogram.lost_in_fp16()), 100 * v.share(v.lost_in_fp16())),
        "",
        {first.histogram.series("gradient"), v.series("second moment")}};
    draw_binades(figure, binade_axis(-48, 4, "binade"), "share of the weights");
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const DataSplit data = digits_of(context, result, {2000, 500, 14});
    Study study{ways_of(context), {}, settings.real("learning_rate")};
    std::vector<Training> arms;
    for (const EpsWay& way : study.ways) {
        arms.push_back({.arithmetic = way.arithmetic,
                        .task = watched_task(data, settings),
                        .optimizer = {.kind = OptimizerKind::adam, .learning_rate = study.rate, .eps = way.eps},
                        .steps = settings.integer("steps")});
    }
    study.runs = compare(context, result, arms, settings.integer("seeds"));
    claim_rule(context, study, result);
    claim_training(study, result);
    figure_histogram(study, result);
    result.figure(figure_of_seeds(study.runs, test_accuracy, accuracy_text, "ladder",
                                  "Adam's eps in fp16, and what helps: accuracy"));
}

}  // namespace

Experiment experiment() {
    return {
        "adam_eps",
        "Adam in fp16: the default eps is 0",
        "Which eps does Adam need throughout in fp16, and do fp32's gradients predict it?",
        {Chapter::underflow, 6},
        {integer_setting("steps", "training steps", 100, 1000, 2, 1000000).smoke(10),
         integer_setting("batch", "images a step", 64, 64, 1, 4096).smoke(16),
         integer_setting("hidden", "width of the hidden layer", 32, 64, 1, 4096).smoke(16),
         integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(2),
         real_setting("learning_rate", "of Adam", 1e-3, 1e-3, 0, 10),
         control_setting("fp32_state takes Adam's steps and moments to fp32 in the runs with several eps; "
                         "fp16_state trains throughout in fp16 instead of the remedies; small_eps takes a tenth of "
                         "each eps; eightfold predicts for gradients eight times as large",
                         {"fp32_state", "fp16_state", "small_eps", "eightfold"}),
         path_setting("mnist", "folder with the MNIST idx files, instead of generated digits")},
        run,
        {Control("control=eightfold", "predicted_moments"),
         Control("control=fp32_state", "predicted_moments predicted_update default_diverges eps_1e5", RunSize::quick),
         Control("control=small_eps", "eps_1e5 eps_1e4", RunSize::quick),
         Control("control=fp16_state", "fp32_steps mixed bf16", RunSize::quick)},
        Effect{"eps_1e5"}};
}

}  // namespace ulp::adam_eps_experiment
