// A language model of stacked LSTM layers (bigLSTM in small): each layer further from the loss has smaller gradients,
// and fp16 without a loss scale makes 0 of most of the lowest one's. Nothing is inserted; wide_softmax is about the
// words.
#include "engine/layers/recurrent.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::big_lstm_experiment {
namespace {

const Quantity loss_text{"loss on new text", "nats", 1, 3};

// ---- The text ----

constexpr int classes = 16;

/// A text of words in 16 classes. In a sentence each word's class is 1 or 3 beyond that of the word before, 1 in some
/// sentences and 3 in others: to know it a model must remember two words. Within a class the r-th word has a
/// probability in proportion to 1/r (Zipf), and the words of all other classes have none.
class ClassText {
  public:
    explicit ClassText(Index words) : words_of_class_(words / classes) {
        double sum = 0;
        for (Index rank = 1; rank <= words_of_class_; ++rank)
            cumulative_.push_back(sum += 1 / static_cast<double>(rank));
    }
    [[nodiscard]] std::vector<int> sentence(Index length, Random random) const {
        std::vector<int> words;
        int c = static_cast<int>(random.below(classes));
        const int distance = random.below(2) == 0 ? 1 : 3;
        for (Index i = 0; i < length; ++i, c = (c + distance) % classes) {
            const auto rank = std::ranges::lower_bound(cumulative_, random.uniform() * cumulative_.back());
            words.push_back(static_cast<int>(rank - cumulative_.begin()) * classes + c);
        }
        return words;
    }

  private:
    Index words_of_class_;
    std::vector<double> cumulative_;
};

/// Sequences side by side, time-major: what the net sees, and what it should say.
struct WordBatch {
    Index length, count;
    std::vector<int> words, next;

    WordBatch(const ClassText& text, Index length_of_each, Index sequences, std::uint64_t seed, std::uint64_t number)
        : length(length_of_each), count(sequences) {
        std::vector<std::vector<int>> all;
        for (Index i = 0; i < count; ++i) {
            all.push_back(text.sentence(length + 1, Random(seed, (number << 32) + static_cast<std::uint64_t>(i))));
        }
        for (std::size_t t = 0; t < static_cast<std::size_t>(length); ++t) {
            for (const std::vector<int>& one : all) {
                words.push_back(one[t]);
                next.push_back(one[t + 1]);
            }
        }
    }
};

// ---- The net ----

/// An LSTM whose output is projected to fewer numbers, which are also what the gates see of the step before (Sak et
/// al., 2014).
struct ProjectedLstm {
    std::string name;
    Index cells;
    Linear input, state, projection;

    ProjectedLstm(Model& model, const std::string& layer_name, Index in, Index hidden, Index out)
        : name(layer_name),
          cells(hidden),
          input(model, name + ".input", in, 4 * hidden),
          state(model, name + ".state", out, 4 * hidden),
          projection(model, name + ".projection", hidden, out) {}

    /// (time, batch, in) -> (time, batch, out), from a zero state.
    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, name);
        const Var inputs = input(x);
        const auto zeros = [&](Index width) { return x.tape->constant(Tensor({x.dim(1), width}, x.format())); };
        Var said = zeros(projection.weight->value.dim(0));
        Var memory = zeros(cells);
        std::vector<Var> outputs;
        for (Index t = 0; t < x.dim(0); ++t) {
            const Var own = time_step_of(inputs, t);
            const LstmState next = lstm_update(add(own, state(said)), memory, cells);
            memory = next.c;
            said = projection(next.h);
            outputs.push_back(said);
        }
        return sequence_of(outputs);
    }
};

/// bigLSTM (Jozefowicz et al., "Exploring the limits of language modeling", 2016) in small: embedded words, layers of
/// projected LSTM, a softmax over all words. Four layers as in Sutskever et al., "Sequence to sequence learning"
/// (2014); bigLSTM has two, 250 times as wide.
struct BigLstm {
    Embedding words;
    std::vector<ProjectedLstm> layers;
    Linear out;

    BigLstm(Model& model, Index count, Index cells, Index projection, Index depth)
        : words(model, "words", count, projection), out(model, "out", projection, count) {
        for (Index i = 0; i < depth; ++i)
            layers.emplace_back(model, fmt::format("cell{}", i + 1), projection, cells, projection);
    }
    Var loss(Tape& tape, const WordBatch& batch) const {
        Var x = words(tape, batch.words, {batch.length, batch.count});
        for (const ProjectedLstm& layer : layers) x = layer(x);
        const Var scores = out(x);
        return cross_entropy(reshape(scores, {batch.length * batch.count, scores.dim(2)}), batch.next);
    }
};

/// Gradients of one step as the backward pass has them, loss scale included: of the cells' weights, and of what each
/// layer of cells computes, by its name.
struct Ranges {
    BinadeHistogram weights;
    std::map<std::string, BinadeHistogram> data;

    void add(const TapEvent& event) {
        if (!event.name.starts_with("cell")) return;
        if (event.role == TensorRole::weight_gradient) weights.add(event.values);
        if (event.role == TensorRole::activation_gradient) {
            data[std::string(event.name.substr(0, event.name.find_first_of("./")))].add(event.values);
        }
    }
};
/// Of the first and the last step.
struct Looks {
    Ranges first, last;
};

TaskBuilder word_task(const Settings& settings, const ClassText& text) {
    return [&](Model& model, std::uint64_t seed) -> Task {
        const auto net = std::make_shared<const BigLstm>(model, settings.integer("words"), settings.integer("cells"),
                                                         settings.integer("projection"), settings.integer("layers"));
        const auto looks = std::make_shared<Looks>();
        const Index length = settings.integer("length");
        Task task{.loss = [=, &text, sequences = settings.integer("sequences")](Tape& tape, std::int64_t step) {
            return net->loss(tape, WordBatch(text, length, sequences, seed, 1 + static_cast<std::uint64_t>(step)));
        }};
        task.measure = [=, &text, sequences = settings.integer("test_sequences")](Evaluation& evaluation,
                                                                                  Learned& learned) {
            Tape tape(evaluation);
            const Var loss = net->loss(tape, WordBatch(text, length, sequences, seed, 0));
            learned.scores = {static_cast<double>(loss.value()[0])};
        };
        const std::int64_t last = settings.integer("steps") - 1;
        task.watched = [last](std::int64_t step) { return step == 0 || step == last; };
        task.tap = [looks](std::int64_t step, const TapEvent& event) {
            (step == 0 ? looks->first : looks->last).add(event);
        };
        keep(task, looks);
        return task;
    };
}

// ---- Claims ----

enum : std::size_t { way_fp32, way_unscaled, way_128, way_bf16 };

std::vector<Arithmetic> ways_of(const RunContext& context) {
    std::vector<Arithmetic> ways = {fp32_arithmetic(),
                                    mixed_arithmetic(context, "fp16 unscaled", constant_loss_scale(1)),
                                    mixed_arithmetic(context, "fp16 scale 128", constant_loss_scale(128)),
                                    arithmetic_of(context, "bf16", recipe_by_name("bf16"))};
    if (has_control(context, "scaled")) ways[way_unscaled].recipe.loss_scale = constant_loss_scale(0x1p14);
    if (has_control(context, "vanish")) {
        for (std::size_t i = way_unscaled; i < ways.size(); ++i) {
            ways[i].recipe.loss_scale = constant_loss_scale(0x1p-120);
        }
    }
    return ways;
}

const std::string& figure_5() {
    static const std::string place = cite(sources::paper, "4.4 and figure 5: bigLSTM");
    return place;
}

/// A share of a layer's data gradients in the first step, mean over the seeds: those that are 0, and of an fp32 run
/// those that fp16 makes 0 under a loss scale of 2^exponent.
double zeros_of(const std::vector<Learned>& runs, const std::string& layer,
                std::optional<int> exponent = std::nullopt) {
    double sum = 0;
    for (const Learned& run : runs) {
        const BinadeHistogram& h = run.kept<Looks>().first.data.at(layer);
        sum += h.share(h.zeros() + (exponent ? h.below(-25 - *exponent) : 0));
    }
    return sum / static_cast<double>(runs.size());
}

/// The layers' names from the lowest to the highest.
std::vector<std::string> layers_of(const Comparison& runs) {
    std::vector<std::string> names;
    for (const auto& [name, histogram] : runs.runs[way_fp32].front().kept<Looks>().first.data) names.push_back(name);
    return names;
}

void claim_rule(const RunContext& context, const Comparison& runs, Result& result) {
    const int shift = has_control(context, "eighth") ? 3 : 0;
    double error = 0;
    for (const std::string& layer : layers_of(runs)) {
        for (const auto& [way, exponent] : {std::pair{way_unscaled, 0}, std::pair{way_128, 7}}) {
            const double predicted = zeros_of(runs.runs[way_fp32], layer, exponent - shift);
            error = larger(error, std::fabs(predicted - zeros_of(runs.runs[way], layer)));
        }
    }
    result.measured("predicted_share", figure_5(),
                    "The fp32 run's histograms predict, layer by layer, which share of the first step's gradients fp16 "
                    "makes 0 in an LSTM, without a loss scale and with 128.",
                    at_most(0.05, error, {"largest difference", "% of a layer's gradients", 100, 1}));
    const std::string lowest = layers_of(runs).front();
    result.measured("lowest_layer", figure_5(),
                    "In the first step fp16 without a loss scale makes 0 of more than half of the gradients of the "
                    "lowest LSTM layer.",
                    above(0.5, zeros_of(runs.runs[way_unscaled], lowest), {"zeros", "%", 100, 1}));
}

void claim_quality(const Comparison& runs, Result& result) {
    const Margin margin{0.05, "the perplexity rises by a twentieth", Margin::Side::not_above};
    const Scores fp32 = runs.scores(way_fp32);
    result.measured(
        "unscaled", figure_5(),
        "A language model of stacked LSTM layers learns worse in fp16 without a loss scale than in fp32. The "
        "loss is an ordinary mean over the tokens.",
        falls_short(runs.scores(way_unscaled), fp32, margin, loss_text));
    result.measured("scale_128", figure_5(), "With a loss scale of 128 the LSTM layers learn in fp16 as in fp32.",
                    as_good(runs.scores(way_128), fp32, margin, loss_text));
    result.measured("bf16", cite(sources::round_table, "BFP16: no need for scaling loss"),
                    "In bf16 the LSTM layers learn as in fp32, without a loss scale.",
                    as_good(runs.scores(way_bf16), fp32, margin, loss_text));
}

/// Over all seeds and layers of the fp32 run, last step: the share of the cells' data gradients that are not 0 and lie
/// below 2^exponent.
double data_below(const Comparison& runs, int exponent) {
    std::int64_t below = 0;
    std::int64_t total = 0;
    for (const Learned& run : runs.runs[way_fp32]) {
        for (const auto& [name, h] : run.kept<Looks>().last.data) {
            below += h.below(exponent);
            total += h.total();
        }
    }
    return static_cast<double>(below) / static_cast<double>(total);
}

void claim_ranges(const RunContext& context, const Comparison& runs, Result& result) {
    // Under the control the numbers are taken as those of a mean over 2^20 times as many tokens.
    const int limit = has_control(context, "more_tokens") ? -4 : -24;
    double weights = 0;
    for (const Learned& run : runs.runs[way_fp32]) {
        const BinadeHistogram& h = run.kept<Looks>().last.weights;
        weights += h.share(h.below(limit)) / static_cast<double>(runs.runs[way_fp32].size());
    }
    const double data = data_below(runs, limit);
    result.measured("weight_gradients",
                    cite(sources::volta_talk, "Wgrad of LSTM cells rarely go below subnormal fp16 range"),
                    "The weight gradients of LSTM cells rarely go below the subnormal numbers of fp16: one in twenty "
                    "at most in the last step.",
                    at_most(0.05, weights, {"of the cells' weight gradients below 2^-24", "%", 100, 2}));
    result.measured("scale_recovers", cite(sources::paper, "4.4: 128 recovers all the relevant gradient values"),
                    "Of the cells' data gradients that lie below 2^-24 in the last step, more than half lie in the "
                    "seven binades that a loss scale of 128 lifts above it.",
                    above(0.5, (data - data_below(runs, limit - 7)) / data,
                          {fmt::format("of {:.1f} % of the gradients", 100 * data), "%", 100, 1}));
}

void figure_layers(const RunContext& context, const Comparison& runs, Result& result) {
    Figure figure{"layers", "Stacked LSTM layers: gradients in the first step",
                  fmt::format("Share of the numbers in each binade, in fp32, first seed; mean loss over {} tokens. "
                              "Shaded: what fp16 makes 0, and its subnormal numbers.",
                              context.settings.integer("sequences") * context.settings.integer("length")),
                  "Without a loss scale fp16 makes 0 of", runs.evidence};
    for (const std::string& layer : layers_of(runs)) {
        const BinadeHistogram& h = runs.runs[way_fp32].front().kept<Looks>().first.data.at(layer);
        figure.series.push_back(h.series("layer " + layer.substr(4)));
        figure.meaning += fmt::format(" {:.0f} % of them in layer {}, with 128 of {:.0f} %;",
                                      100 * zeros_of(runs.runs[way_unscaled], layer), layer.substr(4),
                                      100 * zeros_of(runs.runs[way_128], layer));
    }
    draw_binades(figure, binade_axis(-44, -4, "binade of the gradient"), "share");
    result.figure(std::move(figure));
}

void figure_ranges(const Comparison& runs, Result& result) {
    const Ranges& last = runs.runs[way_fp32].front().kept<Looks>().last;
    const BinadeHistogram& highest = last.data.rbegin()->second;
    const BinadeHistogram& lowest = last.data.begin()->second;
    const auto lost = [](const BinadeHistogram& h) { return 100 * h.share(h.lost_in_fp16()); };
    Figure figure{"ranges",
                  "LSTM cells: gradients of data and weights, last step",
                  "Share of the numbers in each binade, in fp32, first seed. Shaded: what fp16 makes 0, and its "
                  "subnormal numbers.",
                  fmt::format("Of the data gradients fp16 makes 0 {:.1f} % in the lowest layer, {:.1f} % in the "
                              "highest; of the weights' gradients, which are sums over all tokens, {:.2f} %.",
                              lost(lowest), lost(highest), lost(last.weights)),
                  "",
                  {lowest.series("data in the lowest layer"), highest.series("data in the highest layer"),
                   last.weights.series("weights of all layers")}};
    draw_binades(figure, binade_axis(-44, 0, "binade of the gradient"), "share");
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const ClassText text(settings.integer("words"));
    const Training training{
        .task = word_task(settings, text),
        .optimizer = {.kind = OptimizerKind::adagrad, .learning_rate = settings.real("learning_rate"), .eps = 1e-10},
        .steps = settings.integer("steps"),
        .schedule = linear_decay_factor};
    const Comparison runs = compare(context, result, ways_of(context), training, settings.integer("seeds"));
    claim_rule(context, runs, result);
    claim_quality(runs, result);
    claim_ranges(context, runs, result);
    figure_layers(context, runs, result);
    figure_ranges(runs, result);
    result.figure(figure_of_losses(runs, 5, "loss", "Stacked LSTM layers: training loss", false));
    result.figure(figure_of_seeds(runs, 0, loss_text, "unseen", "Stacked LSTM layers: loss on new text"));
}

}  // namespace

Experiment experiment() {
    return {"big_lstm",
            "Stacked LSTM layers need a loss scale: bigLSTM in small",
            "Do stacked LSTM layers fail in fp16 without a loss scale, and does 128 suffice?",
            {Chapter::underflow, 4},
            {integer_setting("words", "of the language, a multiple of 16", 64, 64, 16, 65536).smoke(32),
             integer_setting("sequences", "per step", 64, 256, 1, 65536).smoke(8),
             integer_setting("length", "tokens of a sequence", 16, 16, 2, 1024).smoke(8),
             integer_setting("cells", "of each LSTM layer", 16, 32, 1, 8192).smoke(8),
             integer_setting("projection", "numbers that a layer's output is projected to", 16, 16, 1, 8192).smoke(8),
             integer_setting("layers", "of LSTM", 4, 4, 1, 8),
             integer_setting("steps", "training steps", 60, 220, 2, 1000000).smoke(2),
             integer_setting("test_sequences", "of new text", 40, 40, 1, 65536).smoke(8),
             integer_setting("seeds", "runs of each arithmetic", 1, 3, 1, 100),
             real_setting("learning_rate", "of Adagrad, falling linearly to 0", 0.1, 0.1, 0, 10),
             control_setting("eighth predicts for gradients an eighth as large; more_tokens counts the cells' "
                             "gradients as those of a mean over 2^20 times as many tokens; scaled gives the run "
                             "without a loss scale one of 2^14; vanish gives all 16-bit runs one of 2^-120",
                             {"eighth", "more_tokens", "scaled", "vanish"})},
            run,
            {Control("control=eighth", "predicted_share"),
             Control("control=more_tokens", "weight_gradients scale_recovers"),
             Control("control=scaled", "predicted_share lowest_layer unscaled", RunSize::quick,
                     "sequences=256 cells=32 steps=220 seeds=3"),  // a full run's: shorter ones do not tell
             Control("control=vanish", "predicted_share scale_128 bf16", RunSize::quick, "steps=10 seeds=4")},
            Effect{"unscaled"}};
}

}  // namespace ulp::big_lstm_experiment
