// A language model of GPT-2's shape with about a million parameters, trained in fp32, fp16, bf16 and FP8.
#include <numbers>

#include "engine/nets/nets.hpp"
#include "engine/tensor/steps.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/errors.hpp"

namespace ulp::language_model_experiment {
namespace {

double bits(double nats) { return nats / std::numbers::ln2; }

// ---- The model and its text ----

LanguageNet shape_of(const Settings& settings) {
    return {ascii_tokens, settings.integer("length"), settings.integer("width"), settings.integer("blocks"),
            settings.integer("heads")};
}
/// A text as tokens, in pieces of one length; the last tenth is kept from the training.
class Pieces {
  public:
    Pieces(const std::string& text, Index length) : length_(length) {
        for (const char c : text) {
            if (static_cast<unsigned char>(c) >= ascii_tokens)
                throw DataError("the text is not ASCII; give one that is");
            tokens_.push_back(c);
        }
        count_ = (static_cast<Index>(tokens_.size()) - 1) / length;
        if (count_ < 20)
            throw DataError(fmt::format("{} pieces of {} characters; 20 or more are needed", count_, length));
    }

    [[nodiscard]] Index train() const { return count_ - count_ / 10; }
    [[nodiscard]] std::vector<Index> unseen() const {
        return index_range(train(), std::min(count_, train() + most_unseen));
    }
    /// Mean over the characters of some pieces, each but the first guessed from those before it; in nats.
    [[nodiscard]] Var loss(Tape& tape, const Net& net, const std::vector<Index>& which) const {
        Tensor ids({static_cast<Index>(which.size()), length_});
        std::vector<int> next;
        for (const Index i : which) {
            for (Index t = 0; t < length_; ++t) {
                ids[static_cast<Index>(next.size())] =
                    static_cast<float>(tokens_[static_cast<std::size_t>(i * length_ + t)]);
                next.push_back(tokens_[static_cast<std::size_t>(i * length_ + t + 1)]);
            }
        }
        const Var scores = net(tape.constant(std::move(ids)));
        return cross_entropy(reshape(scores, {static_cast<Index>(next.size()), ascii_tokens}), next);
    }

  private:
    static constexpr Index most_unseen = 200;
    Index length_;
    Index count_ = 0;
    std::vector<int> tokens_;
};

/// Adds the net's parameters to the model, as GPT-2's start.
std::shared_ptr<const Net> net_of(Model& model, const LanguageNet& shape) {
    model.initialise_by(Initialisation("normal:0.02"));
    return std::make_shared<const Net>(model, shape.layers(), Shape{shape.length}, shape.tokens);
}

/// What the last step's gradients look like, by part of the net: "words", "block1" ..., "out".
struct Gradients {
    std::map<std::string, BinadeHistogram> activations, weights;

    void add(const TapEvent& event) {
        const std::string part(event.name.substr(0, event.name.find_first_of("./")));
        if (part != "out" && part != "words" && !part.starts_with("block")) return;
        if (event.role == TensorRole::activation_gradient) activations[part].add(event.values);
        if (event.role == TensorRole::weight_gradient) weights[part].add(event.values);
    }
};

constexpr std::size_t unseen_bits = 0;
const Quantity bits_text{"bits per character", "", 1, 3};

TaskBuilder model_task(const Settings& settings, const Pieces& pieces) {
    return [&](Model& model, std::uint64_t seed) {
        const auto net = net_of(model, shape_of(settings));
        const auto order = batches(pieces.train(), settings.integer("batch"), seed);
        const auto gradients = std::make_shared<Gradients>();
        Task task{.loss = [=, &pieces](Tape& tape, std::int64_t step) { return pieces.loss(tape, *net, order(step)); },
                  .measure =
                      [=, &pieces](Evaluation& evaluation, Learned& learned) {
                          std::ranges::transform(learned.losses, learned.losses.begin(), bits);
                          Tape tape(evaluation);
                          const Var loss = pieces.loss(tape, *net, pieces.unseen());
                          learned.scores = {bits(static_cast<double>(loss.value()[0]))};
                      },
                  .tap = [=](std::int64_t, const TapEvent& event) { gradients->add(event); },
                  .watched = [last = settings.integer("steps") - 1](std::int64_t step) { return step == last; }};
        keep(task, gradients);
        return task;
    };
}

// ---- Claims ----

/// Bits per character of a text where each is guessed from the `context` ones before, by the text's own counts.
double bits_by_counts(const std::string& text, std::size_t context) {
    std::map<std::string, double> before, whole;
    for (std::size_t i = context; i < text.size(); ++i) {
        ++before[text.substr(i - context, context)];
        ++whole[text.substr(i - context, context + 1)];
    }
    double nats = 0;
    for (const auto& [piece, count] : whole) nats += count * step::log(before[piece.substr(0, context)] / count);
    return bits(nats) / static_cast<double>(text.size() - context);
}

void claim_learning(const std::string& text, const Comparison& runs, Result& result) {
    const std::string same = cite(sources::amp_slides, "Same accuracy as FP32, with no hyperparameter changes");
    result.measured("learns", same,
                    fmt::format("The fp32 model learns which character follows which: it needs fewer bits on unseen "
                                "text than the characters' frequencies. A table of pairs needs {:.3f}.",
                                bits_by_counts(text, 1)),
                    below(bits_by_counts(text, 0), runs.mean(0, unseen_bits), bits_text));
    const Margin margin{0.01, "a hundredth of a bit, as for the recurrent nets: about 0.7 % of the perplexity",
                        Margin::Side::not_above};
    const auto good = [&](std::size_t arm, const char* id, const std::string& source, const char* statement) {
        claim_parity(result, runs, unseen_bits, bits_text, margin, id, source, statement, arm);
    };
    good(1, "fp16", same, "A small GPT-2 predicts unseen text as well in fp16 with a dynamic loss scale as in fp32.");
    good(2, "fp16_unscaled", cite(sources::paper, "3.2: many networks match fp32 without loss scaling"),
         "A small GPT-2 predicts unseen text as well in fp16 without a loss scale as in fp32.");
    good(3, "bf16", cite(sources::round_table, "BFP16: no need for scaling loss"),
         "A small GPT-2 predicts unseen text as well in bf16 without a loss scale as in fp32.");
    good(4, "fp8", "Micikevicius et al., FP8 formats for deep learning (2022), section 4",
         "A small GPT-2 predicts unseen text as well with FP8 products as in fp32.");
}

/// Means over the seeds of an arm: of its activation gradients in the last step, the share that is counted.
double mean_share(const Comparison& runs, std::size_t arm, std::int64_t (BinadeHistogram::*count)() const) {
    std::vector<double> shares;
    for (const Learned& run : runs.runs[arm]) {
        std::int64_t all = 0, counted = 0;
        for (const auto& [part, histogram] : run.kept<Gradients>().activations) {
            all += histogram.total();
            counted += (histogram.*count)();
        }
        shares.push_back(static_cast<double>(counted) / static_cast<double>(all));
    }
    return mean_of(shares);
}

void claim_gradients(const Comparison& runs, Result& result) {
    const double ordinary = mean_share(runs, 0, &BinadeHistogram::zeros);
    const double unscaled = mean_share(runs, 2, &BinadeHistogram::zeros) - ordinary;
    const double scaled = mean_share(runs, 1, &BinadeHistogram::zeros) - ordinary;
    const std::string place = cite(sources::paper, "3.2: 5 % of weight gradient values have exponents below -24");
    const Quantity lost{"of the activation gradients", "%", 100, 2};
    result.measured("lost_predicted", place,
                    "As many activation gradients are zero in fp16 without a loss scale, beyond those that are zero in "
                    "fp32 too, as the histogram of the fp32 run says, within one point.",
                    near(mean_share(runs, 0, &BinadeHistogram::lost_in_fp16), 0.01, unscaled, lost));
    result.measured("few_lost", place,
                    "This model trains without a loss scale because few of its activation gradients become zero: less "
                    "than the source's 5 % of the weight gradients.",
                    below(0.05, unscaled, lost));
    result.measured("kept", cite(sources::amp_slides, "Gradient underflow; loss scaling"),
                    "The dynamic loss scale keeps at least nine tenths of the gradients that are lost without it.",
                    at_most(0.1 * unscaled, scaled, lost));
}

void figure_gradients(const RunContext& context, const Comparison& runs, Result& result) {
    const auto& gradients = runs.runs[0].front().kept<Gradients>();
    Figure figure{"gradients", "Small GPT-2: gradients by layer, last step in fp32",
                  fmt::format("Share of the numbers in each binade; mean loss over {} tokens. Dark: fp16 makes them "
                              "zero (below 2⁻²⁵); light: subnormal in fp16.",
                              context.settings.integer("batch") * context.settings.integer("length")),
                  "Of the activation gradients fp16 without a loss scale loses:", ""};
    for (const auto& [part, histogram] : gradients.activations) {
        figure.series.push_back(histogram.series("activation " + part));
        figure.meaning += fmt::format(" {} {:.1f} %,", part, 100 * histogram.share(histogram.lost_in_fp16()));
    }
    for (const auto& [part, histogram] : gradients.weights) {
        figure.series.push_back(histogram.series("weight " + part));
    }
    draw_binades_in_panels(figure, binade_axis(-48, 0), {"activation", "weight"},
                           {{"activation gradients"}, {"weight gradients"}});
    result.figure(std::move(figure));
}

// ---- Ten million parameters: planned, then stepped ----

void plan_larger(const RunContext& context, const std::string& text, Result& result) {
    const Settings& settings = context.settings;
    const LanguageNet shape{ascii_tokens, 64, settings.integer("planned_width"), 8, 8};
    const auto batch = settings.integer("planned_batch");
    const Pieces pieces(text, shape.length);
    std::int64_t multiply_adds = 0;
    const TaskBuilder task = [&](Model& model, std::uint64_t) -> Task {
        const auto net = net_of(model, shape);
        return {.loss =
                    [=, &pieces](Tape& tape, std::int64_t step) {
                        return pieces.loss(tape, *net, index_range(step * batch, (step + 1) * batch));
                    },
                .product_tap =
                    [&](const ProductRecord& p) { multiply_adds += static_cast<std::int64_t>(p.m) * p.n * p.k; }};
    };
    const std::int64_t steps = settings.integer("planned_steps");
    TrainingRun run({.arithmetic = {"bf16", recipe_by_name("bf16"), mixed_backend(context)},
                     .task = task,
                     .optimizer = {.kind = OptimizerKind::adam, .learning_rate = settings.real("learning_rate")},
                     .steps = steps},
                    context.seed);
    for (std::int64_t step = 0; step < steps; ++step) run.step();
    const auto bytes = run.trainer().bytes();
    const std::string place = cite(sources::notebook, "get_memory_footprint");
    result.arithmetic(
        "planned_parameters", place,
        fmt::format("A model of 8 blocks of width {} has as many parameters as its shape says.", shape.width),
        equal(shape.parameters(), run.trainer().model().parameter_count()));
    result.arithmetic(
        "planned_bytes", place,
        "In bf16 with Adam the weights, masters, gradients and moments take 2 + 4 + 2 + 8 bytes per parameter.",
        equal(16 * shape.parameters(),
              bytes.weights.stored + bytes.masters.stored + bytes.gradients.stored + bytes.optimizer.stored, "bytes"));
    result.arithmetic(
        "planned_multiply_adds", place,
        fmt::format("{} steps on {} examples of 64 tokens take the multiply-adds that the shape predicts.", steps,
                    batch),
        equal(steps * shape.multiply_adds(batch), multiply_adds));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const LanguageNet shape = shape_of(settings);
    const std::string text = text_of(context, result).text;
    const Pieces pieces(text, shape.length);
    const std::vector<Arithmetic> arithmetics = under_control(
        context,
        {fp32_arithmetic(), dynamic_fp16(context), mixed_arithmetic(context, "fp16 unscaled", constant_loss_scale(1)),
         arithmetic_of(context, "bf16", recipe_by_name("bf16")), arithmetic_of(context, "fp8", recipe_by_name("fp8"))});
    const Training training{.task = model_task(settings, pieces),
                            .optimizer = adam_of(settings),
                            .steps = settings.integer("steps"),
                            .schedule = linear_decay_factor,
                            .clip_norm = 1};
    const Comparison runs = compare(context, result, arithmetics, training, settings.integer("seeds"), {0, 0.95});
    claim_learning(text, runs, result);
    claim_gradients(runs, result);
    plan_larger(context, text, result);
    Figure losses = figure_of_curves(
        losses_of(runs), {.window = 5, .what = "Bits per character of a batch", .label = "bits per character"},
        {"loss", fmt::format("GPT-2 with {} parameters: training loss", shape.parameters()),
         fmt::format("{} of width {}, the same data and initial weights in all arithmetics.",
                     counted(shape.blocks, "block"), shape.width),
         runs.evidence});
    result.figure(std::move(losses));
    result.figure(
        figure_of_seeds(runs, unseen_bits, bits_text, "unseen", "Small GPT-2: bits per character, unseen text"));
    figure_gradients(context, runs, result);
}

}  // namespace

Experiment experiment() {
    return {
        "language_model",
        "A small GPT-2 in four formats",
        "Does a language model of a million parameters train as well in fp16, bf16 and FP8?",
        {Chapter::language, 4},
        {integer_setting("steps", "training steps", 100, 300, 2, 1000000).smoke(4).published(1000),
         integer_setting("batch", "pieces of text per step", 8, 8, 1, 4096),
         integer_setting("length", "characters per piece", 32, 64, 2, 1024).smoke(16),
         integer_setting("width", "of the model", 32, 128, 4, 4096).smoke(16),
         integer_setting("blocks", "of attention and feed-forward layers", 1, 5, 1, 100).smoke(1),
         integer_setting("heads", "of attention, dividing the width", 4, 4, 1, 64),
         integer_setting("characters", "of the generated text", 40000, 400000, 3000, 100000000).smoke(6000),
         integer_setting("seeds", "runs in each arithmetic", 3, 3, 1, 100).smoke(1).published(1),
         integer_setting("scale_window", "clean steps until the dynamic scale grows", 20, 100, 1, 1000000),
         real_setting("learning_rate", "of Adam, falling linearly to 0", 1e-2, 1e-3, 0, 10),
         integer_setting("planned_width", "of the larger model that is planned and stepped", 320, 320, 8, 4096)
             .smoke(8),
         integer_setting("planned_batch", "its pieces of text per step", 1, 4, 1, 4096),
         integer_setting("planned_steps", "its steps", 1, 3, 1, 1000), mixed_control(),
         path_setting("text", "an ASCII text file, instead of the generated text")},
        run,
        {Control("control=pure_fp16", "fp16 fp16_unscaled bf16 fp8 lost_predicted"),
         Control("control=coarse", "fp16 fp16_unscaled bf16 fp8 lost_predicted few_lost", RunSize::quick),
         Control("control=scale_2^-16", "lost_predicted few_lost kept", RunSize::smoke, "steps=40 learning_rate=0.02"),
         Control("control=scale_1", "kept", RunSize::smoke, "steps=40 learning_rate=0.02"),
         Control("learning_rate=0", "learns", RunSize::smoke, "steps=40 learning_rate=0.02")}};
}

}  // namespace ulp::language_model_experiment
