#include "engine/nets/byte_planner.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace ulp {

Gpt2Plan gpt2_plan() {
    constexpr std::int64_t vocabulary = 50257;
    constexpr std::int64_t places = 1024;
    constexpr std::int64_t width = 768;
    constexpr std::int64_t blocks = 12;
    constexpr std::int64_t norm = 2 * width;  // scale and shift
    // Queries, keys and values together; the attention's output; up to four times the width and back.
    constexpr std::int64_t matrices = width * 3 * width + width * width + width * 4 * width + 4 * width * width;
    constexpr std::int64_t biases = 3 * width + width + 4 * width + width;
    // The last projection shares the embedding's table.
    constexpr std::int64_t embeddings = vocabulary * width + places * width;
    return {.parameters = embeddings + blocks * (matrices + biases + 2 * norm) + norm,
            .block_matrices = blocks * matrices,
            .mask_bytes = blocks * places * places,
            .scalars = blocks};
}

std::int64_t gpt2_bytes(const Gpt2Plan& plan, std::int64_t bytes_of_a_number, std::int64_t bytes_of_a_matrix_entry) {
    return (plan.parameters - plan.block_matrices + plan.scalars) * bytes_of_a_number +
           plan.block_matrices * bytes_of_a_matrix_entry + plan.mask_bytes;
}

double NetAccount::gain() const {
    return gain_of_mixed_precision(static_cast<double>(activations) / static_cast<double>(parameters));
}

NetAccount bert_base_account(std::int64_t length) {
    constexpr std::int64_t width = 768;
    constexpr std::int64_t wide = 3072;
    constexpr std::int64_t words = 30522;
    constexpr std::int64_t heads = 12;
    constexpr auto linear = [](std::int64_t in, std::int64_t out) { return in * out + out; };
    constexpr std::int64_t norm = 2 * width;
    const std::int64_t block = 4 * linear(width, width) + linear(width, wide) + linear(wide, width) + 2 * norm;
    const std::int64_t masked_words = linear(width, width) + norm + words;
    // Queries, keys, values, mix, projection, two sums, two norms, narrow: 10 of the width; wide and gelu; scores and
    // probabilities of each head.
    const std::int64_t in_a_block = length * (10 * width + 2 * wide) + 2 * heads * length * length;
    return {(words + 512 + 2) * width + norm + 12 * block + linear(width, width) + masked_words + linear(width, 2),
            12 * in_a_block + 2 * length * width};
}

UnetPlan unet_plan() {
    UnetPlan plan;
    std::int64_t channels = 1;
    const auto learn = [&](std::int64_t parameters) {
        plan.account.parameters += parameters;
        ++plan.layers;
    };
    const auto keep = [&](std::int64_t planes) { plan.account.activations += planes * plan.side * plan.side; };
    const auto convolve_twice = [&](std::int64_t width) {
        for (int i = 0; i < 2; ++i) {
            learn(9 * channels * width + width);
            channels = width;
            plan.side -= 2;
            keep(2 * channels);  // before and behind relu
        }
    };
    for (std::int64_t width = 64; width <= 1024; width *= 2) {
        if (width > 64) {  // the pool
            plan.side /= 2;
            keep(channels);
        }
        convolve_twice(width);
    }
    plan.smallest = plan.side;
    for (std::int64_t width = 512; width >= 64; width /= 2) {
        learn(4 * channels * width + width);
        plan.side *= 2;
        keep(width);           // the 2 x 2 convolution upwards
        channels = 2 * width;  // beside what was cropped on the way down
        keep(channels);
        convolve_twice(width);
    }
    learn(channels * 2 + 2);
    keep(2);
    return plan;
}

namespace {

/// Numbers of one image before and behind a layer.
struct Stage {
    LayerKind kind;
    std::int64_t in;
    std::int64_t out;
    bool flattens;  // the layer sees a reshaped copy of `in`
};
std::vector<Stage> stages_of(const NetPlan& plan) {
    std::vector<Stage> stages;
    Shape shape = plan.image;
    for (const Layer& layer : plan.net) {
        const bool linear = layer.kind == LayerKind::linear;
        if (!linear && layer.kind != LayerKind::conv && layer.kind != LayerKind::relu &&
            layer.kind != LayerKind::pool) {
            throw std::invalid_argument("bytes are planned for convolutions, relus, pools and linear layers only");
        }
        const Shape behind = shape_behind(layer, shape, plan.classes);
        stages.push_back({layer.kind, volume(shape), volume(behind), linear && shape.size() == 3});
        shape = behind;
    }
    return stages;
}

/// What is alive in a moment: numbers, and indices of pools.
struct Alive {
    std::int64_t numbers = 0;
    std::int64_t indices = 0;
};

/// What autograd keeps of the stages up to `count`: the input of each convolution and linear layer, each relu's output
/// (the next layer's input is the same tensor), and each pool's indices.
Alive kept_by(const std::vector<Stage>& stages, std::size_t count) {
    Alive kept;
    for (std::size_t i = 0; i < count; ++i) {
        const bool after_relu = i > 0 && stages[i - 1].kind == LayerKind::relu;
        const LayerKind kind = stages[i].kind;
        if (kind == LayerKind::relu) kept.numbers += stages[i].out;
        if ((kind == LayerKind::conv || kind == LayerKind::linear) && !after_relu) kept.numbers += stages[i].in;
        if (kind == LayerKind::pool) kept.indices += stages[i].out;
    }
    return kept;
}

/// A layer's input that nothing keeps lives as long as the layer computes.
std::int64_t input_beside(const std::vector<Stage>& stages, std::size_t i) {
    const LayerKind kind = stages[i].kind;
    const bool keeps_own = kind == LayerKind::conv || kind == LayerKind::linear;
    const bool kept = keeps_own || i == 0 || stages[i - 1].kind == LayerKind::relu;
    return kept ? 0 : stages[i].in;
}

}  // namespace

std::int64_t NetPlan::training_bytes(std::int64_t batch, std::int64_t low) const {
    constexpr std::int64_t index = 8;     // bytes
    constexpr std::int64_t adam = 4 * 4;  // weight, gradient and two moments in fp32
    const std::int64_t copies = low < 4 ? low : 0;
    const std::vector<Stage> stages = stages_of(*this);
    std::int64_t peak = 0;
    const auto moment = [&](const Alive& kept, std::int64_t others) {
        peak = std::max(peak, (kept.numbers + others) * low + kept.indices * index);
    };
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const bool keeps_out = stages[i].kind == LayerKind::relu;
        moment(kept_by(stages, i + 1), input_beside(stages, i) + (keeps_out ? 0 : stages[i].out));  // forward
        // Backward: the gradient of the result lives until the operand's is made of it; the image has none.
        moment(kept_by(stages, i + 1), stages[i].out + (i > 0 ? stages[i].in : 0));
    }
    return parameters() * (adam + copies) + batch * peak;
}

std::int64_t NetPlan::largest_batch(std::int64_t bytes, std::int64_t low) const {
    const std::int64_t fixed = training_bytes(0, low);
    return std::max<std::int64_t>(0, (bytes - fixed) / (training_bytes(1, low) - fixed));
}

std::int64_t NetPlan::tape_bytes(std::int64_t batch, std::int64_t low) const {
    const bool mixed = low < 4;
    std::int64_t numbers = volume(image);
    for (const Stage& stage : stages_of(*this)) numbers += stage.out + (stage.flattens ? stage.in : 0);
    // In fp32 always: the loss, and in the mixed recipe the logits' cast and the scaled loss.
    const std::int64_t wide = 1 + (mixed ? batch * classes + 1 : 0);
    // Weight and gradient in the low format, Adam's two moments in fp32, and masters where the weights are low.
    return parameters() * (2 * low + 8 + (mixed ? 4 : 0)) + batch * numbers * low + wide * 4;
}

}  // namespace ulp
