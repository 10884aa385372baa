#include "engine/nets/blocks.hpp"

#include <cmath>

#include "engine/training/images.hpp"

namespace ulp {

Var centred_on(Tape& tape, const Dataset& data, const std::vector<Index>& which, float range) {
    const Matrix centred = ((batch_of(data, which).images.array() - 0.5F) * (2 * range)).matrix();
    return reshape(images_on(tape, centred), {centred.rows(), data.channels, data.height, data.width});
}

DoubleConv::DoubleConv(Model& model, const std::string& name, Index in, Index out, bool normalised)
    : first(model, name + ".first", in, out, 3, {.padding = 1}),
      second(model, name + ".second", out, out, 3, {.padding = 1}) {
    if (!normalised) return;
    const BatchNormOptions quick{.momentum = 0.3};  // runs are short: the running statistics must follow
    norms.emplace_back(model, name + ".norm1", out, quick);
    norms.emplace_back(model, name + ".norm2", out, quick);
}

Var DoubleConv::operator()(Var x) const {
    const auto normalised = [&](Var y, std::size_t which) { return norms.empty() ? y : norms[which](y); };
    x = relu(normalised(first(x), 0));
    return relu(normalised(second(x), 1));
}

UNet::UNet(Model& model, Index in, Index width, Index out, bool normalised)
    : down1(model, "down1", in, width, normalised),
      down2(model, "down2", width, 2 * width, normalised),
      bottom(model, "bottom", 2 * width, 4 * width, normalised),
      up2(model, "up2", 4 * width, 2 * width, normalised),
      up1(model, "up1", 2 * width, width, normalised),
      rise2(model, "rise2", 4 * width, 2 * width, 2, {.stride = 2}),
      rise1(model, "rise1", 2 * width, width, 2, {.stride = 2}),
      head(model, "head", width, out, 1) {}

Var UNet::operator()(Var x) const {
    const Var level1 = down1(x);
    const Var level2 = down2(max_pool2d(level1, 2));
    const Var deep = bottom(max_pool2d(level2, 2));
    const Var back2 = up2(concat<float>({level2, rise2(deep)}, 1));
    const Var back1 = up1(concat<float>({level1, rise1(back2)}, 1));
    return head(back1);
}

TransformerBlock::TransformerBlock(Model& model, const std::string& name, Index width, Index heads,
                                   AttentionOptions options)
    : attention(model, name + ".attention", width, heads, options),
      norm1(model, name + ".norm1", width),
      wide(model, name + ".wide", width, 2 * width),
      narrow(model, name + ".narrow", 2 * width, width),
      norm2(model, name + ".norm2", width) {}

Var TransformerBlock::operator()(Var x, bool causal, const std::optional<Var>& penalty) const {
    x = norm1(add(x, attention(x, causal, penalty)));
    return norm2(add(x, narrow(relu(wide(x)))));
}

std::vector<int> place_numbers(Index rows, Index length) {
    std::vector<int> numbers;
    for (Index i = 0; i < rows * length; ++i) numbers.push_back(static_cast<int>(i % length));
    return numbers;
}

Var first_place_of(Var x) { return reshape(slice(x, 1, 0, 1), {x.dim(0), x.dim(2)}); }

CrossAttention::CrossAttention(Model& model, const std::string& name, Index width)
    : query(model, name + ".query", width, width),
      key(model, name + ".key", width, width),
      value(model, name + ".value", width, width),
      out(model, name + ".out", width, width) {}

Var CrossAttention::operator()(Var x, Var memory, Var penalty) const {
    const Var q = scaled(query(x), 1 / std::sqrt(static_cast<double>(x.dim(2))));
    const Var k = key(memory);
    const Var v = value(memory);
    const Var scores = add(matmul(q, k, true), penalty);
    return out(matmul(softmax(scores), v));
}

}  // namespace ulp
