// A picture as a net of coordinates: the loss is a mean over a million pixels, so each pixel's gradient is its error
// divided by half a million, and fp16 loses it. Nothing is inserted. loss_scaling shows the same with a constant that
// makes it happen in a second.
#include "engine/data/generated.hpp"
#include "engine/tensor/steps.hpp"
#include "experiments/natural/tuning.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/figures.hpp"
#include "softfloat/round.hpp"

namespace ulp::coordinate_net_experiment {
namespace {

const Quantity psnr{"signal to noise", "dB", 1, 2};

/// A generated face in grey values from 0 to 1 (side, side): another one for each seed.
Tensor picture_of(Index side, std::uint64_t seed) {
    const Dataset face = generated_faces({.count = 1, .side = side, .seed = seed});
    Tensor picture({side, side});
    for (Index i = 0; i < picture.size(); ++i) {
        picture[i] = static_cast<float>(face.pixels[static_cast<std::size_t>(i)]) / 255.0F;
    }
    return picture;
}

/// Sines and cosines of a coordinate from 0 to 1 at 1/2, 1, 2 ... periods: (side, 2 * octaves).
Tensor encoded_coordinate(Index side, Index octaves) {
    Tensor waves({side, 2 * octaves});
    for (Index i = 0; i < waves.size(); ++i) {
        const Index wave = i % (2 * octaves);
        const double place = static_cast<double>(2 * (i / (2 * octaves)) + 1) / static_cast<double>(2 * side);
        const double angle = std::ldexp(3.14159265358979323846 * place, static_cast<int>(wave / 2));
        waves[i] = static_cast<float>(wave % 2 == 0 ? step::sin(angle) : step::cos(angle));
    }
    return waves;
}

/// A small net for each coordinate; a pixel is the product of what both say (split by coordinate as CoordX, Liang et
/// al., ICLR 2022), so that all pixels of a picture cost one product of matrices.
struct SplitCoordinateNet {
    Linear row1, row2, column1, column2;

    SplitCoordinateNet(Model& model, Index in, Index hidden, Index rank)
        : row1(model, "row1", in, hidden),
          row2(model, "row2", hidden, rank),
          column1(model, "column1", in, hidden),
          column2(model, "column2", hidden, rank) {}

    /// The coordinates' encoding (side, in) -> the picture (side, side).
    Var operator()(Tape& tape, const Tensor& coordinates) const {
        const Var x = tape.input(coordinates);
        const Var rows = row2(relu(row1(x)));
        const Var columns = column2(relu(column1(x)));
        return matmul(rows, columns, true);
    }
};

double signal_to_noise(const Tensor& picture, const Tensor& target) {
    double sum = 0;
    for (Index i = 0; i < target.size(); ++i) {
        const double error = static_cast<double>(picture[i]) - target[i];
        sum += error * error;
    }
    return -10 * step::log(sum / static_cast<double>(target.size())) / step::log(10.0);
}

/// Of the results that lie in 16 bits in fp16. The backward pass begins with the pixels; all others are sums over what
/// was left of those.
struct Seen {
    StepHistograms pixels, behind;
};

/// The pictures of the seeds from `first_seed` on. Each takes longer to make than a step, and all arithmetics learn it.
struct Pictures {
    std::uint64_t first_seed;
    std::vector<std::shared_ptr<const Tensor>> of_seed{};

    explicit Pictures(const RunContext& context) : first_seed(context.seed) {
        const std::int64_t seeds = context.settings.integer("seeds");
        for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(seeds); ++i) {
            of_seed.push_back(
                std::make_shared<const Tensor>(picture_of(context.settings.integer("side"), first_seed + i)));
        }
    }
};

TaskBuilder picture_task(const Settings& settings, const Pictures& pictures) {
    return [&settings, &pictures](Model& model, std::uint64_t seed) -> Task {
        const SplitCoordinateNet net(model, 2 * settings.integer("octaves"), settings.integer("hidden"),
                                     settings.integer("rank"));
        const std::shared_ptr<const Tensor> target = pictures.of_seed.at(seed - pictures.first_seed);
        const auto waves =
            std::make_shared<const Tensor>(encoded_coordinate(settings.integer("side"), settings.integer("octaves")));
        const auto seen = std::make_shared<Seen>();
        const std::int64_t steps = settings.integer("steps");
        Task task{.loss = [=](Tape& tape, std::int64_t) { return mse(net(tape, *waves), *target); }};
        task.measure = [=](Evaluation& evaluation, Learned& learned) {
            Tape tape(evaluation);
            learned.scores = {signal_to_noise(net(tape, *waves).value(), *target)};
        };
        task.watched = [steps](std::int64_t step) {
            return step % std::max<std::int64_t>(steps / 8, 1) == 0 || step == steps - 1;
        };
        task.tap = [seen](std::int64_t step, const TapEvent& event) {
            if (event.role != TensorRole::activation_gradient || event.values.size() == 1 || event.name == "cast")
                return;
            (event.name == "matmul" ? seen->pixels : seen->behind)[step].add(event.values);
        };
        keep(task, seen);
        return task;
    };
}

enum : std::size_t { way_fp32, way_unscaled, way_128, way_bf16, way_dynamic };  // and further dialects

std::vector<Arithmetic> ways_of(const RunContext& context) {
    const auto low = [&](const std::string& name, const std::string& recipe, const LossScaleOptions& scale) {
        Arithmetic way{name, recipe_by_name(recipe), unit_or_ieee(context)};
        way.recipe.loss_scale = scale;
        return way;
    };
    std::vector<Arithmetic> ways = {fp32_arithmetic(), low("fp16 unscaled", "mixed_fp16", constant_loss_scale(1)),
                                    low("fp16 scale 128", "mixed_fp16", constant_loss_scale(128)),
                                    low("bf16", "bf16", constant_loss_scale(1))};
    const char* dialects[] = {"pytorch", "apex", "megatron", "fairseq", "deepspeed", "keras"};
    for (std::int64_t i = 0; i < context.settings.integer("dialects"); ++i) {
        ways.push_back(low(fmt::format("fp16 {}", dialects[i]), "mixed_fp16", loss_scale_dialect(dialects[i])));
    }
    if (has_control(context, "unscaled")) {
        for (std::size_t i = way_128; i < ways.size(); ++i) ways[i].recipe = ways[way_unscaled].recipe;
    }
    return ways;
}

Shares zeros_of(const std::vector<Learned>& runs, StepHistograms Seen::*where,
                std::optional<int> exponent = std::nullopt) {
    std::vector<const StepHistograms*> seeds;
    for (const Learned& run : runs) seeds.push_back(&(run.kept<Seen>().*where));
    return shares_of_zeros(seeds, exponent);
}

void claim_rule(const RunContext& context, const Comparison& runs, Result& result) {
    const std::int64_t pixels = context.settings.integer("side") * context.settings.integer("side");
    const double invisible = static_cast<double>(pixels) * 0x1p-26;
    const auto gradient = [&](double error) {
        return round_to(formats::fp16, static_cast<float>(2 * error / static_cast<double>(pixels)));
    };
    result.arithmetic("invisible", cite(sources::paper, "3.2: values below 2^-24 become zero in fp16"),
                      fmt::format("In a mean over {} pixels the gradient of a pixel's error e is 2 e / {}: fp16 makes "
                                  "0 of it up to e = {:.4g}, which is {:.3g} of 256 grey levels.",
                                  pixels, pixels, invisible, 256 * invisible),
                      equal(0, gradient(invisible) == 0 ? 0 : 1, "errors of that size seen") &&
                          equal(1, gradient(1.001 * invisible) == 0 ? 0 : 1, "slightly larger ones seen"));
    const int shift = has_control(context, "eighth") ? 3 : 0;
    double error = 0;
    for (const auto& [way, exponent] : {std::pair{way_unscaled, 0}, std::pair{way_128, 7}}) {
        error = larger(error, largest_difference(zeros_of(runs.runs[way_fp32], &Seen::pixels, exponent - shift),
                                                 zeros_of(runs.runs[way], &Seen::pixels)));
    }
    result.measured("predicted_share", cite(sources::paper, "3.2: the histogram of gradients"),
                    "The fp32 run's histograms of the pixels' gradients predict what fp16 makes 0 of them, without a "
                    "loss scale and with 128, at every step that was looked at.",
                    at_most(0.05, error, {"largest difference", "% of the gradients", 100, 1}));
}

void claim_quality(const Comparison& runs, Result& result) {
    const Margin margin{0.1, "the steps in which such tables rank methods", Margin::Side::not_below};
    const std::string library = cite("Müller, tiny-cuda-nn (2021)", "trainer.h: a loss scale of 128");
    const Scores fp32 = runs.scores(way_fp32);
    result.measured(
        "unscaled", library,
        "A net of coordinates learns a picture worse in fp16 without a loss scale than in fp32. The loss is "
        "an ordinary mean over the pixels.",
        falls_short(runs.scores(way_unscaled), fp32, margin, psnr));
    result.measured("scale_128", library, "With the library's scale of 128 the net learns the picture as in fp32.",
                    as_good(runs.scores(way_128), fp32, margin, psnr));
    result.measured("bf16", cite(sources::round_table, "BFP16: no need for scaling loss"),
                    "In bf16 the net learns the picture as in fp32, without a loss scale.",
                    as_good(runs.scores(way_bf16), fp32, margin, psnr));
    for (std::size_t way = way_dynamic; way < runs.arithmetics.size(); ++way) {
        const std::string& name = runs.arithmetics[way].name;
        result.measured(fmt::format("dynamic_{}", way - way_dynamic + 1),
                        cite(sources::volta_talk, "Automatic loss scaling frees users from choosing a scaling factor"),
                        fmt::format("With a dynamic loss scale the net learns the picture as in fp32. Here: {}.", name),
                        as_good(runs.scores(way), fp32, margin, psnr));
    }
}

void figure_histogram(const Comparison& runs, Result& result) {
    const auto& fp32 = runs.runs[way_fp32].front().kept<Seen>().pixels;
    const auto& unscaled = runs.runs[way_unscaled].front().kept<Seen>().pixels.rbegin()->second;
    const BinadeHistogram& last = fp32.rbegin()->second;
    Figure figure{"histogram",
                  "A picture's gradients: one number for each pixel",
                  fmt::format("Share of the {} gradients in each binade, in fp32, first seed. Shaded: what fp16 makes "
                              "0, and its subnormal numbers.",
                              last.total()),
                  fmt::format("At the last step {:.0f} % of them lie where fp16 has nothing, {:.0f} % at the first. In "
                              "the unscaled fp16 run {:.0f} % are 0 at the last.",
                              100 * last.share(last.zeros() + last.lost_in_fp16()),
                              100 * fp32.begin()->second.share(fp32.begin()->second.lost_in_fp16()),
                              100 * unscaled.share(unscaled.zeros())),
                  runs.evidence,
                  {fp32.begin()->second.series("first step"), last.series("last step")}};
    draw_binades(figure, binade_axis(-40, -12, "binade of the gradient"), "share of the pixels");
    figure.headline = fmt::format(
        "A picture of {} pixels learnt in fp16: {:.0f} % of the pixels' gradients are 0 without a loss scale.",
        last.total(), 100 * unscaled.share(unscaled.zeros()));
    result.figure(std::move(figure));
}

void figure_shares(const Comparison& runs, Result& result) {
    Figure figure{
        "shares", "Gradients that fp16 makes 0: predicted from fp32 alone, and counted",
        "Mean over the seeds. Lines: from the fp32 runs. Marks: counted. Behind: of all results but the pixels.", "",
        runs.evidence};
    const auto pair = [&](const std::string& name, StepHistograms Seen::*where, std::size_t way, int exponent) {
        figure.series.push_back(series_of(name + " predicted", zeros_of(runs.runs[way_fp32], where, exponent)));
        figure.series.push_back(series_of(name + " counted", zeros_of(runs.runs[way], where)));
    };
    pair("pixels unscaled", &Seen::pixels, way_unscaled, 0);
    pair("pixels scale 128", &Seen::pixels, way_128, 7);
    pair("behind unscaled", &Seen::behind, way_unscaled, 0);
    const auto last = [&](std::size_t series) { return 100 * figure.series[series].points.back().y; };
    figure.meaning = fmt::format(
        "At the last step the fp32 runs predict {:.1f} % zeros among the pixels' gradients without a scale; {:.1f} % "
        "are counted. Of the gradients behind, which are sums over the lost ones, {:.1f} % are predicted and {:.1f} % "
        "counted: what is lost before them their own exponents do not know.",
        last(0), last(1), last(4), last(5));
    draw_predicted_shares(figure, "share of the gradients");
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const Dataset face = generated_faces({.count = 1, .side = 32, .seed = context.seed});
    result.input({"generated face of the first seed, small", face.digest()});
    const Pictures pictures(context);
    const Training training{
        .task = picture_task(settings, pictures),
        .optimizer = {.kind = OptimizerKind::adam, .learning_rate = settings.real("learning_rate"), .beta2 = 0.99},
        .steps = settings.integer("steps"),
        .schedule = cosine_decay_factor};
    const Comparison runs = compare(context, result, ways_of(context), training, settings.integer("seeds"));
    claim_rule(context, runs, result);
    claim_quality(runs, result);
    figure_histogram(runs, result);
    figure_shares(runs, result);
    result.figure(figure_of_losses(runs, 10, "loss", "A picture as a net of coordinates: the loss"));
    result.figure(figure_of_seeds(runs, 0, psnr, "quality", "A picture as a net of coordinates: its quality"));
}

}  // namespace

Experiment experiment() {
    return {"coordinate_net",
            "A picture as a net of coordinates: the mean over its pixels needs a loss scale",
            "Does an ordinary mean over a million pixels need a loss scale, and does fp32 predict it?",
            {Chapter::underflow, 3},
            {integer_setting("side", "pixels of the picture's side", 1024, 1024, 16, 8192).smoke(64),
             integer_setting("steps", "training steps, each on all pixels", 200, 1000, 8, 1000000).smoke(16),
             integer_setting("hidden", "width of each coordinate's hidden layer", 32, 32, 1, 4096),
             integer_setting("rank", "numbers of a coordinate that are multiplied", 8, 8, 1, 4096),
             integer_setting("octaves", "sines and cosines of a coordinate", 4, 4, 1, 16),
             integer_setting("seeds", "runs of each arithmetic, each with a picture of its own", 4, 5, 1, 100).smoke(2),
             integer_setting("dialects", "dynamic loss scales that are tried", 1, 6, 1, 6),
             real_setting("learning_rate", "of Adam, which falls to 0 along a cosine", 1e-2, 1e-2, 0, 10),
             control_setting("unscaled trains without a loss scale in fp16 instead of the remedies; eighth predicts "
                             "for gradients an eighth as large",
                             {"unscaled", "eighth"})},
            run,
            {Control("control=eighth", "predicted_share", RunSize::smoke, "side=256 steps=16"),
             Control("side=256", "unscaled", RunSize::quick),
             Control("control=unscaled", "predicted_share scale_128 bf16 dynamic_1", RunSize::quick),
             Control("control=unscaled",
                     "predicted_share scale_128 bf16 dynamic_1 dynamic_2 dynamic_3 dynamic_4 dynamic_5 dynamic_6",
                     RunSize::quick, "dialects=6 seeds=2 side=512 steps=1000")},
            Effect{"unscaled"}};
}

}  // namespace ulp::coordinate_net_experiment
