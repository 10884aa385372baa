// Layers: parameters of a model and the operations on them. Each starts as PyTorch's layer of the same name does, up to
// the generator. Parameters are named after the layer: "fc1.weight".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/operations/ops.hpp"
#include "engine/tape/parameter.hpp"

namespace ulp {

/// A parameter on the tape of x.
template <class Real>
Var<Real> on_tape(Var<Real> x, Parameter<Real>* parameter) {
    return x.tape->parameter(*parameter);
}

/// y = x W^T + b. Starts uniform within 1/sqrt(in).
template <class Real>
struct Linear {
    std::string name;
    Parameter<Real>* weight;  // (out, in)
    Parameter<Real>* bias;    // (out)

    Linear(Model<Real>& model, std::string layer_name, Index in, Index out)
        : name(std::move(layer_name)),
          weight(&model.add(name + ".weight", {out, in}, Init::fan_in(in))),
          bias(&model.add(name + ".bias", {out}, Init::fan_in(in))) {}

    Var<Real> operator()(Var<Real> x) const {
        const typename Tape<Real>::Scope scope(*x.tape, name);
        const Var<Real> w = on_tape(x, weight);  // in this order: compilers differ in that of arguments
        const Var<Real> b = on_tape(x, bias);
        return linear(x, w, b);
    }
};

/// Linear layers with relu between them: widths {784, 128, 10} are two layers, "fc1" and "fc2".
template <class Real>
struct Mlp {
    std::vector<Linear<Real>> layers;

    Mlp(Model<Real>& model, const std::vector<Index>& widths) {
        for (std::size_t i = 1; i < widths.size(); ++i) {
            layers.emplace_back(model, "fc" + std::to_string(i), widths[i - 1], widths[i]);
        }
    }

    Var<Real> operator()(Var<Real> x) const {
        for (std::size_t i = 0; i < layers.size(); ++i) {
            if (i > 0) x = relu(x);
            x = layers[i](x);
        }
        return x;
    }
};

/// conv2d with weights of its own. x (images, in, h, w).
template <class Real>
struct Conv2d {
    std::string name;
    ConvOptions options;
    Parameter<Real>* weight;  // (out, in / groups, kernel, kernel)
    Parameter<Real>* bias;    // (out)

    Conv2d(Model<Real>& model, std::string layer_name, Index in, Index out, Index kernel, ConvOptions how = {})
        : name(std::move(layer_name)),
          options(how),
          weight(&model.add(name + ".weight", {out, in / how.groups, kernel, kernel},
                            Init::fan_in(in / how.groups * kernel * kernel))),
          bias(&model.add(name + ".bias", {out}, Init::fan_in(in / how.groups * kernel * kernel))) {}

    Var<Real> operator()(Var<Real> x) const {
        const typename Tape<Real>::Scope scope(*x.tape, name);
        const Var<Real> w = on_tape(x, weight);
        const Var<Real> b = on_tape(x, bias);
        return conv2d(x, w, b, options);
    }
};

/// conv1d with weights of its own. x (images, in, length).
template <class Real>
struct Conv1d {
    std::string name;
    ConvOptions options;
    Parameter<Real>* weight;  // (out, in / groups, kernel)
    Parameter<Real>* bias;    // (out)

    Conv1d(Model<Real>& model, std::string layer_name, Index in, Index out, Index kernel, ConvOptions how = {})
        : name(std::move(layer_name)),
          options(how),
          weight(&model.add(name + ".weight", {out, in / how.groups, kernel}, Init::fan_in(in / how.groups * kernel))),
          bias(&model.add(name + ".bias", {out}, Init::fan_in(in / how.groups * kernel))) {}

    Var<Real> operator()(Var<Real> x) const {
        const typename Tape<Real>::Scope scope(*x.tape, name);
        const Var<Real> w = on_tape(x, weight);
        const Var<Real> b = on_tape(x, bias);
        return conv1d(x, w, b, options);
    }
};

/// conv_transpose2d with weights of its own. x (images, in, h, w).
template <class Real>
struct ConvTranspose2d {
    std::string name;
    ConvOptions options;
    Parameter<Real>* weight;  // (in, out / groups, kernel, kernel)
    Parameter<Real>* bias;    // (out)

    ConvTranspose2d(Model<Real>& model, std::string layer_name, Index in, Index out, Index kernel, ConvOptions how = {})
        : name(std::move(layer_name)),
          options(how),
          weight(&model.add(name + ".weight", {in, out / how.groups, kernel, kernel},
                            Init::fan_in(out / how.groups * kernel * kernel))),
          bias(&model.add(name + ".bias", {out}, Init::fan_in(out / how.groups * kernel * kernel))) {}

    Var<Real> operator()(Var<Real> x) const {
        const typename Tape<Real>::Scope scope(*x.tape, name);
        const Var<Real> w = on_tape(x, weight);
        const Var<Real> b = on_tape(x, bias);
        return conv_transpose2d(x, w, b, options);
    }
};

/// Scale and shift of a normalisation; they start as 1 and 0.
template <class Real>
struct Affine {
    Parameter<Real>* weight;
    Parameter<Real>* bias;

    Affine(Model<Real>& model, const std::string& name, Index width, ParameterKind kind)
        : weight(&model.add(name + ".weight", {width}, Init::constant(1), kind)),
          bias(&model.add(name + ".bias", {width}, Init::constant(0), kind)) {}
};

/// layer_norm over the last dimension, of extent `width`.
template <class Real>
struct LayerNorm {
    std::string name;
    Affine<Real> affine;
    double eps;

    LayerNorm(Model<Real>& model, std::string layer_name, Index width, double epsilon = 1e-5)
        : name(std::move(layer_name)), affine(model, name, width, ParameterKind::ordinary), eps(epsilon) {}

    Var<Real> operator()(Var<Real> x) const {
        const typename Tape<Real>::Scope scope(*x.tape, name);
        const Var<Real> w = on_tape(x, affine.weight);
        const Var<Real> b = on_tape(x, affine.bias);
        return layer_norm(x, w, b, eps);
    }
};

/// group_norm over `group_count` sets of channels. x (images, channels, ...).
template <class Real>
struct GroupNorm {
    std::string name;
    Affine<Real> affine;
    Index groups;
    double eps;

    GroupNorm(Model<Real>& model, std::string layer_name, Index group_count, Index channels, double epsilon = 1e-5)
        : name(std::move(layer_name)),
          affine(model, name, channels, ParameterKind::ordinary),
          groups(group_count),
          eps(epsilon) {}

    Var<Real> operator()(Var<Real> x) const {
        const typename Tape<Real>::Scope scope(*x.tape, name);
        const Var<Real> w = on_tape(x, affine.weight);
        const Var<Real> b = on_tape(x, affine.bias);
        return group_norm(x, w, b, groups, eps);
    }
};

/// batch_norm over images and pixels. x (images, channels, ...). Its running statistics belong to the model too
/// ("bn.running_mean"), so that checkpoints hold them.
template <class Real>
struct BatchNorm {
    std::string name;
    Affine<Real> affine;
    BatchStatistics<Real>* running;
    BatchNormOptions options;

    BatchNorm(Model<Real>& model, std::string layer_name, Index channels, BatchNormOptions how = {})
        : name(std::move(layer_name)),
          affine(model, name, channels, ParameterKind::batch_norm),
          running(&model.add_statistics(name, channels)),
          options(how) {}

    Var<Real> operator()(Var<Real> x) const {
        const typename Tape<Real>::Scope scope(*x.tape, name);
        const Var<Real> w = on_tape(x, affine.weight);
        const Var<Real> b = on_tape(x, affine.bias);
        return batch_norm(x, w, b, *running, options);
    }
};

/// Rows of a table by token. Starts normal(0, 1).
template <class Real>
struct Embedding {
    std::string name;
    Parameter<Real>* weight;  // (vocabulary, width)

    Embedding(Model<Real>& model, std::string layer_name, Index vocabulary, Index width)
        : name(std::move(layer_name)), weight(&model.add(name + ".weight", {vocabulary, width}, Init::normal(1))) {}

    /// ids fill `shape`; the result is shape + (width).
    Var<Real> operator()(Tape<Real>& tape, const std::vector<int>& ids, Shape shape) const {
        const typename Tape<Real>::Scope scope(tape, name);
        return embedding(tape.parameter(*weight), ids, std::move(shape));
    }
};

}  // namespace ulp
