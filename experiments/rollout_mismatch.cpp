// A small Llama writes text in one arithmetic and reads it in another: how far the log-probabilities of the same tokens
// and weights are apart, and what brings them together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "engine/analysis/token_mismatch.hpp"
#include "engine/nets/nets.hpp"
#include "engine/products/backends.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/steps.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/long_work.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/errors.hpp"

namespace ulp::rollout_mismatch_experiment {
namespace {

using Tokens = std::vector<int>;
using Weights = WeightsByName;

// ---- The model and its training ----

/// Llama's blocks: RMS norms, grouped attention with rotary places, SwiGLU; no biases. The head is a layer of its own.
Layers body_of(const Settings& settings) {
    const Index width = settings.integer("width");
    const Index heads = settings.integer("heads");
    const auto norm = [](const std::string& name) { return Layer{.kind = LayerKind::rms_norm, .name = name}; };
    const auto linear = [](const std::string& name, Index size) {
        return Layer{.kind = LayerKind::linear, .name = name, .size = size, .biased = false};
    };
    Layers net = {layers::embedding("words", ascii_tokens, width)};
    for (Index i = 1; i <= settings.integer("blocks"); ++i) {
        const std::string block = fmt::format("block{}.", i);
        const Layer attention{.kind = LayerKind::grouped_attention,
                              .name = block + "attention",
                              .size = heads,
                              .causal = true,
                              .biased = false,
                              .out_biased = false,
                              .key_value_heads = std::max<Index>(1, heads / 2),
                              .rotary = 10000};
        const Layer gated{.kind = LayerKind::product,
                          .inside = {{linear(block + "gate", 2 * width), Layer{.kind = LayerKind::silu}},
                                     {linear(block + "up", 2 * width)}}};
        net.push_back(layers::residual({norm(block + "norm1"), attention}));
        net.push_back(layers::residual({norm(block + "norm2"), gated, linear(block + "down", width)}));
    }
    net.push_back(norm("norm"));
    return net;
}
const Layers head = {Layer{.kind = LayerKind::linear, .name = "head", .biased = false}};

/// The two parts with their parameters in a model.
struct Llama {
    Net body, out;

    Llama(Model& of_body, Model& of_head, const Settings& settings)
        : body(of_body, body_of(settings), {settings.integer("length")}, ascii_tokens),
          out(of_head, head, {settings.integer("length"), settings.integer("width")}, ascii_tokens) {}
};

Tensor ids_of(const std::vector<Tokens>& rows, std::size_t first, std::size_t count) {
    Tensor ids({static_cast<Index>(rows.size()), static_cast<Index>(count)});
    for (std::size_t i = 0; i < rows.size() * count; ++i) {
        ids[static_cast<Index>(i)] = static_cast<float>(rows[i / count][first + i % count]);
    }
    return ids;
}

/// Pieces of a text, one character longer than the model reads.
std::vector<Tokens> pieces_of(const InputText& text, std::size_t length) {
    std::vector<Tokens> pieces;
    for (std::size_t i = 0; i + length < text.text.size(); i += length) {
        pieces.emplace_back(text.text.begin() + static_cast<std::ptrdiff_t>(i),
                            text.text.begin() + static_cast<std::ptrdiff_t>(i + length + 1));
        for (const int token : pieces.back()) {
            if (token < 0 || token >= ascii_tokens) throw DataError(text.name + " is not ASCII; give a text that is");
        }
    }
    return pieces;
}

TaskBuilder model_task(const Settings& settings, const std::vector<Tokens>& pieces) {
    return [&](Model& model, std::uint64_t seed) {
        const auto length = static_cast<std::size_t>(settings.integer("length"));
        const auto order = batches(static_cast<Index>(pieces.size()), settings.integer("batch"), seed);
        return Task{
            .loss =
                [=, net = Llama(model, model, settings), &pieces](Tape& tape, std::int64_t step) {
                    std::vector<Tokens> rows;
                    Tokens next;
                    for (const Index i : order(step)) {
                        rows.push_back(pieces[static_cast<std::size_t>(i)]);
                        next.insert(next.end(), rows.back().begin() + 1, rows.back().end());
                    }
                    const Var logits = net.out(net.body(tape.constant(ids_of(rows, 0, length))));
                    return cross_entropy(reshape(logits, {static_cast<Index>(next.size()), ascii_tokens}), next);
                },
            .measure =
                [&model](Evaluation&, Learned& learned) {
                    Weights weights;
                    for (const Parameter& each : model.parameters()) weights[each.name] = each.updated();
                    learned.more = weights;
                }};
    };
}

// ---- Sampler and trainer ----

/// How one of the two engines computes.
struct Side {
    std::string recipe = "bf16";
    std::string head = "bf16";
    ProductOrder order{};
};

class Policy {
  public:
    Policy(const RunContext& context, const Side& side, const Weights& weights)
        : body_(recipe_by_name(side.recipe), backend(context, side.order)),
          head_(recipe_by_name(side.head), backend(context, side.head == "fp32" ? ProductOrder{} : side.order)),
          of_body_(body_.recipe, 0),
          of_head_(head_.recipe, 0),
          net_(of_body_, of_head_, context.settings) {
        for (Model* model : {&of_body_, &of_head_}) {
            for (Parameter& each : model->parameters()) each.assign(weights.at(each.name));
        }
    }

    /// (rows, time, tokens)
    [[nodiscard]] Tensor logits(const Tensor& ids) const {
        Run run{.training = false};
        Tape body(body_, run);
        Tape last(head_, run);
        return net_.out(last.constant(net_.body(body.constant(ids)).value())).value();
    }

  private:
    static std::unique_ptr<MatmulBackend> backend(const RunContext& context, const ProductOrder& order) {
        auto unit = make_backend(unit_or_ieee(context));
        return order == ProductOrder{} ? std::move(unit) : in_order(std::move(unit), order);
    }

    Engine body_, head_;
    Model of_body_, of_head_;
    Llama net_;
};

/// Of one place, in fp64.
std::vector<double> log_probabilities(const Tensor& logits, std::size_t place) {
    const auto row = logits.values().subspan(place * ascii_tokens, ascii_tokens);
    const auto top = static_cast<double>(std::ranges::max(row));
    double total = 0;
    for (const float x : row) total += step::exp(static_cast<double>(x) - top);
    const double log_total = step::log(total);
    std::vector<double> logs;
    for (const float x : row) logs.push_back(static_cast<double>(x) - top - log_total);
    return logs;
}

/// Rows of tokens that the policy draws, each after a first one that is given.
std::vector<Tokens> written(const Policy& policy, std::vector<Tokens> rows, std::size_t length, std::uint64_t seed) {
    Random random(seed, "sampled tokens");
    while (rows.front().size() < length) {
        const std::size_t known = rows.front().size();
        const Tensor logits = policy.logits(ids_of(rows, 0, known));
        for (std::size_t r = 0; r < rows.size(); ++r) {
            double left = random.uniform();
            int token = -1;
            for (const double each : log_probabilities(logits, r * known + known - 1)) {
                if (left <= 0) break;
                left -= step::exp(each);
                ++token;
            }
            rows[r].push_back(token);
        }
    }
    return rows;
}

/// What the policy gives for the rows, the first tokens aside.
std::vector<TokenSequence> judged(const Policy& policy, const std::vector<Tokens>& rows) {
    const std::size_t count = rows.front().size() - 1;
    const Tensor logits = policy.logits(ids_of(rows, 0, count));
    std::vector<TokenSequence> sequences;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        TokenSequence& sequence = sequences.emplace_back();
        for (std::size_t t = 0; t < count; ++t) {
            const std::vector<double> logs = log_probabilities(logits, r * count + t);
            const int token = rows[r][t + 1];
            sequence.tokens.push_back(token);
            sequence.log_probabilities.push_back(logs[static_cast<std::size_t>(token)]);
            sequence.argmax.push_back(std::ranges::max_element(logs) - logs.begin());
        }
    }
    return sequences;
}

// ---- Pairs of engines ----

enum PairName : std::uint8_t {
    pair_equal,
    pair_bf16,
    pair_fp16,
    pair_head,
    pair_order,
    pair_partials,
    pair_fp8,
    pairs
};
struct Pair {
    const char* name;
    Side a, b;
};

/// The two engines of each pair; a control spoils one of them. An engine of the first pairs that writes fuses
/// point-wise steps and adds in one chain, one that reads does neither.
std::vector<Pair> pairs_of(const RunContext& context) {
    const auto is = [&](const char* control) { return has_control(context, control); };
    const ProductOrder split{.split_k = 4};
    const ProductOrder narrow{.split_k = 4, .sum_format = formats::bf16};
    const std::string fp16 = is("bf16") ? "bf16" : "mixed_fp16";
    const std::string wide = is("no_head") ? "bf16" : "fp32";
    return {{"one order", {}, {.order = is("order") ? split : ProductOrder{}}},
            {"bf16", {"bf16+fused"}, {.order = split}},
            {"fp16", {fp16 + "+fused", fp16}, {fp16, fp16, split}},
            {"bf16 with an fp32 head", {"bf16+fused", wide}, {"bf16", wide, split}},
            {"bf16: order alone", {}, {.order = split}},
            {"bf16: partial sums in bf16", {}, {.order = is("fp32_partials") ? split : narrow}},
            {"FP8 sampler", {.recipe = is("no_fp8") ? "bf16+fused" : "te_current+fused"}, {.order = split}}};
}

/// The log-probabilities of both engines, of all nets' tokens.
struct Found {
    std::vector<TokenSequence> a, b;
    TokenMismatch mismatch{};

    [[nodiscard]] std::vector<double> gaps() const {
        std::vector<double> gaps;
        for (std::size_t s = 0; s < a.size(); ++s) {
            for (std::size_t t = 0; t < a[s].tokens.size(); ++t) {
                gaps.push_back(std::abs(b[s].log_probabilities[t] - a[s].log_probabilities[t]));
            }
        }
        std::ranges::sort(gaps);
        return gaps;
    }
};

std::vector<Found> found_of(const RunContext& context, const Comparison& runs, const std::vector<Tokens>& pieces) {
    const Settings& settings = context.settings;
    const std::vector<Pair> all = pairs_of(context);
    std::vector<Found> found(all.size());
    for (std::size_t seed = 0; seed < runs.runs[0].size(); ++seed) {
        const auto& weights = runs.runs[0][seed].kept<Weights>();
        std::vector<Tokens> starts;
        for (Index i = 0; i < settings.integer("sequences"); ++i) {
            starts.push_back({pieces[static_cast<std::size_t>(i) % pieces.size()].front()});
        }
        const auto length = static_cast<std::size_t>(settings.integer("length")) + 1;
        const auto rows = written(Policy(context, {}, weights), std::move(starts), length, context.seed + seed);
        std::vector<std::vector<TokenSequence>> read(2 * all.size());
        run_side_by_side(read.size(), may_run_side_by_side(unit_or_ieee(context)), [&](std::size_t i) {
            const Pair& pair = all[i / 2];
            read[i] = judged(Policy(context, i % 2 == 0 ? pair.a : pair.b, weights), rows);
        });
        for (std::size_t i = 0; i < read.size(); ++i) {
            auto& to = i % 2 == 0 ? found[i / 2].a : found[i / 2].b;
            std::ranges::move(read[i], std::back_inserter(to));
        }
        context.progress(0.6 + 0.4 * static_cast<double>(seed + 1) / static_cast<double>(runs.runs[0].size()));
    }
    for (Found& each : found) {
        each.mismatch =
            token_mismatch(each.a, each.b, {settings.integer("blocks"), settings.integer("width"), ascii_tokens});
    }
    return found;
}

// ---- Claims and figures ----

void claim_gaps(const std::vector<Found>& found, Result& result) {
    const auto rms = [&](PairName pair) { return found[pair].mismatch.rms; };
    const auto ratio = [&](PairName above, PairName below) { return rms(above) / rms(below); };
    const Quantity times{"", "times", 1, 2};
    const std::vector<double> equal_gaps = found[pair_equal].gaps();
    result.measured("one_order", "He and Thinking Machines, Defeating nondeterminism in LLM inference (2025)",
                    "Where sampler and trainer add their products in one order, no log-probability of a token differs.",
                    equal(0, std::ranges::count_if(equal_gaps, [](double gap) { return gap != 0; }), "tokens differ"));
    result.measured(
        "fp16", "Qi et al., Defeating the training-inference mismatch via FP16 (2025), arXiv 2510.26788",
        fmt::format(
            "A sampler that fuses point-wise steps, and a trainer that does not and splits its sums: their "
            "log-probabilities are at least 4 times closer in fp16 than in bf16, in root mean square. Three more "
            "bits of significand would make 8. Here: {:.2g} nats in bf16.",
            rms(pair_bf16)),
        at_least(4, ratio(pair_bf16, pair_fp16), times));
    result.measured(
        "fp32_head", "MiniMax-M1 technical report (2025), arXiv 2506.13585, \"LM output head in FP32\"",
        "An fp32 head in both engines brings their log-probabilities closer than bf16 throughout: at least a "
        "tenth of the gap's mean square goes with the rounding of logits.",
        at_least(0.1, 1 - 1 / std::pow(ratio(pair_bf16, pair_head), 2), {"of the mean square", "%", 100, 0}));
    result.measured(
        "bf16_partials", "modular/modular, issue 7165: split-k partial sums in bf16",
        "A kernel that rounds the partial sums of split-k to bf16 widens the gap to one chain: it is at least "
        "3 times that of partial sums in fp32.",
        at_least(3, ratio(pair_partials, pair_order), times));
    result.measured("fp8_sampler", cite(sources::own_prediction, "an FP8 sampler against a bf16 trainer"),
                    "A sampler whose products take E4M3 operands is at least 3 times as far from a bf16 trainer as a "
                    "sampler in bf16.",
                    at_least(3, ratio(pair_fp8, pair_bf16), times));
    result.quoted(
        "qwen", "ServiceNow/Fast-LLM, pull request 525",
        "Between vLLM and the trainer the log-probabilities of Qwen2.5-0.5B differ by 0.031 nats rms in bf16.",
        "0.031 nats", "it needs the model and a GPU");
}

/// Which share of the tokens has a gap beyond x.
void figure_gaps(const RunContext& context, const std::vector<Found>& found, const std::string& evidence,
                 Result& result) {
    const std::vector<Pair> all = pairs_of(context);
    Figure figure{"gaps", "Sampler and trainer: gaps between log-probabilities",
                  "Share of the sampled tokens whose log-probabilities are further apart than x. The sampler fuses and "
                  "adds in one chain; the trainer splits k.",
                  "Root mean square of the gap in nats:", evidence};
    for (std::size_t i = pair_bf16; i < pairs; ++i) {
        const std::vector<double> gaps = found[i].gaps();
        figure.series.push_back({all[i].name});
        for (int e = -56; e <= 4; ++e) {
            const double x = std::ldexp(e % 2 == 0 ? 1 : 0.70710678118654752, (e + (e % 2 == 0 ? 0 : 1)) / 2);
            const auto beyond = gaps.end() - std::ranges::upper_bound(gaps, x);
            if (beyond > 0)
                figure.series.back().points.push_back(
                    {x, static_cast<double>(beyond) / static_cast<double>(gaps.size())});
        }
        figure.meaning += fmt::format(" {} {:.2g},", all[i].name, found[i].mismatch.rms);
    }
    figure.axes = {power_axis("gap in nats", 2), percent_axis("tokens with a larger gap")};
    figure.axes.x.from = 0x1p-14;
    figure.axes.x.to = 1.0;
    figure.guides = {upright(0.2, "PPO's clip")};
    figure.headline = fmt::format(
        "The same weights and tokens in two engines: log-probabilities are {:.1f} times closer in fp16 than in bf16.",
        found[pair_bf16].mismatch.rms / found[pair_fp16].mismatch.rms);
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const std::vector<Tokens> pieces =
        pieces_of(text_of(context, result), static_cast<std::size_t>(settings.integer("length")));
    if (static_cast<Index>(pieces.size()) < settings.integer("batch")) {
        throw DataError(fmt::format("the text has {} pieces, and a batch {}; give a longer text", pieces.size(),
                                    settings.integer("batch")));
    }
    const Comparison runs = compare(context, result, {arithmetic_of(context, "bf16", recipe_by_name("bf16"))},
                                    {.task = model_task(settings, pieces),
                                     .optimizer = adam_of(settings),
                                     .steps = settings.integer("steps"),
                                     .schedule = linear_decay_factor,
                                     .clip_norm = 1},
                                    settings.integer("seeds"), {0, 0.6});
    const std::vector<Found> found = found_of(context, runs, pieces);
    claim_gaps(found, result);
    figure_gaps(context, found, runs.evidence, result);
}

}  // namespace

Experiment experiment() {
    return {
        "rollout_mismatch",
        "Sampler and trainer: the same weights, other log-probabilities",
        "How far apart are the log-probabilities of a sampler and a trainer with the same weights, and what brings "
        "them together?",
        {Chapter::agreement, 1},
        {integer_setting("steps", "training steps", 100, 300, 2, 1000000).smoke(3),
         integer_setting("batch", "pieces of text per step", 8, 8, 1, 4096),
         integer_setting("length", "characters per piece, and sampled after a first one", 32, 64, 2, 1024).smoke(8),
         integer_setting("width", "of the model", 64, 128, 8, 4096).smoke(16),
         integer_setting("blocks", "of attention and feed-forward layers", 2, 3, 1, 100).smoke(1),
         integer_setting("heads", "of the queries, dividing the width", 4, 8, 1, 64),
         integer_setting("characters", "of the generated text", 20000, 200000, 2000, 100000000).smoke(2000),
         integer_setting("sequences", "sampled by each net", 24, 32, 1, 4096).smoke(4),
         integer_setting("seeds", "nets that are trained and sampled", 1, 3, 1, 100).smoke(1),
         real_setting("learning_rate", "of Adam, falling linearly to 0", 1e-2, 3e-3, 0, 10),
         control_setting("order splits one engine's sums where both have one order; bf16 computes in bf16 instead of "
                         "fp16; no_head leaves the head in bf16; fp32_partials keeps partial sums in fp32; no_fp8 "
                         "samples in bf16",
                         {"order", "bf16", "no_head", "fp32_partials", "no_fp8"}),
         path_setting("text", "an ASCII text file, instead of the generated text")},
        run,
        {Control("control=order", "one_order", RunSize::quick), Control("control=bf16", "fp16", RunSize::quick),
         Control("control=no_head", "fp32_head", RunSize::quick),
         Control("control=fp32_partials", "bf16_partials", RunSize::quick),
         Control("control=no_fp8", "fp8_sampler", RunSize::quick)}};
}

}  // namespace ulp::rollout_mismatch_experiment
