#include "experiments/training/small_nets.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "engine/layers/attention.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {

NetBuilder dense_net(std::vector<Index> widths) {
    return [widths = std::move(widths)](Model& model) -> ImageNet { return Mlp(model, widths); };
}

NetBuilder sign_net() {
    return [](Model& model) -> ImageNet {
        const Linear hidden(model, "fc1", 196, 32);
        const Linear out(model, "fc2", 32, 10);
        const auto start = [](Parameter& parameter, const auto& value) {
            for (Tensor* tensor : {&parameter.value, &parameter.master}) {
                std::vector<float> drawn(tensor->values().begin(), tensor->values().end());
                for (std::size_t i = 0; i < drawn.size(); ++i) (*tensor)[static_cast<Index>(i)] = value(drawn, i);
            }
        };
        const auto sign = [](float w) { return w < 0 ? -1.0F : 1.0F; };
        // Unit 16 + i starts as unit i with the opposite outputs.
        start(*hidden.weight, [&](const auto& w, std::size_t i) { return sign(w[i % (16 * 196)]); });
        start(*out.weight, [&](const auto& w, std::size_t i) { return i % 32 < 16 ? sign(w[i]) : -sign(w[i - 16]); });
        start(*hidden.bias, [](const auto&, std::size_t) { return 0.0F; });
        start(*out.bias, [](const auto&, std::size_t) { return 0.0F; });
        return [=](Var x) { return scaled(out(relu(scaled(hidden(x), 0.5))), 4); };
    };
}

NetBuilder unbalanced_net(int exponent) {
    return [exponent](Model& model) -> ImageNet {
        const Linear hidden(model, "fc1", 196, 32);
        const Linear out(model, "fc2", 32, 10);
        const double large = std::ldexp(1.0, exponent);
        return [=](Var x) { return scaled(out(scaled(relu(hidden(x)), large)), 1 / large); };
    };
}

NetBuilder image_transformer(double pixel_scale) {
    return [pixel_scale](Model& model) -> ImageNet {
        const LayerNorm norm(model, "norm", 28);
        const Linear embed(model, "embed", 28, 16);
        const MultiHeadAttention attention(model, "attention", 16, 2);
        const Linear wide(model, "wide", 16, 32);
        const Linear narrow(model, "narrow", 32, 16);
        const Linear out(model, "out", 7 * 16, 10);
        return [=](Var x) {
            const Var tokens = reshape(scaled(x, pixel_scale), {x.dim(0), 7, 28});
            Var h = embed(norm(tokens));
            h = residual(h, [&](Var y) { return attention(y, false); });
            h = residual(h, [&](Var y) { return narrow(gelu(wide(y))); });
            return out(reshape(scaled(h, 0.125), {x.dim(0), 7 * 16}));
        };
    };
}

TaskBuilder images_task(const NetBuilder& net, const DataSplit& data, Index batch, double loss_weight) {
    return [net, &data, batch, loss_weight](Model& model, std::uint64_t seed) -> Task {
        const ImageNet f = net(model);
        const auto order = std::make_shared<BatchSchedule>(data.train.size(), batch, seed);
        const auto loss = [=, &data](Tape& tape, std::int64_t step) {
            const Batch b = batch_of(data.train, order->at(step));
            const Var mean = cross_entropy(f(images_on(tape, b.images)), b.labels);
            return loss_weight == 1 ? mean : scaled(mean, loss_weight);
        };
        return {loss, [=, &data](const Engine& engine) { return accuracy(engine, f, data.test); }};
    };
}

namespace {

struct Reverser {
    ReversalOptions options;
    Embedding words;
    Embedding places;
    MultiHeadAttention attention;
    LayerNorm norm;
    Linear hidden;
    Linear out;

    Reverser(Model& model, const ReversalOptions& how)
        : options(how),
          words(model, "words", how.words, how.width),
          places(model, "places", how.length, how.width),
          attention(model, "attention", how.width, 2),
          norm(model, "norm", how.width),
          hidden(model, "hidden", how.width, how.width),
          out(model, "out", how.width, how.words) {}

    /// Logits (batch * length, words).
    Var operator()(Tape& tape, const std::vector<int>& ids) const {
        const Index rows = static_cast<Index>(ids.size());
        std::vector<int> order(static_cast<std::size_t>(options.length));
        std::iota(order.begin(), order.end(), 0);
        const Var word = words(tape, ids, {rows / options.length, options.length});
        const Var place = places(tape, order, {options.length});
        const Var x = residual(add(word, place), [&](Var y) { return attention(y, false); });
        return out(relu(hidden(reshape(norm(x), {rows, options.width}))));
    }

    /// The sequences of a step, one after the other.
    [[nodiscard]] std::vector<int> draw(std::uint64_t seed, std::string_view stream, std::int64_t step) const {
        const auto count = static_cast<std::size_t>(options.batch * options.length);
        Random random(seed, hash_of(stream) + static_cast<std::uint64_t>(step));
        std::vector<int> ids(count);
        for (int& id : ids) id = static_cast<int>(random.below(static_cast<std::uint64_t>(options.words)));
        return ids;
    }
    [[nodiscard]] std::vector<int> reversed(std::vector<int> ids) const {
        for (auto at = ids.begin(); at != ids.end(); at += options.length) std::reverse(at, at + options.length);
        return ids;
    }
};

/// The share of words that the largest logit (the first of equals) names, over 16 batches.
double accuracy_of(const Engine& engine, const Reverser& net, std::uint64_t seed) {
    Engine quiet = engine;
    quiet.tap = {};
    Index right = 0;
    Index count = 0;
    for (std::int64_t batch = 0; batch < 16; ++batch) {
        const std::vector<int> ids = net.draw(seed, "unseen sequences", batch);
        const std::vector<int> labels = net.reversed(ids);
        Tape tape(quiet);
        const Tensor& logits = net(tape, ids).value();
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const float* row = logits.data() + static_cast<Index>(i) * net.options.words;
            right += std::max_element(row, row + net.options.words) - row == labels[i] ? 1 : 0;
            ++count;
        }
    }
    return static_cast<double>(right) / static_cast<double>(count);
}

}  // namespace

TaskBuilder reversal_task(const ReversalOptions& options) {
    return [options](Model& model, std::uint64_t seed) -> Task {
        const Reverser net(model, options);
        const auto loss = [net, seed](Tape& tape, std::int64_t step) {
            const std::vector<int> ids = net.draw(seed, "sequences", step);
            return cross_entropy(net(tape, ids), net.reversed(ids));
        };
        return {loss, [net, seed](const Engine& engine) { return accuracy_of(engine, net, seed); }};
    };
}

}  // namespace ulp
