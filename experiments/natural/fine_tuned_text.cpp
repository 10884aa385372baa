// A small GPT, fine-tuned from a text to the same text in upper case at a usual rate of AdamW: updates are below half
// an ulp of bf16 weights by themselves, and a language model shows it in nats.
#include "engine/nets/nets.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/natural/lost_updates.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/errors.hpp"

namespace ulp::fine_tuned_text_experiment {
namespace {

/// A text as the numbers of its characters; the last tenth is for testing.
struct AsciiText {
    std::vector<int> train, test;

    AsciiText(const std::string& text, const std::string& name) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            const auto byte = static_cast<unsigned char>(text[i]);
            if (byte >= ascii_tokens) {
                throw DataError(
                    fmt::format("{}: byte {} is {}, which is not ASCII; convert it first (iconv -t ASCII//TRANSLIT)",
                                name, i, byte));
            }
            (i < text.size() - text.size() / 10 ? train : test).push_back(byte);
        }
    }
};

std::string upper_case(std::string text) {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return text;
}

struct TunedTexts {
    AsciiText first, second;
};

TunedTexts texts_of(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const auto [text, name] = text_of(context, result);
    const std::int64_t needed = 20 * (settings.integer("piece") + 1);
    if (static_cast<std::int64_t>(text.size()) < needed) {
        throw DataError(fmt::format("{} has {} characters; pieces of {} take {} or more", name, text.size(),
                                    settings.integer("piece"), needed));
    }
    return {{text, name}, {upper_case(text), name}};
}

/// Pieces of a text, and for each place the next character.
struct TextPieces {
    Tensor ids;
    std::vector<int> next;

    TextPieces(const std::vector<int>& text, const std::vector<std::size_t>& starts, Index length)
        : ids({static_cast<Index>(starts.size()), length}) {
        Index at = 0;
        for (const std::size_t start : starts) {
            for (std::size_t t = 0; t < static_cast<std::size_t>(length); ++t) {
                ids[at++] = static_cast<float>(text[start + t]);
                next.push_back(text[start + t + 1]);
            }
        }
    }
};

Var loss_on(Tape& tape, const Net& net, const TextPieces& pieces) {
    const Var scores = net(tape.constant(pieces.ids));
    return cross_entropy(reshape(scores, {static_cast<Index>(pieces.next.size()), ascii_tokens}), pieces.next);
}

/// Score: the mean loss on up to 32 pieces of `test`.
TaskBuilder text_task(const RunContext& context, const std::vector<int>& train, const std::vector<int>& test) {
    const Settings& settings = context.settings;
    const LanguageNet shape{.length = settings.integer("piece"),
                            .width = settings.integer("width"),
                            .blocks = settings.integer("blocks"),
                            .heads = 2};
    const Index batch = settings.integer("batch");
    return [=, &train, &test](Model& model, std::uint64_t seed) -> Task {
        const Index length = shape.length;
        const Net net(model, shape.layers(), {length}, ascii_tokens);
        const auto loss = [=, &train](Tape& tape, std::int64_t step) {
            Random random(seed, hash_of("pieces of text") + static_cast<std::uint64_t>(step));
            std::vector<std::size_t> starts;
            for (Index i = 0; i < batch; ++i) {
                starts.push_back(random.below(train.size() - static_cast<std::size_t>(length) - 1));
            }
            return loss_on(tape, net, {train, starts, length});
        };
        return {.loss = loss, .measure = [=, &test](Evaluation& evaluation, Learned& learned) {
                    std::vector<std::size_t> starts;
                    const auto each = static_cast<std::size_t>(length);
                    for (std::size_t at = 0; at + each < test.size() && starts.size() < 32; at += each) {
                        starts.push_back(at);
                    }
                    Tape tape(evaluation);
                    learned.scores = {static_cast<double>(loss_on(tape, net, {test, starts, length}).value()[0])};
                }};
    };
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const TunedTexts texts = texts_of(context, result);
    const Training first_training{
        .task = natural::keeping_weights(text_task(context, texts.first.train, texts.second.test)),
        .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 3e-3},
        .steps = settings.integer("first_steps")};
    const std::int64_t seeds = settings.integer("seeds");
    const Comparison first = compare(context, result, {fp32_arithmetic()}, first_training, seeds, {0, 0.2});

    const double rate = settings.real("learning_rate");
    const TaskBuilder task = natural::starting_from(text_task(context, texts.second.train, texts.second.test),
                                                    natural::weights_left(context, first));
    const Training second{.task = natural::watching_moves(task),
                          .optimizer = {.kind = OptimizerKind::adamw, .learning_rate = rate, .weight_decay = 0.01},
                          .steps = settings.integer("steps"),
                          .schedule = [](std::int64_t step, std::int64_t steps) {
                              return warmup_factor(step, 20) * cosine_decay_factor(step, steps);
                          }};
    const Comparison runs = compare(context, result, natural::weight_keepings(context), second, seeds, {0.2, 1});
    const std::string beginning = fmt::format("Fine-tuned to upper case with AdamW at {:g}, ", rate);
    const Quantity nats{"nats per character", "", 1, 3};
    result.measured("tuning_helps",
                    cite(natural::bert, "A.3 Fine-tuning Procedure: learning rate (Adam) 5e-5, 3e-5, 2e-5"),
                    beginning + "a small GPT in fp32 needs fewer nats per character than before.",
                    below(first.mean(0), runs.mean(natural::fp32), nats));
    natural::claim_lost_updates(
        result,
        {runs, nats, {0.02, "the probability of a character falls by a fiftieth", Margin::Side::not_above}, beginning});

    result.figure(natural::figure_of_update_sizes(runs, "A small GPT, fine-tuned: sizes of updates"));
    result.figure(natural::figure_of_standing_weights(runs, 5, "A small GPT, fine-tuned: weights that stand still"));
    result.figure(figure_of_losses(runs, 10, "loss", "A small GPT, fine-tuned: training loss", false));
    result.figure(figure_of_seeds(runs, 0, nats, "nats", "A small GPT, fine-tuned: nats per unseen character"))
        .headline = fmt::format(
        "A small GPT fine-tuned with AdamW at {:g}, unmodified: {} nats per character before, {} after in fp32, {} "
        "with bf16 weights without masters.",
        rate, nats.text(first.mean(0)), nats.text(runs.mean(natural::fp32)),
        nats.text(runs.mean(natural::bf16_nearest)));
}

}  // namespace

Experiment experiment() {
    return {
        "fine_tuned_text",
        "Fine-tuning a small GPT: updates below half an ulp",
        "How many nats does a language model lose that is fine-tuned in 16-bit weights at a usual rate?",
        {Chapter::remedies, 3},
        {integer_setting("first_steps", "training steps on the text as it is", 200, 1500, 1, 1000000).smoke(4),
         integer_setting("steps", "steps of fine-tuning", 250, 400, 1, 1000000).smoke(10),
         integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(2),
         integer_setting("blocks", "of the model", 1, 2, 1, 64),
         integer_setting("width", "of the blocks", 16, 48, 2, 1024),
         integer_setting("batch", "pieces of text a step", 4, 8, 1, 4096),
         integer_setting("piece", "characters a piece", 16, 32, 2, 1024),
         integer_setting("characters", "of the generated text", 20000, 400000, 1000, 100000000),
         real_setting("learning_rate", "of AdamW in fine-tuning", 5e-5, 2e-5, 0, 10), natural::weight_keeping_control(),
         path_setting("text", "a text file in ASCII, instead of the generated text")},
        run,
        {Control("control=masters",
                 "predicted_start_bf16 predicted_bf16 predicted_start_fp16 predicted_fp16 bf16_nearest fp16_nearest",
                 RunSize::quick),
         Control("control=nearest", "bf16_masters bf16_stochastic bf16_kahan fp16_masters", RunSize::quick),
         Control("learning_rate=0", "tuning_helps bf16_nearest fp16_nearest", RunSize::quick)},
        Effect{"bf16_nearest"}};
}

}  // namespace ulp::fine_tuned_text_experiment
