// Two nets against each other while the pictures grow: a generator of faces and its critic, each with its own loss
// scale.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/data/faces.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/shared/sources.hpp"
#include "experiments/training/comparison.hpp"

namespace ulp {
namespace gan_parts {
namespace {

using sources::cite;

/// 8, 16, 32 pixels a side.
constexpr std::size_t stages = 3;
constexpr Index side_of(std::size_t stage) { return Index{8} << stage; }
constexpr Index noise_numbers = 16;
/// Faces of each kind in the figure.
constexpr Index shown = 4;

/// Noise to faces: a dense layer makes 4 x 4 pixels, each block doubles the side; every stage has its way to grey.
struct Generator {
    Linear start;
    std::vector<ConvTranspose2d> up;
    std::vector<Conv2d> to_grey;
    Index width;

    Generator(Model& model, Index channels) : start(model, "start", noise_numbers, channels * 16), width(channels) {
        for (std::size_t s = 0; s < stages; ++s) {
            up.emplace_back(model, fmt::format("up{}", s), channels, channels, 4,
                            ConvOptions{.stride = 2, .padding = 1});
            to_grey.emplace_back(model, fmt::format("to_grey{}", s), channels, 1, 3, ConvOptions{.padding = 1});
        }
    }
    Var operator()(Tape& tape, const Matrix& noise, std::size_t stage) const {
        Var x = leaky_relu(start(images_on(tape, noise)), 0.2);
        x = reshape(x, {noise.rows(), width, 4, 4});
        for (std::size_t s = 0; s <= stage; ++s) x = leaky_relu(up[s](x), 0.2);
        return tanh(to_grey[stage](x));
    }
};

/// The same backwards: faces to one score, high for real ones.
struct Critic {
    std::vector<Conv2d> from_grey;
    std::vector<Conv2d> down;
    Linear score;

    Critic(Model& model, Index channels) : score(model, "score", channels * 16, 1) {
        for (std::size_t s = 0; s < stages; ++s) {
            from_grey.emplace_back(model, fmt::format("from_grey{}", s), 1, channels, 3, ConvOptions{.padding = 1});
            down.emplace_back(model, fmt::format("down{}", s), channels, channels, 4,
                              ConvOptions{.stride = 2, .padding = 1});
        }
    }
    Var operator()(Var x, std::size_t stage) const {
        x = leaky_relu(from_grey[stage](x), 0.2);
        for (std::size_t s = stage + 1; s > 0; --s) x = leaky_relu(down[s - 1](x), 0.2);
        return score(reshape(x, {x.dim(0), x.dim(1) * 16}));
    }
};

/// What was seen of one of the two nets.
struct Trace {
    std::vector<double> scales;
    std::vector<double> largest;  // unscaled gradient of the step; values of fp32
};

struct GanRun {
    Trace generator;
    Trace critic;
    double difference = 0;       // between the mean generated and the mean real face, per pixel, of 2
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
    Matrix noise(rows, noise_numbers);
    for (Index i = 0; i < noise.size(); ++i) noise.data()[i] = static_cast<float>(random.normal());
    return noise;
}

/// Pixels to -1 .. 1.
Matrix bright(const Batch& batch) { return (batch.images.array() * 2 - 1).matrix(); }

Tensor all(Index count, float value) {
    return {{count, 1}, std::vector<float>(static_cast<std::size_t>(count), value)};
}

/// How near the generated faces come to the real ones, and some of them.
void judge(Evaluation evaluation, const Generator& generator, std::uint64_t seed,
           const std::array<Dataset, stages>& faces, GanRun& run) {
    // Means over the last stage's faces.
    constexpr std::size_t last = stages - 1;
    const Index pixels = side_of(last) * side_of(last);
    Random fresh(seed, "noise for judging");
    const Index judged = std::min<Index>(faces[last].size(), 128);
    Tape tape(evaluation);
    const Tensor fakes = generator(tape, random_noise(judged, fresh), last).value();
    std::vector<double> mean(static_cast<std::size_t>(pixels));
    for (Index i = 0; i < judged; ++i) {
        const std::uint8_t* real = faces[last].pixels.data() + i * pixels;
        for (Index p = 0; p < pixels; ++p) {
            const double difference = static_cast<double>(fakes[i * pixels + p]) - (2.0 * real[p] / 255 - 1);
            mean[static_cast<std::size_t>(p)] += difference / static_cast<double>(judged);
        }
    }
    for (const double m : mean) run.difference += std::fabs(m) / static_cast<double>(pixels);
    for (Index p = 0; p < std::min<Index>(shown, judged) * pixels; ++p)
        run.pixels.push_back(static_cast<double>(fakes[p]));
}

/// Each net trained against the other, the critic's step first. Keeps a GanRun.
Learned train(const Arithmetic& arithmetic, std::uint64_t seed, const std::array<Dataset, stages>& faces,
              const GanOptions& options) {
    std::optional<Generator> generator;
    std::optional<Critic> critic;
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
                                  const Shape shape{options.batch, 1, side_of(stage), side_of(stage)};
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
    judge(of_generator.trainer().evaluation(), *generator, seed, faces, run);
    const std::int64_t parameters =
        of_generator.trainer().model().parameter_count() + of_critic.trainer().model().parameter_count();
    return {.losses = of_generator.learned().losses, .scores = {run.difference}, .more = run, .parameters = parameters};
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
                moved = std::max(moved, std::fabs(level(trace->scales, s) - level(trace->scales, s - 1)));
            }
        }
        adapt += moved >= 0.5 ? 1 : 0;
        add_shifts(run.generator.largest, factors);
        add_shifts(run.critic.largest, factors);
    }
    const auto runs = [&](std::string_view what) { return fmt::format("of {} runs {}", mixed.size(), what); };
    const double most = static_cast<double>(mixed.size() / 2) + 1;
    result.measured("two_scales", place,
                    "Generator and discriminator need scales of their own: in most runs the two differ in more than "
                    "half of the steps.",
                    at_least(most, differ, {"runs", "", 1, 0}).at(runs("differ")));
    result.measured("adapts", place,
                    "No constant would do for long: from one third of the training to the next one of the scales "
                    "moves by half a binade or more, in most runs.",
                    at_least(most, adapt, {"runs", "", 1, 0}).at(runs("move")));
    result.measured("gradients_shift", place,
                    "Gradient statistics shift drastically when the resolution is increased: the largest gradient "
                    "changes by a factor of 2 or more, median over runs, nets and growths.",
                    at_least(2, median(factors), {"factor", "", 1, 1}));
}

Figure figure_of_traces(const GanRun& run, std::string evidence, std::string name, std::string title,
                        std::string meaning, std::vector<double> Trace::*what, Axes axes) {
    Figure figure{std::move(name), std::move(title),
                  "First seed in mixed precision. Grey lines: 8 to 16, 16 to 32 pixels a side.", std::move(meaning),
                  std::move(evidence)};
    for (const auto& [net, trace] : {std::pair{"generator", &run.generator}, {"discriminator", &run.critic}}) {
        Series series{net, formats::fp64, {}};
        const std::vector<double>& values = trace->*what;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (std::isfinite(values[i]) && values[i] > 0) series.points.push_back({static_cast<double>(i), values[i]});
        }
        figure.series.push_back(std::move(series));
    }
    figure.plot = "gan_trace";
    const std::size_t each = run.generator.scales.size() / stages;
    figure.axes = std::move(axes);
    figure.variables = {{"growth1", static_cast<double>(each)}, {"growth2", static_cast<double>(2 * each)}};
    return figure;
}

/// Faces side by side on one sheet, counted row by row over its whole width.
Series sheet(std::string name, const std::vector<double>& faces) {
    Series series{std::move(name), formats::fp64, {}};
    const auto side = static_cast<std::size_t>(side_of(stages - 1));
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
    const auto count = static_cast<Index>(settings.integer("train_images"));
    std::array<Dataset, stages> faces;
    for (std::size_t s = 0; s < stages; ++s) {
        faces[s] = generated_faces({count, side_of(s), context.seed});
        result.input({fmt::format("generated faces, {0} x {0}", side_of(s)), faces[s].digest()});
    }
    const GanOptions options{settings.integer("steps"),
                             std::min(count, static_cast<Index>(settings.integer("batch"))),
                             static_cast<Index>(settings.integer("channels")),
                             settings.real("learning_rate"),
                             has_control(context, "one_scaler"),
                             !has_control(context, "full_size")};
    const std::vector<Arithmetic> arithmetics = under_control(
        context,
        {fp32_arithmetic(), mixed_arithmetic(context, "fp16", dynamic_loss_scale(settings.integer("scale_window")))});
    const auto train_one = [&](std::size_t arm, std::uint64_t seed) {
        return train(arithmetics[arm], seed, faces, options);
    };
    const Comparison comparison = compare(context, arithmetics, train_one, settings.integer("seeds"));
    const auto& fp32 = comparison.runs[0].front().kept<GanRun>();
    const auto& mixed = comparison.runs[1].front().kept<GanRun>();

    const std::string evidence = evidence_of(comparison, result);
    const std::string place = cite(sources::volta_talk, "Progressive growing of GANs");
    // Two of these nets never end alike: one another's errors decide their way.
    claim_parity(result, comparison, 0, {"distance of the mean faces, black to white 2", "", 1, 3},
                 {0.05, "six grey levels of 256, which the eye hardly sees", Margin::Side::not_above}, "parity", place,
                 "No perceptible difference between fp32 and mixed precision: the mean generated face comes as near to "
                 "the real one.",
                 1);
    claim_scales(comparison.runs[1], result);
    result.figure(figure_of_traces(
        mixed, evidence, "scales", "Two nets, two loss scales",
        "The scales of generator and discriminator go their own ways, and each finds another height after the pictures "
        "grow: one constant for both would be wrong for one of them, and later for both.",
        &Trace::scales, {.y = "loss scale", .log_base = 2, .powers = true}));
    result.figure(figure_of_traces(mixed, evidence, "gradients", "Largest gradient of each step",
                                   "Where the resolution doubles, new layers begin to learn and the gradients jump.",
                                   &Trace::largest,
                                   {.y = "largest gradient, unscaled", .log_base = 10, .powers = true}));
    Figure pictures{
        "faces", "Faces: real, made in fp32, made in mixed precision",
        fmt::format("32 x 32 pixels, after {} steps at each of three sizes; first seed.", options.steps),
        fmt::format("The mean generated face differs from the mean real one by {:.2f} in fp32 and {:.2f} in "
                    "mixed precision, where black and white differ by 2.",
                    fp32.difference, mixed.difference),
        evidence};
    const Index pixels = side_of(stages - 1) * side_of(stages - 1);
    std::vector<double> real;
    for (Index p = 0; p < std::min<Index>(shown, count) * pixels; ++p) {
        real.push_back(2.0 * faces[stages - 1].pixels[static_cast<std::size_t>(p)] / 255 - 1);
    }
    pictures.series.push_back(sheet("real", real));
    pictures.series.push_back(sheet("fp32", fp32.pixels));
    pictures.series.push_back(sheet("mixed", mixed.pixels));
    result.figure(std::move(pictures));
}

}  // namespace
}  // namespace gan_parts

Experiment gan_experiment() {
    using namespace gan_parts;
    return {
        "gan",
        "Growing pictures: two nets, two loss scales",
        "Do the two nets of a growing GAN need loss scales of their own?",
        Chapter::systems,
        {integer_setting("steps", "at each of three sizes", 60, 300, 4, 1000000).smoke(12),
         integer_setting("batch", "faces a step", 8, 16, 1, 1024),
         integer_setting("channels", "of every layer", 8, 16, 2, 256).smoke(2),
         integer_setting("train_images", "generated faces", 300, 3000, 1, 1000000).smoke(16),
         integer_setting("seeds", "runs of each arithmetic", 3, 8, 1, 100).smoke(1),
         integer_setting("scale_window", "clean steps until a scale grows", 12, 50, 1, 1000000),
         real_setting("learning_rate", "of Adam", 2e-3, 1e-3, 0, 10),
         mixed_control("one_scaler gives both nets the same; full_size trains on the largest pictures from the start",
                       {"one_scaler", "full_size"})},
        run,
        {{{}, {"control=one_scaler"}, {"two_scales", "adapts"}},
         {{}, {"control=pure_fp16"}, {"parity", "two_scales", "adapts", "gradients_shift"}},
         {{}, {"control=scale_1"}, {"two_scales", "adapts", "gradients_shift"}, RunSize::quick},
         {{}, {"control=full_size"}, {"gradients_shift"}, RunSize::quick}}};
}

}  // namespace ulp
