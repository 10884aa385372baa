// A language model over a thousand words and more: in a mean over N tokens the gradient of a wrong word's logit is p /
// N, and fp16 makes 0 of it up to p = N / 2^25. So no improbable word is pushed down. Nothing is inserted.
#include <bit>
#include <utility>

#include "engine/tensor/random.hpp"
#include "engine/tensor/steps.hpp"
#include "experiments/natural/tuning.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/figures.hpp"
#include "softfloat/round.hpp"

namespace ulp::wide_softmax_experiment {
namespace {

const Quantity loss_text{"loss on new text", "nats", 1, 3};
const Margin as_fp32{0.05, "the perplexity rises by a twentieth", Margin::Side::not_above};

// ---- The text ----

/// The words of a text, each with a frequency in proportion to 1 / rank (Zipf). One of two words belongs to the class
/// that follows the class of the word before, the other ones may be any.
class ZipfText {
  public:
    explicit ZipfText(Index words) : words_(words) {
        double sum = 0;
        for (Index rank = 1; rank <= words; ++rank) cumulative_.push_back(sum += 1 / static_cast<double>(rank));
    }
    [[nodiscard]] Index words() const { return words_; }
    /// By rank, the most frequent first.
    [[nodiscard]] int any(Random& random) const { return drawn(random, words_); }
    [[nodiscard]] int after(int word, Random& random) const {
        if (random.below(2) == 0) return any(random);
        const int next_class = (word + 1) % classes;
        return drawn(random, words_ / classes) * classes + next_class;
    }
    /// How often a word follows another.
    [[nodiscard]] double probability(int word, int before) const {
        const double any_word = share(word, words_);
        const bool follows = word % classes == (before + 1) % classes;
        return 0.5 * any_word + (follows ? 0.5 * share(word / classes, words_ / classes) : 0);
    }

  private:
    static constexpr int classes = 4;

    [[nodiscard]] int drawn(Random& random, Index count) const {
        const double at = random.uniform() * cumulative_[static_cast<std::size_t>(count - 1)];
        return static_cast<int>(std::ranges::lower_bound(cumulative_, at) - cumulative_.begin());
    }
    [[nodiscard]] double share(int rank, Index count) const {
        return 1 / (static_cast<double>(rank + 1) * cumulative_[static_cast<std::size_t>(count - 1)]);
    }

    Index words_;
    std::vector<double> cumulative_;
};

/// Words and what follows each.
struct Tokens {
    std::vector<int> words, next;

    Tokens(const ZipfText& text, Index count, std::uint64_t seed, std::uint64_t number) {
        Random random(seed, number);
        for (Index i = 0; i < count; ++i) {
            words.push_back(text.any(random));
            next.push_back(text.after(words.back(), random));
        }
    }
};

// ---- The net ----

/// A word from the one before it (Bengio et al., 2003, with a context of one word).
struct WordNet {
    Embedding words;
    Linear hidden, out;

    WordNet(Model& model, Index count, Index width)
        : words(model, "words", count, width), hidden(model, "hidden", width, width), out(model, "out", width, count) {}

    Var operator()(Tape& tape, const std::vector<int>& before) const {
        return out(relu(hidden(words(tape, before, {static_cast<Index>(before.size())}))));
    }
};

/// What is kept of a run.
struct Seen {
    StepHistograms logits{};             // gradients, by the step at which they were looked at
    StepHistograms unrounded{};          // the same in fp32, before they are rounded to the logits' 16 bits
    std::vector<double> given{}, due{};  // probability on new text by octave of a word's rank
};

/// On new text: the loss, and what probability the words of each octave of ranks get, beside what they should get.
double loss_on(const Tensor& logits, const Tokens& tokens, const ZipfText& text, Seen& seen) {
    const auto octaves = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(text.words())));
    seen.given.assign(octaves, 0);
    seen.due.assign(octaves, 0);
    const auto rows = tokens.next.size();
    double loss = 0;
    std::vector<double> powers(static_cast<std::size_t>(text.words()));
    for (std::size_t row = 0; row < rows; ++row) {
        const float* x = logits.data() + static_cast<Index>(row) * text.words();
        const auto top = static_cast<double>(*std::max_element(x, x + text.words()));
        double total = 0;
        for (std::size_t j = 0; j < powers.size(); ++j) total += powers[j] = step::exp(static_cast<double>(x[j]) - top);
        loss += step::log(total / powers[static_cast<std::size_t>(tokens.next[row])]);
        for (std::size_t j = 0; j < powers.size(); ++j) {
            const auto octave = static_cast<std::size_t>(std::bit_width(j + 1) - 1);
            seen.given[octave] += powers[j] / total / static_cast<double>(rows);
            seen.due[octave] += text.probability(static_cast<int>(j), tokens.words[row]) / static_cast<double>(rows);
        }
    }
    return loss / static_cast<double>(rows);
}

/// The first values of a tensor, whole rows of which are tokens drawn at random: as good as all, and soon counted.
std::span<const float> sample_of(std::span<const float> values) {
    return values.first(std::min<std::size_t>(values.size(), std::size_t{1} << 20));
}

/// Score: the loss on new text.
TaskBuilder word_task(const Settings& settings, const ZipfText& text) {
    return [&](Model& model, std::uint64_t seed) -> Task {
        const WordNet net(model, text.words(), settings.integer("width"));
        const auto seen = std::make_shared<Seen>();
        const std::int64_t steps = settings.integer("steps");
        Task task{.loss = [=, &text, tokens = settings.integer("tokens")](Tape& tape, std::int64_t step) {
            const Tokens batch(text, tokens, seed, 1 + static_cast<std::uint64_t>(step));
            return cross_entropy(net(tape, batch.words), batch.next);
        }};
        task.measure = [=, &text, tokens = settings.integer("test_tokens")](Evaluation& evaluation, Learned& learned) {
            const Tokens test(text, tokens, seed, 0);
            Tape tape(evaluation);
            learned.scores = {loss_on(net(tape, test.words).value(), test, text, *seen)};
        };
        task.watched = [steps](std::int64_t step) {
            return step % std::max<std::int64_t>(steps / 8, 1) == 0 || step == steps - 1;
        };
        task.tap = [seen](std::int64_t step, const TapEvent& event) {
            if (event.role != TensorRole::activation_gradient) return;
            if (event.name == "out/linear") seen->logits[step].add(sample_of(event.values));
            if (event.name == "cast") seen->unrounded[step].add(sample_of(event.values));
        };
        keep(task, seen);
        return task;
    };
}

// ---- Claims ----

enum : std::size_t { way_fp32, way_unscaled, way_128, way_dynamic, way_bf16 };

std::vector<Arithmetic> ways_of(const RunContext& context) {
    const auto low = [&](const char* name, const char* recipe, const LossScaleOptions& scale) {
        Arithmetic way{name, recipe_by_name(recipe), unit_or_ieee(context)};
        way.recipe.loss_scale = scale;
        return way;
    };
    std::vector<Arithmetic> ways = {fp32_arithmetic(), low("fp16 unscaled", "mixed_fp16", constant_loss_scale(1)),
                                    low("fp16 scale 128", "mixed_fp16", constant_loss_scale(128)),
                                    low("fp16 dynamic", "mixed_fp16", loss_scale_dialect("pytorch")),
                                    low("bf16", "bf16", constant_loss_scale(1))};
    if (has_control(context, "scaled")) ways[way_unscaled].recipe.loss_scale = constant_loss_scale(0x1p14);
    if (has_control(context, "vanish")) {
        for (std::size_t i = way_unscaled; i < ways.size(); ++i) {
            ways[i].recipe.loss_scale = constant_loss_scale(0x1p-120);
        }
    }
    return ways;
}

Shares zeros_of(const std::vector<Learned>& runs, std::optional<int> exponent = std::nullopt) {
    std::vector<const StepHistograms*> seeds;
    for (const Learned& run : runs) seeds.push_back(&run.kept<Seen>().logits);
    return shares_of_zeros(seeds, exponent);
}

/// The first step whose loss lies farther than the margin from the reference's: from then on the run has weights of its
/// own, and its gradients are others than fp32's before anything is rounded. Where no loss does, the number of steps.
std::int64_t strays_at(const Learned& run, const Learned& reference) {
    std::size_t step = 0;
    while (step < run.losses.size() && std::fabs(run.losses[step] - reference.losses[step]) <= as_fp32.size) ++step;
    return static_cast<std::int64_t>(step);
}

void claim_predictions(const RunContext& context, const Comparison& runs, Result& result) {
    const int shift = has_control(context, "eighth") ? 3 : 0;
    const std::string place = cite(sources::paper, "3.2: the histogram of gradients");
    double error = 0;
    std::size_t looks = 0;
    std::size_t alike = 0;      // looks at runs that have not strayed
    std::int64_t foretold = 0;  // looks of which the run's own gradients predict the number
    for (const auto& [way, exponent] : {std::pair{way_unscaled, 0}, std::pair{way_128, 7}}) {
        for (std::size_t seed = 0; seed < runs.runs[way].size(); ++seed) {
            const Learned& fp32 = runs.runs[way_fp32][seed];
            const auto& [logits, unrounded, given, due] = runs.runs[way][seed].kept<Seen>();
            const StepHistograms along(logits.begin(), logits.lower_bound(strays_at(runs.runs[way][seed], fp32)));
            const Shares of_fp32 = shares_of_zeros({&fp32.kept<Seen>().logits}, exponent - shift);
            error = larger(error, largest_difference(shares_of_zeros({&along}, std::nullopt), of_fp32));
            looks += logits.size();
            alike += along.size();
            for (const auto& [step, h] : unrounded) {
                const std::int64_t lost = shift == 0 ? h.lost_in_fp16() : h.below(-25 + shift);
                foretold += h.zeros() + lost == logits.at(step).zeros() ? 1 : 0;
            }
        }
    }
    result.measured("predicted_share", place,
                    "As long as a run's loss follows that of fp32 to 0.05 nats, the fp32 run's histograms predict "
                    "which share of a wide softmax's gradients fp16 makes 0, without a loss scale and with 128.",
                    at_most(0.05, alike == 0 ? 1 : error, {"largest difference", "% of the logits' gradients", 100, 1})
                        .at(fmt::format("in {} of {} looks", alike, looks)));
    result.arithmetic("own_share", place,
                      "Where a run has deviated from fp32, too, its own gradients before they are rounded tell "
                      "exactly how many of them fp16 makes 0: those below 2^-25.",
                      equal(static_cast<std::int64_t>(looks), foretold, "looks predicted"));
}

void claim_rule(const RunContext& context, const Comparison& runs, Result& result) {
    const std::int64_t tokens = context.settings.integer("tokens");
    const double invisible = static_cast<double>(tokens) * 0x1p-25;
    const auto gradient = [&](double p) {
        return round_to(formats::fp16, static_cast<float>(p / static_cast<double>(tokens)));
    };
    const std::string place = cite(sources::paper, "3.2: values below 2^-24 become zero in fp16");
    result.arithmetic("invisible", place,
                      fmt::format("In a mean over {} tokens the gradient of a word's logit is p / {}: fp16 makes 0 of "
                                  "it up to a probability of {:.3g}.",
                                  tokens, tokens, invisible),
                      equal(0, gradient(invisible) == 0 ? 0 : 1, "gradients of that size left") &&
                          equal(1, gradient(1.001 * invisible) == 0 ? 0 : 1, "slightly larger ones left"));
    claim_predictions(context, runs, result);
    const Shares lost = zeros_of(runs.runs[way_unscaled]);
    result.measured("lost", place,
                    "At the end of the training fp16 without a loss scale makes 0 of more than a tenth of the logits' "
                    "gradients of a wide softmax.",
                    above(0.1, lost.rbegin()->second, {"zeros", "%", 100, 1}));
}

void claim_quality(const Comparison& runs, Result& result) {
    const Scores fp32 = runs.scores(way_fp32);
    result.measured("unscaled", cite(sources::own_prediction, "a wide softmax needs a loss scale in fp16"),
                    "A language model with a wide softmax learns worse in fp16 without a loss scale than in fp32. The "
                    "loss is an ordinary mean over the tokens.",
                    falls_short(runs.scores(way_unscaled), fp32, as_fp32, loss_text));
    const std::pair<const char*, std::string> remedies[] = {
        {"scale_128", cite(sources::volta_talk, "Loss scaling")},
        {"dynamic", cite(sources::volta_talk, "Automatic loss scaling frees users from choosing a scaling factor")},
        {"bf16", cite(sources::round_table, "BFP16: no need for scaling loss")}};
    for (std::size_t way = way_128; way < runs.arithmetics.size(); ++way) {
        const auto& [id, place] = remedies[way - way_128];
        result.measured(id, place,
                        fmt::format("The language model with a wide softmax learns as in fp32. Here: {}.",
                                    runs.arithmetics[way].name),
                        as_good(runs.scores(way), fp32, as_fp32, loss_text));
    }
}

void figure_histogram(const Comparison& runs, Result& result) {
    const auto& looks = runs.runs[way_fp32].front().kept<Seen>().logits;
    const BinadeHistogram& first = looks.begin()->second;
    const BinadeHistogram& last = looks.rbegin()->second;
    Figure figure{"histogram",
                  "A wide softmax: gradients of the logits",
                  "Share of the gradients in each binade, in fp32, first seed. Shaded: what fp16 makes 0, and its "
                  "subnormal numbers.",
                  fmt::format("A gradient is a probability divided by the number of tokens. Of the first step's fp16 "
                              "makes 0 {:.1f} %, of the last step's {:.1f} %.",
                              100 * first.share(first.lost_in_fp16()), 100 * last.share(last.lost_in_fp16())),
                  "",
                  {first.series("first step"), last.series("last step")}};
    draw_binades(figure, binade_axis(-40, -8, "binade of the gradient"), "share of the logits' gradients");
    result.figure(std::move(figure));
}

void figure_shares(const Comparison& runs, Result& result) {
    Figure figure{"shares", "A wide softmax: gradients that fp16 makes 0, predicted and counted",
                  "Share of the logits' gradients, mean over the seeds. Lines: from the fp32 runs. Marks: counted.", "",
                  runs.evidence};
    const auto add = [&](const std::string& name, const Shares& shares) {
        figure.series.push_back(series_of(name, shares));
    };
    const Shares predicted = zeros_of(runs.runs[way_fp32], 0);
    const Shares counted = zeros_of(runs.runs[way_unscaled]);
    add("unscaled predicted", predicted);
    add("unscaled counted", counted);
    add("scale 128 predicted", zeros_of(runs.runs[way_fp32], 7));
    add("scale 128 counted", zeros_of(runs.runs[way_128]));
    std::int64_t strays = counted.rbegin()->first + 1;
    for (std::size_t seed = 0; seed < runs.runs[way_unscaled].size(); ++seed)
        strays = std::min(strays, strays_at(runs.runs[way_unscaled][seed], runs.runs[way_fp32][seed]));
    figure.meaning = fmt::format(
        "Without a scale the fp32 runs predict {:.1f} % zeros at the last step, {:.1f} % are counted; at a step they "
        "differ by {:.1f} points at most. {}",
        100 * predicted.rbegin()->second, 100 * counted.rbegin()->second, 100 * largest_difference(predicted, counted),
        strays > counted.rbegin()->first ? "No run's loss deviates from fp32's."
                                         : fmt::format("From step {} on a run's loss deviates from fp32's: its weights "
                                                       "are others, and so are the gradients that are rounded.",
                                                       strays));
    draw_predicted_shares(figure, "share of the logits' gradients");
    result.figure(std::move(figure));
}

/// The mean probability of a word by the octave of its rank: what it should get, and what it gets.
void figure_words(const RunContext& context, const Comparison& runs, Result& result) {
    const double invisible = static_cast<double>(context.settings.integer("tokens")) * 0x1p-25;
    Figure figure{"words", "A wide softmax: what rare words get",
                  "Mean probability of a word on new text, by the octave of its rank, first seed.", "", runs.evidence};
    const auto add = [&](const std::string& name, const std::vector<double>& sums) {
        Series series{name};
        std::int64_t left = context.settings.integer("words");
        for (std::size_t octave = 0; octave < sums.size() && left > 0; ++octave) {
            const std::int64_t count = std::min(left, (std::int64_t{1} << octave));
            left -= count;
            series.points.push_back(
                {std::ldexp(1.0, static_cast<int>(octave)), sums[octave] / static_cast<double>(count)});
        }
        figure.series.push_back(std::move(series));
    };
    const Seen& fp32 = runs.runs[way_fp32].front().kept<Seen>();
    const Seen& unscaled = runs.runs[way_unscaled].front().kept<Seen>();
    add("in the text", fp32.due);
    add("fp32", fp32.given);
    add("fp16 unscaled", unscaled.given);
    figure.meaning = fmt::format(
        "Below a probability of {:.2g} the gradient that pushes a word down is 0 in fp16 without a loss scale. There a "
        "word falls only as others rise: a softmax divides by the sum.",
        invisible);
    figure.axes = {{.label = "rank of the word", .log_base = 2}, power_axis("probability of a word", 10, 0.1)};
    figure.looks = {{.width = 4},
                    {.mark = Mark::linespoints, .colour = 8, .width = 5, .size = 2.2},
                    {.mark = Mark::linespoints, .colour = 2, .size = 1.3}};
    figure.guides = {level(invisible, "no push down below")};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const ZipfText text(settings.integer("words"));
    const Training training{.task = word_task(settings, text),
                            .optimizer = adam_of(settings),
                            .steps = settings.integer("steps"),
                            .schedule = linear_decay_factor};
    const Comparison runs = compare(context, result, ways_of(context), training, settings.integer("seeds"));
    claim_rule(context, runs, result);
    claim_quality(runs, result);
    figure_histogram(runs, result);
    figure_shares(runs, result);
    figure_words(context, runs, result);
    result.figure(figure_of_seeds(runs, 0, loss_text, "unseen", "A wide softmax: loss on new text"));
}

}  // namespace

Experiment experiment() {
    return {"wide_softmax",
            "A softmax over many words: the mean over tokens loses what pushes improbable words down",
            "Does a wide softmax need a loss scale in fp16, and does fp32 predict what it loses?",
            {Chapter::underflow, 5},
            {integer_setting("words", "of the text, a multiple of 4", 2048, 1024, 16, 65536).smoke(256),
             integer_setting("tokens", "per step", 2048, 32768, 2, 1048576).smoke(256),
             integer_setting("width", "numbers of a word and of the hidden layer", 16, 16, 1, 4096),
             integer_setting("steps", "training steps", 6, 64, 2, 1000000).smoke(2),
             integer_setting("test_tokens", "of new text", 400, 2000, 1, 65536).smoke(50),
             integer_setting("seeds", "runs of each arithmetic", 2, 3, 1, 100),
             real_setting("learning_rate", "of Adam, falling linearly to 0", 0.1, 0.1, 0, 10),
             control_setting("eighth predicts for gradients an eighth as large; scaled gives the run without a loss "
                             "scale one of 2^14; vanish gives all 16-bit runs one of 2^-120",
                             {"eighth", "scaled", "vanish"})},
            run,
            {Control("control=eighth", "predicted_share own_share", RunSize::quick, "seeds=1"),
             Control("control=scaled", "predicted_share lost unscaled", RunSize::quick,
                     "words=1024 tokens=32768 steps=32 seeds=3"),  // a quick run's do not tell
             Control("control=vanish", "predicted_share scale_128 dynamic bf16", RunSize::quick)},
            Effect{"unscaled"}};
}

}  // namespace ulp::wide_softmax_experiment
