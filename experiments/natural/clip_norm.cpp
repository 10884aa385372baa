// An LSTM whose gradients are clipped, as usual: their norm is a sum of squares over all weights. Clipped before they
// are unscaled, their squares leave fp16, the norm is infinite, and every gradient becomes 0. Without a loss scale the
// sum sticks in 16 bits, and the norm reads too low. Nothing is inserted; overflow shows such sums alone.
#include <tuple>

#include "engine/data/generated.hpp"
#include "engine/files/sha256.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/natural/tuning.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/figures.hpp"
#include "softfloat/round.hpp"

namespace ulp::clip_norm_experiment {
namespace {

using natural::NumberedText;
const Quantity loss_text{"loss on new text", "nats", 1, 3};

/// Pieces of the text side by side, time-major, and the character after each.
struct Pieces {
    std::vector<int> characters, next;

    Pieces(const NumberedText& text, Index length, Index count, std::uint64_t seed, std::uint64_t number) {
        Random random(seed, 1000 + number);
        std::vector<std::size_t> starts;
        const auto room = text.characters.size() - static_cast<std::size_t>(length);
        for (Index i = 0; i < count; ++i) starts.push_back(random.below(room));
        for (std::size_t t = 0; t < static_cast<std::size_t>(length); ++t) {
            for (const std::size_t start : starts) {
                characters.push_back(text.characters[start + t]);
                next.push_back(text.characters[start + t + 1]);
            }
        }
    }
};

struct CharacterLstm {
    Embedding letters;
    Lstm cells;
    Linear out;

    CharacterLstm(Model& model, Index classes, Index width)
        : letters(model, "letters", classes, width),
          cells(model, "cells", width, width),
          out(model, "out", width, classes) {}

    [[nodiscard]] Var loss(Tape& tape, const Pieces& pieces, Index length) const {
        const auto all = static_cast<Index>(pieces.next.size());
        const Var scores = out(cells(letters(tape, pieces.characters, {length, all / length})));
        return cross_entropy(reshape(scores, {all, scores.dim(2)}), pieces.next);
    }
};

// ---- Norms ----

/// The norm of numbers times `factor`, each step of its sum rounded to a format.
double norm_in(const FloatFormat& format, const std::vector<Tensor>& gradients, double factor = 1) {
    double sum = 0;
    for (const Tensor& gradient : gradients) {
        for (const float g : gradient.values()) {
            const double x = round_to(format, factor * g);
            sum = round_to(format, sum + round_to(format, x * x));
        }
    }
    return round_to(format, std::sqrt(sum));
}

/// How the gradients' norm is computed before they are clipped.
enum class Norm : std::uint8_t {
    of_updates,  // in the format of the updates
    wide,        // in fp32, of gradients in 16 bits
    scaled       // in fp16, of gradients that still carry the loss scale; the limit carries it, too
};

/// Step by step.
struct Norms {
    std::vector<double> exact{};  // of the gradients as they are
    std::vector<double> fp16{};   // what a sum in fp16 makes of them
    std::vector<double> read{};   // what they were clipped by, without the loss scale
    std::vector<double> moved{};  // their norm after clipping
    BinadeHistogram squares{};    // of the first step
};

void multiply(const Recipe& recipe, std::vector<Tensor>& gradients, double factor) {
    const double times = round_to(recipe.update, factor);
    for (Tensor& gradient : gradients) {
        for (float& g : gradient.values()) g = static_cast<float>(round_to(recipe.update, times * g));
    }
}

/// Clips, and writes down by what.
void clip(Optimizer& optimizer, Norm norm, double limit, Norms& norms) {
    std::vector<Tensor>& gradients = optimizer.gradients();
    if (norms.exact.empty()) {
        for (const Tensor& gradient : gradients) {
            std::vector<float> squares;
            for (const float g : gradient.values()) squares.push_back(g * g);
            norms.squares.add(squares);
        }
    }
    const Recipe& recipe = optimizer.model().recipe();
    norms.exact.push_back(norm_in(formats::fp64, gradients));
    norms.fp16.push_back(norm_in(formats::fp16, gradients));
    double read = 0;
    if (norm == Norm::of_updates) {
        read = optimizer.clip_by_norm(limit);
    } else {
        const double scale = norm == Norm::scaled ? recipe.loss_scale.initial : 1;
        read = norm_in(norm == Norm::scaled ? formats::fp16 : formats::fp32, gradients, scale) / scale;
        if (const double factor = limit / (read + 1e-6); factor < 1) multiply(recipe, gradients, factor);
    }
    norms.read.push_back(read);
    norms.moved.push_back(norm_in(formats::fp64, gradients));
}

/// Score: the loss on new text.
TaskBuilder text_task(const Settings& settings, const NumberedText& text, Index cells, Norm norm) {
    return [&settings, &text, cells, norm](Model& model, std::uint64_t seed) -> Task {
        const auto net = std::make_shared<const CharacterLstm>(model, text.classes, cells);
        const auto norms = std::make_shared<Norms>();
        const Index length = settings.integer("length");
        const Index pieces = settings.integer("pieces");
        Task task{.loss = [=, &text](Tape& tape, std::int64_t step) {
            return net->loss(tape, Pieces(text, length, pieces, seed, 1 + static_cast<std::uint64_t>(step)), length);
        }};
        task.measure = [=, &text](Evaluation& evaluation, Learned& learned) {
            double sum = 0;
            constexpr int parts = 8;  // in fp16 the loss of more would be summed wrongly (summed_loss)
            for (std::uint64_t part = 0; part < parts; ++part) {
                Tape tape(evaluation);
                const Pieces unseen(text, length, pieces, seed, (std::uint64_t{1} << 32) + part);
                sum += static_cast<double>(net->loss(tape, unseen, length).value()[0]);
            }
            learned.scores = {sum / parts};
        };
        task.before_update = [norms, norm, limit = settings.real("limit")](Optimizer& optimizer) {
            clip(optimizer, norm, limit, *norms);
        };
        keep(task, norms);
        return task;
    };
}

// ---- Claims ----

enum : std::size_t { way_fp32, way_fp16, way_wide, way_scaled, way_unscaled, way_pure_bf16, way_bf16 };

/// Training runs of LSTMs of that many cells.
std::vector<Training> trainings_of(const RunContext& context, const NumberedText& text, Index cells) {
    const Settings& settings = context.settings;
    const bool wide = has_control(context, "fp32_norm");
    const bool narrow = has_control(context, "fp16_norm");
    const LossScaleOptions scale = constant_loss_scale(settings.real("loss_scale"));
    std::vector<Training> arms;
    const auto add = [&](const char* name, const char* recipe, Norm norm) {
        const std::string backend = arms.empty() ? "soft:ieee" : unit_or_ieee(context);
        arms.push_back({.arithmetic = {name, recipe_by_name(recipe), backend},
                        .task = text_task(settings, text, cells, norm),
                        .optimizer = {.learning_rate = settings.real("learning_rate")},
                        .steps = settings.integer("steps")});
        if (std::string_view(recipe) == "mixed_fp16") arms.back().arithmetic.recipe.loss_scale = scale;
    };
    add("fp32", "fp32", Norm::of_updates);
    const char* const fp16 = narrow ? "mixed_fp16" : "fp16";
    add("fp16 norm in fp16", fp16, wide ? Norm::wide : narrow ? Norm::scaled : Norm::of_updates);
    add("fp16 norm in fp32", fp16, narrow ? Norm::scaled : Norm::wide);
    add("mixed scaled norm", "mixed_fp16", wide ? Norm::of_updates : Norm::scaled);
    add("mixed unscaled first", "mixed_fp16", narrow ? Norm::scaled : Norm::of_updates);
    add("bf16 norm in bf16", "pure_bf16", wide ? Norm::wide : Norm::of_updates);
    add("mixed bf16", narrow ? "mixed_fp16" : "bf16", narrow ? Norm::scaled : Norm::of_updates);
    return arms;
}

const Norms& norms_of(const Comparison& runs, std::size_t way, std::size_t seed) {
    return runs.runs[way][seed].kept<Norms>();
}
/// Series: what was predicted of fp16, and what was read.
void draw_parts(Figure& figure, Axis x) {
    figure.axes = {std::move(x), {.label = "part of the norm", .numbers = Numbers::percent, .from = 0.0, .to = 110.0}};
    figure.looks = {{.width = 4}, {.mark = Mark::points, .size = 1.3}};
}

/// Parts of the norm that were read, step by step.
std::vector<double> parts(const std::vector<double>& read, const std::vector<double>& exact) {
    std::vector<double> all;
    for (std::size_t i = 0; i < read.size(); ++i) all.push_back(read[i] / exact[i]);
    return all;
}

void claim_reading(const Comparison& runs, Result& result) {
    double first = 0;
    double mean = 0;
    double foretold_part = 0;
    double bf16_part = 0;
    const auto seeds = runs.runs[way_fp32].size();
    for (std::size_t seed = 0; seed < seeds; ++seed) {
        const Norms& fp32 = norms_of(runs, way_fp32, seed);
        const Norms& fp16 = norms_of(runs, way_fp16, seed);
        const Norms& bf16 = norms_of(runs, way_pure_bf16, seed);
        const std::vector<double> foretold = parts(fp32.fp16, fp32.exact);
        const std::vector<double> counted = parts(fp16.read, fp16.exact);
        first = larger(first, std::fabs(foretold.front() - counted.front()));
        mean += std::fabs(mean_of(foretold) - mean_of(counted)) / static_cast<double>(seeds);
        foretold_part += foretold.front() / static_cast<double>(seeds);
        bf16_part += bf16.read.front() / bf16.exact.front() / static_cast<double>(seeds);
    }
    const std::string place = cite(sources::amp_slides, "FP32 and FP16: sums and norms in FP32");
    result.measured("reading", place,
                    "The gradients of the fp32 run, squared and added up one by one in fp16, predict which part of "
                    "their norm fp16 reads: in the first step, and in the mean of all steps.",
                    at_most(0.01, first, {"difference in the first step", "% of the norm", 100, 1}) &&
                        at_most(0.01, mean, {"in the mean", "% of the norm", 100, 1}));
    result.measured("bf16_norm", cite(sources::round_table, "BFP16: no need for scaling loss"),
                    "bf16's range does not help: with 8 significant bits the sum sticks earlier, and the norm reads "
                    "less than in fp16.",
                    below(foretold_part, bf16_part, {"in the first step", "% of the norm", 100, 1}));
}

/// Which part of the norm is read in the first step, by the number of weights, first seed: predicted of fp16, in fp16,
/// in bf16.
std::vector<Series> widths_of(const RunContext& context, const NumberedText& text, Result& result) {
    std::vector<Series> widths = {{"predicted of fp16"}, {"read in fp16"}, {"read in bf16"}};
    const Index widest = context.settings.integer("widest");
    for (Index cells = widest / 8; cells <= widest; cells *= 2) {
        const std::vector<Training> all = trainings_of(context, text, cells);
        std::vector<Training> arms = {all[way_fp32], all[way_fp16], all[way_pure_bf16]};
        for (Training& arm : arms) arm.steps = 1;
        const Comparison runs = compare(context, result, arms, 1, {0.9, 1});
        for (std::size_t arm = 0; arm < arms.size(); ++arm) {
            const Norms& norms = norms_of(runs, arm, 0);
            const double read = arm == 0 ? norms.fp16.front() : norms.read.front();
            widths[arm].points.push_back(
                {static_cast<double>(runs.runs[arm].front().parameters), read / norms.exact.front()});
        }
    }
    return widths;
}

void claim_widths(const std::vector<Series>& widths, const std::string& evidence, Result& result) {
    const std::vector<Point>& fp16 = widths[1].points;
    double error = 0;
    for (std::size_t i = 0; i < fp16.size(); ++i) {
        error = std::max(error, std::fabs(fp16[i].y - widths[0].points[i].y));
    }
    const Quantity part{"read by the widest net", "% of the norm", 100, 1};
    result.measured("widths", cite(sources::amp_slides, "FP32 and FP16: sums and norms in FP32"),
                    "The more weights a net has, the smaller the part of the gradients' norm that a sum in fp16 reads, "
                    "for the sum sticks where half a unit in its last place is more than the next square. The fp32 "
                    "gradients predict the part for each width.",
                    below(fp16.front().y, fp16.back().y, part) &&
                        at_most(0.01, error, {"largest difference", "% of the norm", 100, 1}));
    Figure figure{"widths",
                  "The gradients' norm added up in 16 bits",
                  "Part of the exact norm that is read in the first step, by the number of weights, first seed.",
                  fmt::format("Of the norm over {:.0f} weights fp16 reads {:.1f} %, bf16 {:.1f} %.", fp16.back().x,
                              100 * fp16.back().y, 100 * widths[2].points.back().y),
                  evidence,
                  widths};
    draw_parts(figure, power_axis("weights", 2));
    result.figure(std::move(figure));
}

void claim_quality(const RunContext& context, const Comparison& runs, Result& result) {
    const Margin margin{0.05, "the perplexity rises by a twentieth", Margin::Side::not_above};
    const Scores fp32 = runs.scores(way_fp32);
    result.measured("fp16_norm", cite(sources::own_prediction, "a norm in fp16 clips worse"),
                    "An LSTM that is clipped by a norm in fp16 learns worse than in fp32.",
                    falls_short(runs.scores(way_fp16), fp32, margin, loss_text));
    const double scale = context.settings.real("loss_scale");
    const Norms& foretold = norms_of(runs, way_fp32, 0);
    const Norms& scaled = norms_of(runs, way_scaled, 0);
    const std::string after = cite(sources::volta_talk, "Apply gradient clipping on gradients after 1/s scaling");
    result.measured(
        "scaled_norm", after,
        fmt::format("A norm in fp16 of gradients that carry a loss scale of {:g} is infinite where the true one is "
                    "more than {:.2g}, as fp32 predicts of the first step. Then every gradient is clipped to 0, and "
                    "the LSTM does not learn.",
                    scale, 256 / scale),
        above(256 / scale, foretold.exact.front(), {"fp32's norm in the first step", "", 1, 3}) &&
            at_most(0, *std::ranges::max_element(scaled.moved), {"largest norm after clipping", "", 1, 3}) &&
            falls_short(runs.scores(way_scaled), fp32, margin, loss_text));
    const std::tuple<std::size_t, const char*, std::string> remedies[] = {
        {way_wide, "norm_in_fp32", cite(sources::amp_slides, "FP32 and FP16: sums and norms in FP32")},
        {way_unscaled, "after_unscaling", after},
        {way_bf16, "mixed_bf16", cite(sources::round_table, "BFP16: no need for scaling loss")}};
    for (const auto& [way, id, place] : remedies) {
        result.measured(id, place,
                        fmt::format("The clipped LSTM learns as in fp32. Here: {}.", runs.arithmetics[way].name),
                        as_good(runs.scores(way), fp32, margin, loss_text));
    }
}

void figure_norms(const RunContext& context, const Comparison& runs, Result& result) {
    const Norms& fp32 = norms_of(runs, way_fp32, 0);
    const Norms& fp16 = norms_of(runs, way_fp16, 0);
    const Norms& bf16 = norms_of(runs, way_pure_bf16, 0);
    const auto series = [](const char* name, const std::vector<double>& values) {
        return Series{name, formats::fp64, points_of(values)};
    };
    Figure by_step{
        "norms",
        "A clipped LSTM: which part of the gradients' norm is read",
        "The norm that was read, divided by the exact norm of the same gradients, first seed. Line: what the fp32 "
        "run's gradients predict of fp16.",
        fmt::format("In the first step fp16 reads {:.3f} for {:.3f}, bf16 {:.3f} for {:.3f}. Gradients are clipped at "
                    "{:g}, so what is read too low makes steps too long.",
                    fp16.read.front(), fp16.exact.front(), bf16.read.front(), bf16.exact.front(),
                    context.settings.real("limit")),
        runs.evidence,
        {series("predicted of fp16", parts(fp32.fp16, fp32.exact)),
         series("read in fp16", parts(fp16.read, fp16.exact)), series("read in bf16", parts(bf16.read, bf16.exact))}};
    draw_parts(by_step, {.label = "step"});
    result.figure(std::move(by_step));
    const BinadeHistogram& squares = fp32.squares;
    Figure figure{"histogram",
                  "A clipped LSTM: squares of the gradients",
                  "Share of the weights' squared gradients in each binade, first step in fp32, first seed. Shaded: "
                  "what fp16 makes 0, and its subnormal numbers.",
                  fmt::format("fp16 makes 0 {:.1f} % of the squares; and a sum leaves out what is less than half a "
                              "unit in its last place.",
                              100 * squares.share(squares.lost_in_fp16())),
                  "",
                  {squares.series("square of a gradient")}};
    draw_binades(figure, binade_axis(-48, 0, "binade of the square"), "share");
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const std::string written = generated_text(20000, context.seed);
    result.input({"generated text", sha256_of(written)});
    const NumberedText text(written);
    const Comparison runs = compare(context, result, trainings_of(context, text, settings.integer("cells")),
                                    settings.integer("seeds"), {0, 0.9});
    claim_reading(runs, result);
    claim_widths(widths_of(context, text, result), runs.evidence, result);
    claim_quality(context, runs, result);
    figure_norms(context, runs, result);
    result.figure(figure_of_losses(runs, 5, "loss", "A clipped LSTM: training loss", false));
    result.figure(figure_of_seeds(runs, 0, loss_text, "unseen", "A clipped LSTM: loss on new text"));
}

}  // namespace

Experiment experiment() {
    return {"clip_norm",
            "The norm by which gradients are clipped, added up in fp16",
            "What does a gradient's norm read in fp16 before clipping, and does training tolerate it?",
            {Chapter::overflow, 4},
            {integer_setting("steps", "training steps", 20, 100, 2, 1000000).smoke(2),
             integer_setting("cells", "of the LSTM, and numbers of a character", 32, 64, 1, 4096).smoke(8),
             integer_setting("widest", "cells of the widest LSTM whose first norm is read, a multiple of 8", 64, 256, 8,
                             4096)
                 .smoke(16),
             integer_setting("length", "characters of a piece of text", 12, 24, 2, 1024).smoke(4),
             integer_setting("pieces", "of text per step", 16, 16, 1, 65536).smoke(4),
             integer_setting("seeds", "runs of each arithmetic", 2, 5, 1, 100),
             real_setting("learning_rate", "of gradient descent", 8, 8, 0, 100),
             real_setting("limit", "of the gradients' norm", 0.25, 0.25, 0, 1000),
             real_setting("loss_scale", "of mixed fp16, a power of two", 8192, 8192, 1, 16777216),
             control_setting("fp32_norm takes the norms to fp32 where they are in 16 bits, after unscaling; fp16_norm "
                             "takes all but pure bf16's to fp16 before unscaling",
                             {"fp32_norm", "fp16_norm"})},
            run,
            {Control("control=fp32_norm", "reading bf16_norm widths scaled_norm", RunSize::quick),
             Control("control=fp16_norm", "reading widths fp16_norm norm_in_fp32 after_unscaling mixed_bf16",
                     RunSize::quick)},
            Effect{"scaled_norm"}};
}

}  // namespace ulp::clip_norm_experiment
