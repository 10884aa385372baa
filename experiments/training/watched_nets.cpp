#include "experiments/training/watched_nets.hpp"

#include <cmath>

#include "engine/data/digits.hpp"
#include "engine/data/topic_text.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/framework/side_by_side.hpp"
#include "experiments/training/nets.hpp"
#include "softfloat/functions/quick_exp_log.hpp"

namespace ulp {
namespace {

using Forward = std::function<Var(Tape&, std::int64_t step)>;
/// Asks the model for its parameters and gives the loss of a step's batch.
using MakeForward = std::function<Forward(Model&)>;

WatchedNet train_watched(const std::string& name, const MakeForward& make, OptimizerOptions optimizer,
                         const WatchedNetOptions& options) {
    Trainer trainer(Engine("fp32", "soft:ieee"), options.seed);
    trainer.keep_trace = false;
    const Forward forward = make(trainer.model());
    trainer.optimize(optimizer);
    WatchedNet net{name, {}};
    const auto is_frame = [&](std::int64_t step) {
        for (int f = 0; f < options.frames; ++f) {
            if (step == (options.steps - 1) * f / std::max(1, options.frames - 1)) return true;
        }
        return false;
    };
    trainer.watch(is_frame, [&](const TapEvent& event) {
        if (net.frames.empty() || net.frames.back().step != trainer.steps())
            net.frames.push_back({trainer.steps(), {}});
        net.frames.back().roles[static_cast<std::size_t>(event.role)].add(event.values);
    });
    for (std::int64_t step = 0; step < options.steps; ++step) {
        trainer.step([&](Tape& tape) { return forward(tape, step); });
    }
    return net;
}

MakeForward digits(bool normalised, std::uint64_t seed) {
    return [normalised, seed](Model& model) -> Forward {
        const auto data = std::make_shared<Dataset>(generated_digits({.count = 1600, .side = 14, .seed = seed}));
        const auto batches = std::make_shared<BatchSchedule>(data->size(), 32, seed);
        const ImageShape shape = shape_of(*data);
        const ImageNet net = normalised ? make_classifier("plain", model, shape, 8)
                                        : ImageNet([cnn = DigitCnn(model, shape, 8, 16)](Var x) { return cnn(x); });
        return [=](Tape& tape, std::int64_t step) {
            const Batch batch = batch_of(*data, batches->at(step));
            return cross_entropy(net(images_on(tape, batch.images)), batch.labels);
        };
    };
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

MakeForward recurrent(std::uint64_t seed) {
    return [seed](Model& model) -> Forward {
        const std::string text = generated_text(20000, seed);
        const Embedding embedding(model, "embedding", 128, 24);
        const Lstm lstm(model, "lstm", 24, 48);
        const Linear out(model, "out", 48, 128);
        return [=](Tape& tape, std::int64_t step) {
            const Sentences s = sentences(text, seed, step);
            const Var x = embedding(tape, s.ids, {text_batch, text_length});
            const Var y = out(permute(lstm(permute(x, {1, 0, 2})), {1, 0, 2}));
            return cross_entropy(reshape(y, {text_batch * text_length, 128}), s.next);
        };
    };
}

MakeForward transformer(std::uint64_t seed) {
    return [seed](Model& model) -> Forward {
        const std::string text = generated_text(20000, seed);
        const Embedding embedding(model, "embedding", 128, 32);
        const Embedding places(model, "places", text_length, 32);
        const TransformerBlock block1(model, "block1", 32, 2);
        const TransformerBlock block2(model, "block2", 32, 2);
        const Linear out(model, "out", 32, 128);
        return [=](Tape& tape, std::int64_t step) {
            const Sentences s = sentences(text, seed, step);
            std::vector<int> at;
            for (Index i = 0; i < text_batch * text_length; ++i) at.push_back(static_cast<int>(i % text_length));
            const Var word = embedding(tape, s.ids, {text_batch, text_length});
            const Var x = add(word, places(tape, at, {text_batch, text_length}));
            const Var y = out(block2(block1(x, true), true));
            return cross_entropy(reshape(y, {text_batch * text_length, 128}), s.next);
        };
    };
}

}  // namespace

std::vector<WatchedNet> train_watched_nets(const WatchedNetOptions& options,
                                           const std::function<void(double)>& progress) {
    const OptimizerOptions momentum{.learning_rate = 0.05, .momentum = 0.9};
    const OptimizerOptions adam{.kind = OptimizerKind::adam, .learning_rate = 3e-3};
    struct Row {
        const char* name;
        MakeForward make;
        OptimizerOptions optimizer;
    };
    const Row rows[] = {{"cnn", digits(false, options.seed), momentum},
                        {"normalised_cnn", digits(true, options.seed), momentum},
                        {"lstm", recurrent(options.seed), adam},
                        {"transformer", transformer(options.seed), adam}};
    std::vector<WatchedNet> nets(std::size(rows));
    run_side_by_side(
        nets.size(), true,
        [&](std::size_t i) { nets[i] = train_watched(rows[i].name, rows[i].make, rows[i].optimizer, options); },
        progress);
    return nets;
}

int median_exponent(const BinadeHistogram& histogram) {
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
    constexpr double share_of_zeros = 0.668;
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

}  // namespace ulp
