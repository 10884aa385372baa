// Two nets against each other while the pictures grow: a generator of faces and its critic, each with its own loss
// scale.
#include "engine/data/generated.hpp"
#include "engine/nets/face_nets.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/comparison.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::gan_experiment {
namespace {

constexpr std::size_t stages = growth_stages;
/// Faces of each kind in the figure.
constexpr Index shown = 4;

/// What was seen of one of the two nets.
struct Trace {
    std::vector<double> scales;
    std::vector<double> largest;  // unscaled gradient of the step; values of fp32
};

struct GanRun {
    Trace generator;
    Trace critic;
    double distance = 0;         // of the generated faces from the real ones
    std::vector<double> pixels;  // some generated faces, one after the other
};

struct GanOptions {
    std::int64_t steps;  // a stage
    Index batch;
    Index channels;
    double learning_rate;
    bool one_scaler;
    bool grows;
};

double largest_gradient(Optimizer& optimizer) {
    float largest = 0;
    for (const Tensor& gradient : optimizer.gradients()) {
        for (const float g : gradient.values()) largest = std::isfinite(g) ? std::max(largest, std::fabs(g)) : largest;
    }
    return static_cast<double>(largest);
}

Matrix random_noise(Index rows, Random& random) {
    Matrix noise(rows, FaceGenerator::noise);
    for (Index i = 0; i < noise.size(); ++i) noise.data()[i] = static_cast<float>(random.normal());
    return noise;
}

/// Pixels to -1 .. 1.
Matrix bright(const Batch& batch) { return (batch.images.array() * 2 - 1).matrix(); }

Tensor all(Index count, float value) {
    return {{count, 1}, std::vector<float>(static_cast<std::size_t>(count), value)};
}

/// How far two sets of as many faces lie apart (sliced Wasserstein distance, by which Karras et al., 2018, judged
/// growing GANs): along random directions both sets are sorted, and the differences in rank averaged.
double sliced_distance(const Matrix& a, const Matrix& b) {
    Random random(0, "directions");
    constexpr int directions = 64;
    double sum = 0;
    for (int d = 0; d < directions; ++d) {
        Eigen::VectorXd direction(a.cols());
        double square = 0;
        for (double& x : direction) x = random.normal();
        for (const double x : direction) square += x * x;
        const auto shadows = [&](const Matrix& faces) {
            std::vector<double> along;
            for (Index i = 0; i < faces.rows(); ++i) {
                double dot = 0;
                for (Index p = 0; p < faces.cols(); ++p) dot += static_cast<double>(faces(i, p)) * direction[p];
                along.push_back(dot / std::sqrt(square));
            }
            std::ranges::sort(along);
            return along;
        };
        const std::vector<double> one = shadows(a);
        const std::vector<double> other = shadows(b);
        for (std::size_t i = 0; i < one.size(); ++i) {
            sum += std::fabs(one[i] - other[i]) / static_cast<double>(directions * one.size());
        }
    }
    return sum;
}

/// Of the last stage: those that generated ones are judged by.
Matrix judged_by(const std::array<Dataset, stages>& faces) {
    return bright(batch_of(faces.back(), index_range(0, std::min<Index>(faces.back().size(), 128))));
}

/// How near the generated faces come to the real ones, and some of them.
void judge(Evaluation evaluation, const FaceGenerator& generator, std::uint64_t seed, const Matrix& real, GanRun& run) {
    Random fresh(seed, "noise for judging");
    Tape tape(evaluation);
    const Tensor made = generator(tape, random_noise(real.rows(), fresh), stages - 1).value();
    run.distance = sliced_distance(Eigen::Map<const Matrix>(made.data(), real.rows(), real.cols()), real);
    run.pixels.assign(made.data(), made.data() + std::min(shown, real.rows()) * real.cols());
}

/// Each net trained against the other, the critic's step first. Keeps a GanRun.
Learned train(const Arithmetic& arithmetic, std::uint64_t seed, const std::array<Dataset, stages>& faces,
              const GanOptions& options) {
    std::optional<FaceGenerator> generator;
    std::optional<FaceCritic> critic;
    GanRun run;
    Random random(seed, "noise");
    std::vector<std::function<std::vector<Index>(std::int64_t)>> order;
    for (const Dataset& of_stage : faces) order.push_back(batches(of_stage.size(), options.batch, seed));
    const auto stage_of = [&](std::int64_t step) {
        return options.grows ? static_cast<std::size_t>(step / options.steps) : stages - 1;
    };
    const auto fakes = [&](Tape& tape, std::size_t stage) {
        return (*generator)(tape, random_noise(options.batch, random), stage);
    };
    const auto run_of = [&](const TaskBuilder& task) -> Training {
        return {.arithmetic = arithmetic,
                .task = task,
                .optimizer = {.kind = OptimizerKind::adam, .learning_rate = options.learning_rate, .beta1 = 0.5}};
    };
    TrainingRun of_generator(run_of([&](Model& model, std::uint64_t) -> Task {
                                 generator.emplace(model, options.channels);
                                 const auto loss = [&](Tape& tape, std::int64_t step) {
                                     const std::size_t stage = stage_of(step);
                                     const Var score = (*critic)(fakes(tape, stage), stage);
                                     return bce_with_logits(score, all(options.batch, 1));
                                 };
                                 return {.loss = loss, .before_update = [&](Optimizer& optimizer) {
                                             run.generator.largest.push_back(largest_gradient(optimizer));
                                         }};
                             }),
                             seed);
    TrainingRun of_critic(run_of([&](Model& model, std::uint64_t) -> Task {
                              critic.emplace(model, options.channels);
                              const auto loss = [&](Tape& tape, std::int64_t step) {
                                  const std::size_t stage = stage_of(step);
                                  const Matrix real =
                                      bright(batch_of(faces[stage], order[stage](step % options.steps)));
                                  const Tensor fake = fakes(tape, stage).value();
                                  const Shape shape{options.batch, 1, face_side(stage), face_side(stage)};
                                  const Var real_score = (*critic)(reshape(images_on(tape, real), shape), stage);
                                  const Var fake_score = (*critic)(tape.constant(fake), stage);
                                  const Var real_loss = bce_with_logits(real_score, all(options.batch, 1));
                                  return add(real_loss, bce_with_logits(fake_score, all(options.batch, 0)));
                              };
                              return {.loss = loss, .before_update = [&](Optimizer& optimizer) {
                                          run.critic.largest.push_back(largest_gradient(optimizer));
                                      }};
                          }),
                          seed + 1000);
    LossScale& scale = of_generator.trainer().scaler().rule();
    for (std::int64_t step = 0; step < static_cast<std::int64_t>(stages) * options.steps; ++step) {
        LossScale one = scale;
        const bool critic_skipped = of_critic.step().skipped;
        const bool skipped = of_generator.step().skipped;
        of_critic.trainer().model().clear_gradients();  // the critic only passed them on
        if (!options.one_scaler) continue;
        one.update(critic_skipped || skipped);
        scale = one;
        of_critic.trainer().scaler().rule() = one;
    }
    run.generator.scales = of_generator.learned().scales;
    run.critic.scales = of_critic.learned().scales;
    judge(of_generator.trainer().evaluation(), *generator, seed, judged_by(faces), run);
    const std::int64_t parameters =
        of_generator.trainer().model().parameter_count() + of_critic.trainer().model().parameter_count();
    return {.losses = of_generator.learned().losses, .scores = {run.distance}, .more = run, .parameters = parameters};
}

double mean_exponent(const std::vector<double>& scales, std::size_t first, std::size_t count) {
    double sum = 0;
    for (std::size_t i = first; i < first + count; ++i) sum += std::ilogb(scales[i]);  // powers of two
    return sum / static_cast<double>(count);
}

/// Where the scale settled: the mean exponent over the second half of a stage.
double level(const std::vector<double>& scales, std::size_t stage) {
    const std::size_t steps = scales.size() / stages;
    return mean_exponent(scales, stage * steps + steps / 2, steps - steps / 2);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// By which factors the largest gradient changes, up or down, where the pictures grow.
void add_shifts(const std::vector<double>& largest, std::vector<double>& factors) {
    const std::size_t steps = largest.size() / stages;
    const auto near = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, std::min<std::size_t>(10, steps / 2)));
    for (std::size_t stage = 1; stage < stages; ++stage) {
        const auto at = largest.begin() + static_cast<std::ptrdiff_t>(stage * steps);
        const double before = median({at - near, at});
        const double after = median({at, at + near});
        factors.push_back(before > 0 && after > 0 ? std::max(before / after, after / before) : 1);
    }
}

void claim_scales(const std::vector<Learned>& mixed, Result& result) {
    const std::string place = cite(sources::volta_talk, "Progressive growing of GANs: loss scaling");
    int differ = 0;
    int adapt = 0;
    std::vector<double> factors;
    for (const Learned& learned : mixed) {
        const auto& run = learned.kept<GanRun>();
        std::size_t apart = 0;
        for (std::size_t i = 0; i < run.critic.scales.size(); ++i) {
            apart += run.critic.scales[i] != run.generator.scales[i] ? 1 : 0;
        }
        const double share = static_cast<double>(apart) / static_cast<double>(run.critic.scales.size());
        differ += share > 0.5 ? 1 : 0;
        double moved = 0;
        for (const Trace* trace : {&run.generator, &run.critic}) {
            for (std::size_t s = 1; s < stages; ++s) {
                moved = larger(moved, std::fabs(level(trace->scales, s) - level(trace->scales, s - 1)));
            }
        }
        adapt += moved >= 0.5 ? 1 : 0;
        add_shifts(run.generator.largest, factors);
        add_shifts(run.critic.largest, factors);
    }
    const auto runs = [&](std::string_view what) { return fmt::format("of {} runs {}", mixed.size(), what); };
    const double most = static_cast<double>(mixed.size() / 2) + 1;
    result.measured("two_scales", place,
                    "Given a moving scale each, generator and discriminator come to scales of their own: in most runs "
                    "the two differ in more than half of the steps. (Whether they need one: gan.needs_scale.)",
                    at_least(most, differ, {"runs", "", 1, 0}).at(runs("differ")));
    result.measured("adapts", place,
                    "A moving scale does not come to rest: from one third of the training to the next one of the two "
                    "moves by half a binade or more, in most runs.",
                    at_least(most, adapt, {"runs", "", 1, 0}).at(runs("move")));
    result.measured("gradients_shift", place,
                    "Gradient statistics shift drastically when the resolution is increased: the largest gradient "
                    "changes by a factor of 2 or more, median over runs, nets and growths.",
                    at_least(2, median(factors), {"factor", "", 1, 1}));
}

Figure figure_of_traces(const GanRun& run, std::string evidence, std::string name, std::string title,
                        std::vector<double> Trace::*what, Axis y) {
    Figure figure{std::move(name), std::move(title),
                  "First seed in mixed precision. Grey lines: 8 to 16, 16 to 32 pixels a side.",
                  "Medians with 8, 16 and 32 pixels a side:", std::move(evidence)};
    const std::size_t each = run.generator.scales.size() / stages;
    for (const auto& [net, trace] : {std::pair{"generator", &run.generator}, {"discriminator", &run.critic}}) {
        Series series{net};
        const std::vector<double>& values = trace->*what;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (std::isfinite(values[i]) && values[i] > 0) series.points.push_back({static_cast<double>(i), values[i]});
        }
        figure.series.push_back(std::move(series));
        for (std::size_t s = 0; s < stages; ++s) {
            const auto at = values.begin() + static_cast<std::ptrdiff_t>(s * each);
            const double middle = median({at, at + static_cast<std::ptrdiff_t>(each)});
            figure.meaning +=
                fmt::format("{} {}", s == 0 ? fmt::format(" {}", net) : ",",
                            y.log_base == 2 ? power_of_two_text(std::ilogb(middle)) : fmt::format("{:.3g}", middle));
        }
        figure.meaning += net == figure.series.front().name ? ";" : ".";
    }
    figure.axes = {step_axis(), std::move(y)};
    figure.looks = {{.mark = Mark::steps}};
    figure.guides = {upright(static_cast<double>(each)), upright(static_cast<double>(2 * each))};
    return figure;
}

/// Faces side by side on one sheet, counted row by row over its whole width.
Series sheet(std::string name, const std::vector<double>& faces) {
    Series series{std::move(name)};
    const auto side = static_cast<std::size_t>(face_side(stages - 1));
    const std::size_t count = faces.size() / (side * side);
    for (std::size_t i = 0; i < faces.size(); ++i) {
        const std::size_t row = i / (side * count);
        const std::size_t column = i % (side * count);
        series.points.push_back({static_cast<double>(i), faces[(column / side * side + row) * side + column % side]});
    }
    return series;
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const auto count = settings.integer("train_images");
    std::array<Dataset, stages> faces;
    for (std::size_t s = 0; s < stages; ++s) {
        faces[s] = generated_faces({count, face_side(s), context.seed});
        result.input({fmt::format("generated faces, {0} x {0}", face_side(s)), faces[s].digest()});
    }
    const GanOptions options{settings.integer("steps"),          std::min<Index>(count, settings.integer("batch")),
                             settings.integer("channels"),       settings.real("learning_rate"),
                             has_control(context, "one_scaler"), !has_control(context, "full_size")};
    const std::vector<Arithmetic> arithmetics =
        under_control(context, {fp32_arithmetic(),
                                mixed_arithmetic(context, "fp16", dynamic_loss_scale(settings.integer("scale_window"))),
                                mixed_arithmetic(context, "fp16, scale 1", constant_loss_scale(1))});
    const auto train_one = [&](std::size_t arm, std::uint64_t seed) {
        return train(arithmetics[arm], seed, faces, options);
    };
    const Comparison comparison = compare(context, result, arithmetics, train_one, settings.integer("seeds"));
    const auto& fp32 = comparison.runs[0].front().kept<GanRun>();
    const auto& mixed = comparison.runs[1].front().kept<GanRun>();

    const std::string place = cite(sources::volta_talk, "Progressive growing of GANs");
    const Quantity distance{"sliced Wasserstein distance, black to white 2", "", 1, 3};
    const Matrix real = judged_by(faces);
    Matrix mean_face = Matrix::Zero(real.rows(), real.cols());
    for (Index i = 0; i < real.rows(); ++i) mean_face.rowwise() += real.row(i) / static_cast<float>(real.rows());
    const double of_mean = sliced_distance(mean_face, real);
    result.measured("learns", place,
                    "In fp32 the nets learn to make faces, and not one face alone: they lie nearer to the real ones "
                    "than their mean does.",
                    below(of_mean, comparison.mean(0), distance));
    // Two of these nets never end alike: one another's errors decide their way. Six grey levels are 0.047, times
    // sqrt(2 / pi), the mean size of the sum of a random direction's numbers.
    const Margin margin{0.0375, "of faces six grey levels of 256 lighter, which the eye hardly sees",
                        Margin::Side::not_above};
    claim_parity(result, comparison, 0, distance, margin, "parity", place,
                 "No perceptible difference between fp32 and mixed precision: the generated faces come as near to the "
                 "real ones.",
                 1);
    result.measured(
        "needs_scale", cite(sources::volta_talk, "Progressive growing of GANs: loss scaling"),
        "The nets need a loss scale: with a constant one of 1 the faces come less near to the real ones than "
        "in fp32.",
        falls_short(comparison.scores(2), comparison.scores(0), margin, distance));
    claim_scales(comparison.runs[1], result);
    result.figure(figure_of_traces(mixed, comparison.evidence, "scales", "Two nets, two loss scales", &Trace::scales,
                                   power_axis("loss scale", 2, 0.1)));
    result.figure(figure_of_traces(mixed, comparison.evidence, "gradients", "Largest gradient of each step",
                                   &Trace::largest, power_axis("largest gradient, unscaled", 10, 0.1)));
    Figure pictures{"faces", "Faces: real, made in fp32, made in mixed precision",
                    fmt::format("32 x 32 pixels, after {} steps at each of three sizes; first seed.", options.steps),
                    fmt::format("Sliced Wasserstein distance from the real faces, where black and white differ by 2: "
                                "{:.3f} in fp32, {:.3f} in mixed precision; of their mean {:.3f}.",
                                fp32.distance, mixed.distance, of_mean),
                    comparison.evidence};
    pictures.series.push_back(sheet("real", {real.data(), real.data() + std::min(shown, real.rows()) * real.cols()}));
    pictures.series.push_back(sheet("fp32", fp32.pixels));
    pictures.series.push_back(sheet("mixed", mixed.pixels));
    show_as_rows(pictures, face_side(stages - 1), true);
    result.figure(std::move(pictures));
}

}  // namespace

Experiment experiment() {
    return {
        "gan",
        "Growing pictures: two nets, two loss scales",
        "Do the two nets of a growing GAN need loss scales of their own?",
        {Chapter::systems, 7},
        {integer_setting("steps", "at each of three sizes", 60, 200, 4, 1000000).smoke(12),
         integer_setting("batch", "faces a step", 8, 16, 1, 1024),
         integer_setting("channels", "of every layer", 6, 16, 2, 256).smoke(2),
         integer_setting("train_images", "generated faces", 300, 3000, 1, 1000000).smoke(16),
         integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(1),
         integer_setting("scale_window", "clean steps until a scale grows", 12, 50, 1, 1000000),
         real_setting("learning_rate", "of Adam", 1.5e-3, 1e-3, 0, 10),
         mixed_control("one_scaler gives both nets the same; full_size trains on the largest pictures from the start",
                       {"one_scaler", "full_size"})},
        run,
        {Control("control=one_scaler", "two_scales"), Control("control=pure_fp16", "parity two_scales adapts"),
         Control("control=scale_1", "two_scales adapts gradients_shift", RunSize::quick),
         Control("control=coarse", "parity needs_scale gradients_shift", RunSize::quick),
         Control("control=full_size", "gradients_shift", RunSize::quick),
         Control("learning_rate=0", "learns parity needs_scale gradients_shift", RunSize::quick)}};
}

}  // namespace ulp::gan_experiment
