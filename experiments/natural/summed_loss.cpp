// The loss of a language model, summed in fp16 over the tokens of a batch: what it reads is wrong from some thousand
// tokens on, and from 65,520 on every gradient is 0. Nothing is inserted; overflow shows such sums alone.
#include "engine/data/generated.hpp"
#include "engine/files/sha256.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/steps.hpp"
#include "experiments/natural/tuning.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/figures.hpp"
#include "softfloat/round.hpp"

namespace ulp::summed_loss_experiment {
namespace {

using natural::NumberedText;
constexpr Index context_length = 4;
const Quantity nats{"loss on new text", "nats", 1, 3};

/// A character from the four before it: embeddings, a hidden layer (Bengio et al., 2003).
struct CharacterNet {
    Embedding letters;
    Linear hidden, out;

    CharacterNet(Model& model, Index classes)
        : letters(model, "letters", classes, 4),
          hidden(model, "hidden", 4 * context_length, 16),
          out(model, "out", 16, classes) {}

    Var operator()(Tape& tape, const std::vector<int>& before) const {
        const auto count = static_cast<Index>(before.size()) / context_length;
        const Var x = reshape(letters(tape, before, {count, context_length}), {count, 4 * context_length});
        return out(relu(hidden(x)));
    }
};

/// Places of the text with what stands before each.
struct Tokens {
    std::vector<int> before, labels;

    Tokens(const NumberedText& text, Index count, std::uint64_t seed, std::int64_t step) {
        Random random(seed, 1000 + static_cast<std::uint64_t>(step));
        const auto last = static_cast<std::int64_t>(text.characters.size()) - context_length - 1;
        for (Index i = 0; i < count; ++i) {
            const auto* at = text.characters.data() + random.between(0, last);
            before.insert(before.end(), at, at + context_length);
            labels.push_back(at[context_length]);
        }
    }
};

/// -log softmax of each row's label, in fp64 whatever the logits' format.
std::vector<double> terms_of(const Tensor& logits, const std::vector<int>& labels) {
    const Index classes = logits.dim(1);
    std::vector<double> terms;
    for (std::size_t row = 0; row < labels.size(); ++row) {
        const float* x = logits.data() + static_cast<Index>(row) * classes;
        double total = 0;
        for (Index j = 0; j < classes; ++j) total += step::exp(static_cast<double>(x[j]) - x[labels[row]]);
        terms.push_back(step::log(total));
    }
    return terms;
}

/// The mean of terms that are added one by one in fp16. The sum sticks where half a unit in its last place is more than
/// the next term: terms of 3.3 at 8192. From 65,520 terms on their number is infinite in fp16.
double mean_in_fp16(const std::vector<double>& terms) {
    double sum = 0;
    for (const double term : terms) sum = round_to(formats::fp16, sum + round_to(formats::fp16, term));
    return sum / round_to(formats::fp16, static_cast<double>(terms.size()));
}

/// What is kept of a run.
struct LanguageSeen {
    BinadeHistogram weights{}, logits{};  // gradients
    double foretold = 0;                  // by an fp32 run: what the first loss reads when it is summed in fp16
};

/// Score: the loss on new text.
TaskBuilder language_task(const NumberedText& text, Index tokens) {
    return [&text, tokens](Model& model, std::uint64_t seed) -> Task {
        const CharacterNet net(model, text.classes);
        const auto seen = std::make_shared<LanguageSeen>();
        Task task{.loss = [=, &text](Tape& tape, std::int64_t step) {
            const Tokens batch(text, tokens, seed, step);
            const Var logits = net(tape, batch.before);
            if (step == 0 && tape.engine().recipe.name == "fp32") {
                seen->foretold = mean_in_fp16(terms_of(logits.value(), batch.labels));
            }
            return cross_entropy(logits, batch.labels);
        }};
        task.measure = [=, &text](Evaluation& evaluation, Learned& learned) {
            const Tokens test(text, 1000, seed, -1);
            Tape tape(evaluation);
            learned.scores = {mean_of(terms_of(net(tape, test.before).value(), test.labels))};
        };
        task.tap = [seen](std::int64_t, const TapEvent& event) {
            if (event.role == TensorRole::weight_gradient) seen->weights.add(event.values);
            if (event.role == TensorRole::activation_gradient && event.name == "out/linear")
                seen->logits.add(event.values);
        };
        keep(task, seen);
        return task;
    };
}

/// All in fp16, products and sums, but for Adam's steps (adam_eps shows what these do in fp16).
Arithmetic with_loss(const RunContext& context, const char* name, bool wide) {
    Arithmetic way{name, recipe_by_name("fp16"), unit_or_ieee(context)};
    way.recipe.update = formats::fp32;
    way.recipe.loss_scale = constant_loss_scale(wide ? 1024 : 1);
    if (wide) way.recipe.cast_rules.push_back({"cross_entropy", Cast::single});
    return way;
}

/// The training runs with the most tokens, and the first losses with fewer.
struct Readings {
    Comparison runs{};
    Series real{"fp32"};
    Series foretold{"predicted from fp32"};
    Series read{"loss in fp16"};
    double worst = 0;  // difference of the last two
};

Readings readings_of(const RunContext& context, const NumberedText& text, Result& result) {
    const Settings& settings = context.settings;
    const std::vector<Arithmetic> ways = {fp32_arithmetic(),
                                          with_loss(context, "loss in fp16", has_control(context, "fp32_loss")),
                                          with_loss(context, "loss in fp32", !has_control(context, "fp16_loss"))};
    Readings found;
    const std::int64_t most = settings.integer("tokens");
    for (std::int64_t tokens = most / 16; tokens <= most; tokens *= 4) {
        found.runs = compare(context, result, ways,
                             {.task = language_task(text, tokens),
                              .optimizer = adam_of(settings),
                              .steps = tokens == most ? settings.integer("steps") : 1},
                             tokens == most ? settings.integer("seeds") : 1);
        const Learned& fp32 = found.runs.runs[0].front();
        const double foretold = fp32.kept<LanguageSeen>().foretold;
        const double said = found.runs.runs[1].front().losses.front();
        for (std::size_t seed = 0; seed < found.runs.runs[0].size(); ++seed) {
            const double predicted = found.runs.runs[0][seed].kept<LanguageSeen>().foretold;
            found.worst = larger(found.worst, std::fabs(found.runs.runs[1][seed].losses.front() - predicted));
        }
        const auto x = static_cast<double>(tokens);
        found.real.points.push_back({x, fp32.losses.front()});
        found.foretold.points.push_back({x, foretold});
        found.read.points.push_back({x, said});
    }
    return found;
}

void run(const RunContext& context, Result& result) {
    const std::string text = generated_text(20000, context.seed);
    result.input({"generated text", sha256_of(text)});
    const NumberedText numbered(text);
    const Readings found = readings_of(context, numbered, result);
    const std::string place = cite(sources::amp_slides, "FP32 and FP16: sums and losses in FP32");
    result.measured("reading", place,
                    "A loss that is summed in fp16 sticks where half a unit in the sum's last place is more than the "
                    "next term. The terms of the fp32 run predict what it reads, for every number of tokens.",
                    at_most(0.05, found.worst, {"largest difference", "nats", 1, 4}));
    const Margin margin{0.05, "a 60th of the loss at the start", Margin::Side::not_above};
    const Scores fp32 = found.runs.scores(0);
    const BinadeHistogram& gradients = found.runs.runs[1].front().kept<LanguageSeen>().weights;
    const std::int64_t tokens = context.settings.integer("tokens");
    result.measured(
        "stops_training", place,
        fmt::format("From 65,520 tokens on fp16 has no number for their count, so every gradient of their mean is 0, "
                    "and the model does not learn. Here: {} tokens.",
                    tokens),
        falls_short(found.runs.scores(1), fp32, margin, nats) &&
            above(0.99, gradients.share(gradients.zeros()), {"", "% of the weights' gradients are 0", 100, 1}));
    result.measured("loss_in_fp32", place,
                    "With the loss alone in fp32, and a loss scale, the model learns throughout in fp16 as in fp32.",
                    as_good(found.runs.scores(2), fp32, margin, nats));
    result.figure({"loss",
                   "The loss of a language model, summed in fp16",
                   "Mean loss of the first step over the tokens of its batch, first seed.",
                   fmt::format("The true loss is {:.2f} nats. Summed in fp16 over {} tokens it reads {:.2f}.",
                               found.real.points.back().y, tokens, found.read.points.back().y),
                   found.runs.evidence,
                   {found.real, found.foretold, found.read},
                   "",
                   {{.label = "tokens of a batch", .log_base = 4, .from = 3000.0},
                    {.label = "loss, nats", .from = 0.0, .room = 0.1}},
                   {{.mark = Mark::linespoints, .colour = 8, .width = 4, .size = 1.3},
                    {.colour = 8, .width = 4, .dash = 2},
                    {.mark = Mark::points, .colour = 2, .size = 1.8}}});
    const BinadeHistogram& logits = found.runs.runs[0].front().kept<LanguageSeen>().logits;
    Figure figure{
        "histogram",
        fmt::format("Gradients of the logits in a mean over {} tokens", tokens),
        "Share of the gradients in each binade, in fp32, first seed. Shaded: what fp16 makes 0, and its subnormal "
        "numbers.",
        fmt::format("fp16 could hold all but {:.0f} % of them. The count of the tokens is {:g} in fp16; where the loss "
                    "is in fp16, too, {:.0f} % of the weights' gradients are 0.",
                    100 * logits.share(logits.zeros() + logits.lost_in_fp16()),
                    round_to(formats::fp16, static_cast<float>(tokens)), 100 * gradients.share(gradients.zeros())),
        found.runs.evidence,
        {logits.series("gradient of the logits")}};
    draw_binades(figure, binade_axis(-40, -8, "binade"), "share of the gradients");
    result.figure(std::move(figure));
    result.figure(
        figure_of_seeds(found.runs, 0, nats, "learning", "A language model of large batches: loss on new text"));
}

}  // namespace

Experiment experiment() {
    return {
        "summed_loss",
        "A language model's loss, summed in fp16",
        "What does a loss read that is summed in fp16 over many tokens, and when does training stop?",
        {Chapter::overflow, 2},
        {integer_setting("tokens", "tokens of a batch; the loss is also read with a quarter and a 16th of them", 65536,
                         65536, 1024, 262144)
             .smoke(4096),
         integer_setting("steps", "training steps", 3, 100, 1, 1000000).smoke(1),
         integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(2),
         real_setting("learning_rate", "of Adam", 1e-2, 1e-2, 0, 10),
         control_setting("fp32_loss takes the loss to fp32 where it is in fp16; fp16_loss to fp16 where it is in fp32",
                         {"fp32_loss", "fp16_loss"})},
        run,
        {Control("control=fp32_loss", "reading", RunSize::smoke, "tokens=16384"),
         Control("control=fp32_loss", "reading stops_training", RunSize::quick),
         Control("control=fp16_loss", "loss_in_fp32", RunSize::quick)},
        Effect{"stops_training"}};
}

}  // namespace ulp::summed_loss_experiment
