#include "experiments/training/watched_nets.hpp"

#include <fmt/core.h>

#include "engine/data/generated.hpp"
#include "engine/nets/blocks.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/functions/quick_exp_log.hpp"
#include "softfloat/round.hpp"

namespace ulp {
namespace {

/// The task; keeps what its tensors looked like at the frames' steps.
TaskBuilder watched_task(const TaskBuilder& task, const WatchedNetOptions& options) {
    return watching<std::vector<NetFrame>>(task, [options](Task& watched, const auto& frames) {
        watched.watched = [options](std::int64_t step) {
            for (int f = 0; f < options.frames; ++f) {
                if (step == (options.steps - 1) * f / std::max(1, options.frames - 1)) return true;
            }
            return false;
        };
        watched.tap = [frames](std::int64_t step, const TapEvent& event) {
            if (frames->empty() || frames->back().step != step) frames->push_back({step, {}});
            frames->back().roles[static_cast<std::size_t>(event.role)].add(event.values);
        };
    });
}

/// Bytes of the generated text as tokens, and the next ones: (batch, length) in rows.
struct Sentences {
    std::vector<int> ids;
    std::vector<int> next;
};
constexpr Index text_batch = 12;
constexpr Index text_length = 20;

Sentences sentences(const std::string& text, std::uint64_t seed, std::int64_t step) {
    Random random(seed, hash_of("watched text") + static_cast<std::uint64_t>(step));
    Sentences result;
    for (Index i = 0; i < text_batch; ++i) {
        const std::size_t start = random.below(text.size() - static_cast<std::size_t>(text_length) - 1);
        for (std::size_t t = 0; t < static_cast<std::size_t>(text_length); ++t) {
            result.ids.push_back(text[start + t] & 0x7F);
            result.next.push_back(text[start + t + 1] & 0x7F);
        }
    }
    return result;
}

/// Tokens, (text_batch, text_length) in rows, to scores of the next ones.
using TextNet = std::function<Var(Tape&, const std::vector<int>& ids)>;

TaskBuilder text_task(const std::string& text, const std::function<TextNet(Model&)>& make) {
    return [=](Model& model, std::uint64_t seed) -> Task {
        return {.loss = [net = make(model), text, seed](Tape& tape, std::int64_t step) {
            const Sentences s = sentences(text, seed, step);
            return cross_entropy(reshape(net(tape, s.ids), {text_batch * text_length, 128}), s.next);
        }};
    };
}

TextNet recurrent(Model& model) {
    const Embedding embedding(model, "embedding", 128, 24);
    const Lstm lstm(model, "lstm", 24, 48);
    const Linear out(model, "out", 48, 128);
    return [=](Tape& tape, const std::vector<int>& ids) {
        const Var x = embedding(tape, ids, {text_batch, text_length});
        return out(permute(lstm(permute(x, {1, 0, 2})), {1, 0, 2}));
    };
}

TextNet transformer(Model& model) {
    const Embedding embedding(model, "embedding", 128, 32);
    const Embedding places(model, "places", text_length, 32);
    const TransformerBlock block1(model, "block1", 32, 2);
    const TransformerBlock block2(model, "block2", 32, 2);
    const Linear out(model, "out", 32, 128);
    return [=](Tape& tape, const std::vector<int>& ids) {
        std::vector<int> at;
        for (Index i = 0; i < text_batch * text_length; ++i) at.push_back(static_cast<int>(i % text_length));
        const Var word = embedding(tape, ids, {text_batch, text_length});
        const Var x = add(word, places(tape, at, {text_batch, text_length}));
        return out(block2(block1(x, true), true));
    };
}

}  // namespace

std::vector<WatchedNet> train_watched_nets(const RunContext& context, Result& result, const WatchedNetOptions& options,
                                           ProgressPart part) {
    const OptimizerOptions momentum{.learning_rate = 0.05, .momentum = 0.9};
    const OptimizerOptions adam{.kind = OptimizerKind::adam, .learning_rate = 3e-3};
    const DataSplit data{generated_digits({.count = 1600, .side = 14, .seed = context.seed}), {}};
    const std::string text = generated_text(20000, context.seed);
    std::vector<Training> arms;
    const auto add = [&](std::string_view name, const TaskBuilder& task, const OptimizerOptions& optimizer) {
        arms.push_back({.arithmetic = {std::string(name), recipe_by_name("fp32"), "soft:ieee"},
                        .task = watched_task(task, options),
                        .optimizer = optimizer,
                        .steps = options.steps});
    };
    add("cnn", images_task(digit_cnn(8, 16), data, 32), momentum);
    const NamedNet& normalised = net_by_name(options.normalised);
    add(normalised.name == "plain" ? "normalised_cnn" : normalised.name,
        images_task(normalised.layers(normalised.width), data, 32), momentum);
    add("lstm", text_task(text, recurrent), adam);
    add("transformer", text_task(text, transformer), adam);
    const Comparison runs = compare(context, result, arms, 1, part);
    std::vector<WatchedNet> nets;
    for (std::size_t i = 0; i < arms.size(); ++i) {
        nets.push_back({runs.arithmetics[i].name, runs.runs[i].front().kept<std::vector<NetFrame>>()});
    }
    return nets;
}

std::optional<int> median_exponent(const BinadeHistogram& histogram) {
    const std::int64_t half = (histogram.total() - histogram.zeros()) / 2;
    std::int64_t below = 0;
    for (const auto& [exponent, count] : histogram.bins()) {
        below += count;
        if (below > half) return exponent;
    }
    return histogram.largest_exponent();
}

BinadeHistogram published_replica(std::int64_t count, double scale, std::uint64_t seed) {
    // Exponents are normal with a deviation of 6 binades. 31 of 31 + 5.3 lie below fp16's threshold 2^-25: that is
    // 1.0545 deviations below the threshold's place, so the mean is 2^-31.3.
    constexpr double share_of_zeros = published_shares.zeros;
    constexpr double deviation = 6;
    constexpr double mean = -25 - 1.0545 * deviation;
    BinadeHistogram histogram;
    Random random(seed, "published histogram");
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) {
        const bool zero = random.uniform() < share_of_zeros;
        const double exponent = mean + deviation * random.normal();
        values.push_back(zero ? 0.0F : static_cast<float>(scale * quick_phase::exp2(exponent)));
    }
    histogram.add(values);
    return histogram;
}

namespace {

/// One forward and backward pass with these weights, the loss times `scale`; nothing is updated.
Histograms probe(const Engine& engine, const NetBuilder& build, const Model& weights, const Batch& batch,
                 double scale) {
    Histograms histograms(std::size(watched));
    Run run{.loss_scale = scale};
    run.observers.tap = [&](const TapEvent& event) {
        for (std::size_t i = 0; i < std::size(watched); ++i) {
            if (watched[i].role == event.role && watched[i].tensor == event.name) histograms[i].add(event.values);
        }
    };
    Model model(engine.recipe, 0);
    const ImageNet net = build(model);
    for (std::size_t i = 0; i < weights.parameters().size(); ++i) {
        model.parameters()[i].value = weights.parameters()[i].updated();
        model.parameters()[i].value.round_to_format(engine.recipe.weights);
    }
    Tape tape(engine, run);
    const Var loss = cross_entropy(net(images_on(tape, batch.images)), batch.labels);
    tape.backward(loss, static_cast<float>(scale));
    return histograms;
}

/// Probes before the step, at four places of the training.
void look(const ProbeOptions& options, const NetBuilder& build, const Model& weights, const Batch& batch,
          std::int64_t step, Probes& probes) {
    const std::int64_t last = options.steps - 1;
    if (step != 0 && step != options.steps / 8 && step != options.steps / 2 && step != last) return;
    const auto in_fp32 = [&](double scale) { return probe(Engine("fp32", "soft:ieee"), build, weights, batch, scale); };
    const auto as_trained = [&](double scale) {
        const Arithmetic& trained = options.trained;
        return probe(Engine(trained.recipe, make_backend(trained.backend)), build, weights, batch, scale);
    };
    probes.snapshots.push_back({step, in_fp32(1)});
    if (step != last) return;
    probes.fp32_scaled = in_fp32(options.scale);
    probes.low = as_trained(1);
    probes.low_scaled = as_trained(options.scale);
}

}  // namespace

TaskBuilder probed_task(const ProbeOptions& options, const DataSplit& data) {
    return [options, &data](Model& model, std::uint64_t seed) {
        const NetBuilder build = [options, &data](Model& m) {
            return Net(m, options.net, shape_of(data.train), data.train.classes);
        };
        Task task = images_task(build, data, options.batch)(model, seed);
        const auto probes = std::make_shared<Probes>();
        const auto order = batches(data.train.size(), options.batch, seed);
        task.loss = [=, &data, &model, loss = task.loss](Tape& tape, std::int64_t step) {
            look(options, build, model, batch_of(data.train, order(step)), step, *probes);
            return loss(tape, step);
        };
        keep(task, probes);
        return task;
    };
}

TaskBuilder watching_gradient_ranges(const TaskBuilder& task) {
    return watching<GradientRanges>(task, [](Task& observed, const auto& found) {
        observed.tap = [found](std::int64_t, const TapEvent& event) {
            if (!is_gradient(event.role) || event.values.size() == 1) return;
            found->histogram.add(event.values);
            found->by_tensor[fmt::format("{} {}", name_of(event.role), event.name)].add(event.values);
            for (const float g : event.values) {
                if (std::isfinite(g)) {
                    found->largest = std::max(found->largest, std::fabs(g) / static_cast<float>(event.loss_scale));
                }
            }
        };
        observed.before_update = [found](Optimizer& optimizer) {
            const bool finite = std::ranges::all_of(optimizer.gradients(), [](const Tensor& t) {
                return std::ranges::all_of(t.values(), [](float g) { return std::isfinite(g); });
            });
            found->infinite += finite ? 0 : 1;
        };
    });
}

BinadeHistogram gradients_of(const std::vector<Learned>& runs) {
    return pooled(runs, [](const Learned& run) { return run.kept<GradientRanges>().histogram; });
}

ScalePrediction::ScalePrediction(const std::vector<Learned>& runs) : gradients(gradients_of(runs)) {
    for (const Learned& run : runs) {
        const auto& found = run.kept<GradientRanges>();
        largest = std::max(largest, found.largest);
        for (const auto& [name, histogram] : found.by_tensor) tensors.push_back(&histogram);
    }
}

int ScalePrediction::first_exponent() const {
    int n = 0;
    while (n < 60 && std::ranges::any_of(tensors, [n](const auto* t) { return t->lost_share(n) > 0.5; })) ++n;
    return n;
}

int ScalePrediction::last_exponent() const {
    const auto finite = [&](int n) {
        return std::isfinite(round_to(formats::fp16, largest * static_cast<float>(std::ldexp(1.0, n))));
    };
    int n = 0;
    while (n < 60 && finite(n + 1)) ++n;
    return n;
}

}  // namespace ulp
