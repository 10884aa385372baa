// Layers: parameters of a model and the operations on them. Each starts as PyTorch's layer of the same name does, up to
// the generator. Parameters are named after the layer: "fc1.weight".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/tape/ops.hpp"
#include "engine/tape/parameter.hpp"

namespace ulp {

/// A parameter on the tape of x.
template <class Real>
BasicVar<Real> on_tape(BasicVar<Real> x, BasicParameter<Real>* parameter) {
    return x.tape->parameter(*parameter);
}

/// y = x W^T + b. Starts uniform within 1/sqrt(in).
template <class Real>
struct BasicLinear {
    std::string name;
    BasicParameter<Real>* weight;  // (out, in)
    BasicParameter<Real>* bias;    // (out)

    BasicLinear(BasicModel<Real>& model, std::string layer_name, Index in, Index out)
        : name(std::move(layer_name)),
          weight(&model.add(name + ".weight", {out, in}, Init::fan_in(in), ParameterKind::linear_weight)),
          bias(&model.add(name + ".bias", {out}, Init::fan_in(in))) {}

    BasicVar<Real> operator()(BasicVar<Real> x) const {
        const typename BasicTape<Real>::Scope scope(*x.tape, name);
        const BasicVar<Real> w = on_tape(x, weight);  // in this order: compilers differ in that of arguments
        const BasicVar<Real> b = on_tape(x, bias);
        return linear(x, w, b);
    }
};
using Linear = BasicLinear<float>;

/// Linear layers with relu between them: widths {784, 128, 10} are two layers, "fc1" and "fc2".
template <class Real>
struct BasicMlp {
    std::vector<BasicLinear<Real>> layers;

    BasicMlp(BasicModel<Real>& model, const std::vector<Index>& widths) {
        for (std::size_t i = 1; i < widths.size(); ++i) {
            layers.emplace_back(model, "fc" + std::to_string(i), widths[i - 1], widths[i]);
        }
    }

    BasicVar<Real> operator()(BasicVar<Real> x) const {
        for (std::size_t i = 0; i < layers.size(); ++i) {
            if (i > 0) x = relu(x);
            x = layers[i](x);
        }
        return x;
    }
};
using Mlp = BasicMlp<float>;

/// conv2d with weights of its own. x (images, in, h, w).
template <class Real>
struct BasicConv2d {
    std::string name;
    ConvOptions options;
    BasicParameter<Real>* weight;  // (out, in / groups, kernel, kernel)
    BasicParameter<Real>* bias;    // (out)

    BasicConv2d(BasicModel<Real>& model, std::string layer_name, Index in, Index out, Index kernel,
                ConvOptions how = {})
        : name(std::move(layer_name)),
          options(how),
          weight(&model.add(name + ".weight", {out, in / how.groups, kernel, kernel},
                            Init::fan_in(in / how.groups * kernel * kernel))),
          bias(&model.add(name + ".bias", {out}, Init::fan_in(in / how.groups * kernel * kernel))) {}

    BasicVar<Real> operator()(BasicVar<Real> x) const {
        const typename BasicTape<Real>::Scope scope(*x.tape, name);
        const BasicVar<Real> w = on_tape(x, weight);
        const BasicVar<Real> b = on_tape(x, bias);
        return conv2d(x, w, b, options);
    }
};
using Conv2d = BasicConv2d<float>;

/// conv1d with weights of its own. x (images, in, length).
template <class Real>
struct BasicConv1d {
    std::string name;
    ConvOptions options;
    BasicParameter<Real>* weight;  // (out, in / groups, kernel)
    BasicParameter<Real>* bias;    // (out)

    BasicConv1d(BasicModel<Real>& model, std::string layer_name, Index in, Index out, Index kernel,
                ConvOptions how = {})
        : name(std::move(layer_name)),
          options(how),
          weight(&model.add(name + ".weight", {out, in / how.groups, kernel}, Init::fan_in(in / how.groups * kernel))),
          bias(&model.add(name + ".bias", {out}, Init::fan_in(in / how.groups * kernel))) {}

    BasicVar<Real> operator()(BasicVar<Real> x) const {
        const typename BasicTape<Real>::Scope scope(*x.tape, name);
        const BasicVar<Real> w = on_tape(x, weight);
        const BasicVar<Real> b = on_tape(x, bias);
        return conv1d(x, w, b, options);
    }
};
using Conv1d = BasicConv1d<float>;

/// conv_transpose2d with weights of its own. x (images, in, h, w).
template <class Real>
struct BasicConvTranspose2d {
    std::string name;
    ConvOptions options;
    BasicParameter<Real>* weight;  // (in, out / groups, kernel, kernel)
    BasicParameter<Real>* bias;    // (out)

    BasicConvTranspose2d(BasicModel<Real>& model, std::string layer_name, Index in, Index out, Index kernel,
                         ConvOptions how = {})
        : name(std::move(layer_name)),
          options(how),
          weight(&model.add(name + ".weight", {in, out / how.groups, kernel, kernel},
                            Init::fan_in(out / how.groups * kernel * kernel))),
          bias(&model.add(name + ".bias", {out}, Init::fan_in(out / how.groups * kernel * kernel))) {}

    BasicVar<Real> operator()(BasicVar<Real> x) const {
        const typename BasicTape<Real>::Scope scope(*x.tape, name);
        const BasicVar<Real> w = on_tape(x, weight);
        const BasicVar<Real> b = on_tape(x, bias);
        return conv_transpose2d(x, w, b, options);
    }
};
using ConvTranspose2d = BasicConvTranspose2d<float>;

/// Scale and shift of a normalisation; they start as 1 and 0.
template <class Real>
struct Affine {
    BasicParameter<Real>* weight;
    BasicParameter<Real>* bias;

    Affine(BasicModel<Real>& model, const std::string& name, Index width, ParameterKind kind)
        : weight(&model.add(name + ".weight", {width}, Init::constant(1), kind)),
          bias(&model.add(name + ".bias", {width}, Init::constant(0), kind)) {}
};

/// layer_norm over the last dimension, of extent `width`.
template <class Real>
struct BasicLayerNorm {
    std::string name;
    Affine<Real> affine;
    double eps;

    BasicLayerNorm(BasicModel<Real>& model, std::string layer_name, Index width, double epsilon = 1e-5)
        : name(std::move(layer_name)), affine(model, name, width, ParameterKind::ordinary), eps(epsilon) {}

    BasicVar<Real> operator()(BasicVar<Real> x) const {
        const typename BasicTape<Real>::Scope scope(*x.tape, name);
        const BasicVar<Real> w = on_tape(x, affine.weight);
        const BasicVar<Real> b = on_tape(x, affine.bias);
        return layer_norm(x, w, b, eps);
    }
};
using LayerNorm = BasicLayerNorm<float>;

/// group_norm over `group_count` sets of channels. x (images, channels, ...).
template <class Real>
struct BasicGroupNorm {
    std::string name;
    Affine<Real> affine;
    Index groups;
    double eps;

    BasicGroupNorm(BasicModel<Real>& model, std::string layer_name, Index group_count, Index channels,
                   double epsilon = 1e-5)
        : name(std::move(layer_name)),
          affine(model, name, channels, ParameterKind::ordinary),
          groups(group_count),
          eps(epsilon) {}

    BasicVar<Real> operator()(BasicVar<Real> x) const {
        const typename BasicTape<Real>::Scope scope(*x.tape, name);
        const BasicVar<Real> w = on_tape(x, affine.weight);
        const BasicVar<Real> b = on_tape(x, affine.bias);
        return group_norm(x, w, b, groups, eps);
    }
};
using GroupNorm = BasicGroupNorm<float>;

/// batch_norm over images and pixels. x (images, channels, ...). Its running statistics belong to the model too
/// ("bn.running_mean"), so that checkpoints hold them.
template <class Real>
struct BasicBatchNorm {
    std::string name;
    Affine<Real> affine;
    BasicBatchStatistics<Real>* running;
    BatchNormOptions options;

    BasicBatchNorm(BasicModel<Real>& model, std::string layer_name, Index channels, BatchNormOptions how = {})
        : name(std::move(layer_name)),
          affine(model, name, channels, ParameterKind::batch_norm),
          running(&model.add_statistics(name, channels)),
          options(how) {}

    BasicVar<Real> operator()(BasicVar<Real> x) const {
        const typename BasicTape<Real>::Scope scope(*x.tape, name);
        const BasicVar<Real> w = on_tape(x, affine.weight);
        const BasicVar<Real> b = on_tape(x, affine.bias);
        return batch_norm(x, w, b, *running, options);
    }
};
using BatchNorm = BasicBatchNorm<float>;

/// Rows of a table by token. Starts normal(0, 1).
template <class Real>
struct BasicEmbedding {
    std::string name;
    BasicParameter<Real>* weight;  // (vocabulary, width)

    BasicEmbedding(BasicModel<Real>& model, std::string layer_name, Index vocabulary, Index width)
        : name(std::move(layer_name)), weight(&model.add(name + ".weight", {vocabulary, width}, Init::normal(1))) {}

    /// ids fill `shape`; the result is shape + (width).
    BasicVar<Real> operator()(BasicTape<Real>& tape, const std::vector<int>& ids, Shape shape) const {
        const typename BasicTape<Real>::Scope scope(tape, name);
        return embedding(tape.parameter(*weight), ids, std::move(shape));
    }
};
using Embedding = BasicEmbedding<float>;

}  // namespace ulp
