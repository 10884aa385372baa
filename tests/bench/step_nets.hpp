// The nets whose steps are measured:
//
//     cnn     28 x 28 images, 3x3 convolution to 8 channels, relu, pool, 3x3 to 16, relu, pool, linear to 10; batch 64
//     lstm    32 steps of 64 inputs, LSTM of 128, linear to 64 at each step; batch 32
//     transformer  a language model: 16 texts of 256 tokens of 512, width 256, 4 layers of 4 heads; 3.5 million
//                  parameters
#pragma once

#include <string>
#include <vector>

#include "engine/layers/attention.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/trainer.hpp"

namespace ulp::bench {

inline Tensor normal_tensor(Shape shape, std::uint64_t seed) {
    Tensor tensor(std::move(shape));
    Random random(seed);
    for (float& x : tensor.values()) x = static_cast<float>(random.normal());
    return tensor;
}

inline std::vector<int> labels(Index count, int classes) {
    std::vector<int> result;
    Random random(3);
    for (Index i = 0; i < count; ++i)
        result.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(classes))));
    return result;
}

/// A net with its batch: what one step does, after the construction.
struct Cnn {
    Conv2d conv1, conv2;
    Linear dense;
    Tensor batch;
    std::vector<int> targets;

    explicit Cnn(Model& model, Index images = 64)
        : conv1(model, "conv1", 1, 8, 3, {.padding = 1}),
          conv2(model, "conv2", 8, 16, 3, {.padding = 1}),
          dense(model, "dense", 16 * 7 * 7, 10),
          batch(normal_tensor({images, 1, 28, 28}, 2)),
          targets(labels(images, 10)) {}

    Var loss(Tape& tape) const {
        const Var one = max_pool2d(relu(conv1(tape.input(batch))), 2);
        const Var two = max_pool2d(relu(conv2(one)), 2);
        return cross_entropy(dense(reshape(two, {batch.dim(0), 16 * 7 * 7})), targets);
    }
};

struct LstmNet {
    Lstm lstm;
    Linear out;
    Tensor batch;
    std::vector<int> targets;

    explicit LstmNet(Model& model, Index sequences = 32)
        : lstm(model, "lstm", 64, 128),
          out(model, "out", 128, 64),
          batch(normal_tensor({32, sequences, 64}, 2)),
          targets(labels(32 * sequences, 64)) {}

    Var loss(Tape& tape) const {
        const Var logits = out(lstm(tape.input(batch)));
        return cross_entropy(reshape(logits, {logits.value().size() / 64, 64}), targets);
    }
};

/// Layers that normalise first, as GPT-2's: x + attention(norm(x)), then x + mlp(norm(x)).
struct Transformer {
    static constexpr Index texts = 16, length = 256, vocabulary = 512, width = 256, depth = 4, heads = 4;

    struct Layer {
        LayerNorm norm1, norm2;
        MultiHeadAttention attention;
        Linear up, down;

        Layer(Model& model, const std::string& name)
            : norm1(model, name + ".norm1", width),
              norm2(model, name + ".norm2", width),
              attention(model, name + ".attention", width, heads),
              up(model, name + ".up", width, 4 * width),
              down(model, name + ".down", 4 * width, width) {}

        Var operator()(Var x) const {
            x = residual(x, [&](Var v) { return attention(norm1(v), true); });
            return residual(x, [&](Var v) { return down(gelu(up(norm2(v)))); });
        }
    };
    Embedding tokens, places;
    std::vector<Layer> layers;
    LayerNorm norm;
    Linear out;
    std::vector<int> batch, order, targets;

    explicit Transformer(Model& model)
        : tokens(model, "tokens", vocabulary, width),
          places(model, "places", length, width),
          norm(model, "norm", width),
          out(model, "out", width, vocabulary),
          batch(labels(texts * length, vocabulary)),
          targets(labels(texts * length, vocabulary)) {
        for (Index i = 0; i < depth; ++i) layers.emplace_back(model, "layer" + std::to_string(i));
        for (int i = 0; i < length; ++i) order.push_back(i);
    }

    Var loss(Tape& tape) const {
        const Var there = places(tape, order, {length});
        Var x = add(tokens(tape, batch, {texts, length}), there);
        for (const Layer& layer : layers) x = layer(x);
        return cross_entropy(reshape(out(norm(x)), {texts * length, vocabulary}), targets);
    }
};

}  // namespace ulp::bench
