// Optimisation levels O0 to O3: the regression of the slides at its full size, and classifiers of four kinds.
#include "engine/recipes/levels.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::opt_levels_experiment {
namespace {

constexpr std::string_view levels[] = {"O0", "O1", "O2", "O3"};
constexpr std::string_view classifiers[] = {"plain", "vgg", "inception", "residual"};

/// O0 in fp32 on soft:ieee, the others on the mixed backend. Under the control "all_O3" O1 and O2 are O3; under
/// "O3_as_O2" O3 is O2; under "coarse" O1 and O2 keep weights in FP6 E3M2 and no masters.
std::vector<Arithmetic> arithmetics_of(const RunContext& context) {
    std::vector<Arithmetic> arithmetics;
    for (const std::string_view level : levels) {
        const bool spoilt = level == "O1" || level == "O2";
        std::string_view chosen = spoilt && has_control(context, "all_O3") ? "O3" : level;
        if (level == "O3" && has_control(context, "O3_as_O2")) chosen = "O2";
        arithmetics.push_back(arithmetic_of(context, std::string(level), Level(chosen).recipe()));
        if (spoilt && has_control(context, "coarse")) {
            arithmetics.back().recipe.weights = formats::e3m2;
            arithmetics.back().recipe.master_weights = false;
        }
    }
    return arithmetics;
}

/// x (64, 1024) and y (64, 512), standard normal, as torch.randn makes them up to the generator.
struct Regression {
    Matrix x{64, 1024};
    Tensor y{Shape{64, 512}};

    explicit Regression(std::uint64_t seed) {
        Random random(seed, "regression");
        for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(random.normal());
        for (float& value : y.values()) value = static_cast<float>(random.normal());
    }
};

constexpr std::size_t fall_of_loss = 0;
constexpr std::size_t swamped_share = 1;

/// Scores: how far the loss fell; the share of the updates that left their weight as it was, in the last step.
Task regression_task(Model& model, std::uint64_t seed) {
    const Regression data(seed);
    const Linear net(model, "linear", 1024, 512);
    const auto counts = std::make_shared<UpdateCounts>();
    Task task{.loss = [=](Tape& tape, std::int64_t) { return mse(net(images_on(tape, data.x)), data.y); }};
    task.after_step = [counts](Trainer& trainer, const StepResult&) { *counts = trainer.optimizer().counts(); };
    task.measure = [counts](Evaluation&, Learned& learned) {
        learned.scores = {
            learned.losses.front() - learned.losses.back(),
            static_cast<double>(counts->swamped) / static_cast<double>(std::max<std::int64_t>(1, counts->weights))};
    };
    return task;
}

void regression(const RunContext& context, Result& result) {
    const Training training{.task = regression_task,
                            .optimizer = {.learning_rate = 1e-3},
                            .steps = context.settings.integer("regression_steps")};
    const Comparison comparison = compare(context, result, arithmetics_of(context), training,
                                          context.settings.integer("regression_seeds"), {0, 0.4});
    const std::string place = cite(sources::amp_slides, "Example: N, D_in, D_out = 64, 1024, 512");
    const Quantity fall{"fall of the loss", "", 1, 6};
    const double fp32 = comparison.mean(0, fall_of_loss);
    const Margin margin{0.00005, "a hundredth of what fp32 learns in 30 steps"};
    for (std::size_t level = 1; level <= 2; ++level) {
        claim_parity(result, comparison, fall_of_loss, fall, margin, fmt::format("regression_O{}", level), place,
                     fmt::format("The regression learns at O{} as it does in fp32 (O0).", level), level);
    }
    result.measured(
        "regression_O3", place,
        "At O3 hardly anything is learned, less than a tenth: nearly all updates of learning rate 1e-3 are smaller "
        "than half the distance between neighbouring fp16 weights, so that the weights stay where they are.",
        below(0.1 * fp32, comparison.mean(3, fall_of_loss), fall));
    const Quantity share{"updates that changed nothing", "% of the updates", 100, 1};
    result.measured("regression_swamped", place,
                    "The reason is swamping: more than nine tenths of the updates at O3 leave their weight as it was, "
                    "in fp32 at most a hundredth.",
                    above(0.9, comparison.mean(3, swamped_share), share).at("at O3") &&
                        at_most(0.01, comparison.mean(0, swamped_share), share).at("at O0"));
    Curves changes = losses_of(comparison, 1000);
    for (auto& level : changes.values) {
        for (std::vector<double>& losses : level) {
            const double start = losses.front();
            for (double& loss : losses) loss -= start;
        }
    }
    result.figure(figure_of_curves(
        changes,
        {.relative = false,
         .what = "Change of the loss since the start, in thousandths; learning rate 0.001",
         .label = "change, thousandths",
         .unit = "thousandths"},
        {"regression", "The slides' regression, 64 x 1024 to 512, at the four levels",
         fmt::format("Updates that leave their weight as it was: {} at O0, {} at O3, whose weights are fp16.",
                     share.text(comparison.mean(0, swamped_share)), share.text(comparison.mean(3, swamped_share))),
         comparison.evidence}));
}

/// Top-1 accuracies on ILSVRC12 in fp32 and mixed precision, in per cent (Carilli and Ruberry, "Mixed precision in
/// practice: accuracy"), to stand beside what is measured here.
struct Quoted {
    std::string_view net;
    double fp32;
    double mixed;
};
constexpr Quoted quoted[] = {{"AlexNet", 56.77, 56.93},      {"VGG-D", 65.40, 65.43},
                             {"GoogLeNet", 68.33, 68.43},    {"Inception v2", 70.03, 70.02},
                             {"Inception v3", 73.85, 74.13}, {"ResNet-50", 75.92, 76.04}};

/// Differences from fp32 in points: the sources' networks, then the nets here at O1 to O3.
Figure figure_of_differences(const std::vector<Comparison>& nets) {
    std::vector<std::string> arms(std::begin(levels), std::end(levels));
    arms.emplace_back("quoted");
    std::vector<ScoredCase> cases;
    for (const Quoted& row : quoted) {
        cases.push_back({std::string(row.net), std::vector<std::vector<double>>(arms.size())});
        cases.back().scores.front() = {row.fp32 / 100};
        cases.back().scores.back() = {row.mixed / 100};
    }
    for (std::size_t net = 0; net < nets.size(); ++net) {
        cases.push_back({std::string(classifiers[net]), std::vector<std::vector<double>>(arms.size())});
        for (std::size_t level = 0; level < std::size(levels); ++level) {
            for (const Learned& run : nets[net].runs[level]) {
                cases.back().scores[level].push_back(run.scores.at(test_accuracy));
            }
        }
    }
    return figure_of_cases(
        cases, arms, 100, "points",
        {"differences", "Mixed precision minus fp32, in points of accuracy",
         fmt::format(
             "The first {} nets are the sources', on ImageNet; the others are trained here on generated digits.",
             std::size(quoted)),
         nets.front().evidence});
}

void classify(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const DataSplit data = generated_digits(
        context, result, {settings.integer("train_images"), settings.integer("test_images"), settings.integer("side")});
    const std::string place = cite(sources::amp_slides, "Same accuracy as FP32, with no hyperparameter changes");
    std::vector<Comparison> nets;
    double worst = 1;
    for (std::size_t i = 0; i < std::size(classifiers); ++i) {
        const std::string_view name = classifiers[i];
        const Layers net = net_by_name(name).layers(settings.integer("hidden"));
        const Training training{
            .task = images_task(net, data, std::min<Index>(settings.integer("batch"), data.train.size())),
            .optimizer = {.learning_rate = settings.real("learning_rate"), .momentum = 0.9},
            .steps = settings.integer("steps"),
            .schedule = linear_decay_factor};
        const double from = 0.4 + 0.15 * static_cast<double>(i);
        nets.push_back(compare(context, result, arithmetics_of(context), training, settings.integer("seeds"),
                               {from, from + 0.15}));
        worst = smaller(worst, nets.back().mean(0, test_accuracy));
    }
    result.measured("learns", place, "Each of the four nets learns the digits in fp32.",
                    at_least(0.95, worst, {"right by the worst of them", "%", 100, 1}));
    // Less than the chance that another seed brings, more than any difference that the sources publish.
    const Margin margin{0.01, "one test image of a hundred", Margin::Side::not_below};
    for (std::size_t i = 0; i < nets.size(); ++i) {
        for (std::size_t level = 1; level <= 2; ++level) {
            claim_parity(result, nets[i], test_accuracy, accuracy_text, margin,
                         fmt::format("{}_O{}", classifiers[i], level), place,
                         fmt::format("A net of the kind \"{}\" with batch normalisation is as good at O{}.",
                                     classifiers[i], level),
                         level);
        }
    }
    result.figure(figure_of_differences(nets));
    result.figure(
        figure_of_losses(nets.back(), 5, "residual_loss", "Residual net: training loss at the four levels", false));
}

void run(const RunContext& context, Result& result) {
    regression(context, result);
    classify(context, result);
}

}  // namespace

Experiment experiment() {
    return {"opt_levels",
            "Optimisation levels O0 to O3",
            "Which of apex's levels train as fp32 does?",
            {Chapter::systems, 4},
            {integer_setting("regression_steps", "of the regression", 30, 500, 2, 100000).smoke(6),
             integer_setting("regression_seeds", "runs of the regression at each level", 3, 3, 1, 100).smoke(2),
             integer_setting("steps", "of each classifier", 205, 400, 2, 1000000).smoke(2),
             integer_setting("batch", "images a step", 16, 32, 1, 4096).smoke(32),
             integer_setting("hidden", "channels of the first convolutions", 8, 12, 2, 256).smoke(2),
             integer_setting("train_images", "generated digits to train on", 1920, 20000, 1, 1000000).smoke(64),
             integer_setting("test_images", "generated digits to test on", 500, 4000, 1, 1000000).smoke(20),
             integer_setting("side", "pixels a side", 12, 16, 8, 64),
             integer_setting("seeds", "runs of each classifier at each level", 3, 4, 1, 100).smoke(1),
             real_setting("learning_rate", "of gradient descent with momentum 0.9, falling linearly to 0", 0.06, 0.06,
                          0, 10)
                 .smoke(0.05),
             control_setting("all_O3 uses O3 instead of O1 and O2, O3_as_O2 O2 instead of O3; coarse keeps the weights "
                             "of O1 and O2 in FP6 E3M2, without masters",
                             {"all_O3", "O3_as_O2", "coarse"})},
            run,
            {Control("control=all_O3", "regression_O1 regression_O2"),
             Control("control=O3_as_O2", "regression_O3 regression_swamped"),
             Control("control=coarse",
                     "regression_O1 regression_O2 plain_O1 plain_O2 vgg_O1 vgg_O2 inception_O1 inception_O2 "
                     "residual_O1 residual_O2",
                     RunSize::quick, "regression_steps=6"),
             Control("learning_rate=0", "learns", RunSize::quick, "regression_steps=2 seeds=1")},
            Effect{"regression_O3"}};
}

}  // namespace ulp::opt_levels_experiment
