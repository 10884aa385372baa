// Layers: parameters of a model and the operations on them. Each starts as PyTorch's layer of the same name does, up to
// the generator. Parameters are named after the layer: "fc1.weight".
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/tape/ops.hpp"
#include "engine/tape/parameter.hpp"

namespace ulp::inline ULPLAB_MODE {

/// A parameter on the tape of x.
inline Var on_tape(Var x, Parameter* parameter) { return x.tape->parameter(*parameter); }

inline std::optional<Var> on_tape_if_any(Var x, Parameter* parameter) {
    return parameter == nullptr ? std::nullopt : std::optional(on_tape(x, parameter));
}

/// y = x W^T + b, or without b. Starts uniform within 1/sqrt(in).
struct Linear {
    std::string name;
    Parameter* weight;  // (out, in)
    Parameter* bias;    // (out), or none

    Linear(Model& model, std::string layer_name, Index in, Index out, bool biased = true)
        : name(std::move(layer_name)),
          weight(&model.add(name + ".weight", {out, in}, Init::fan_in(in), ParameterKind::linear_weight)),
          bias(biased ? &model.add(name + ".bias", {out}, Init::fan_in(in)) : nullptr) {}

    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, name);
        const Var w = on_tape(x, weight);  // in this order: compilers differ in that of arguments
        return linear(x, w, on_tape_if_any(x, bias));
    }
};

/// Linear layers with relu between them: widths {784, 128, 10} are two layers, "fc1" and "fc2".
struct Mlp {
    std::vector<Linear> layers;

    Mlp(Model& model, const std::vector<Index>& widths) {
        for (std::size_t i = 1; i < widths.size(); ++i) {
            layers.emplace_back(model, "fc" + std::to_string(i), widths[i - 1], widths[i]);
        }
    }

    Var operator()(Var x) const {
        for (std::size_t i = 0; i < layers.size(); ++i) {
            if (i > 0) x = relu(x);
            x = layers[i](x);
        }
        return x;
    }
};

/// conv2d with weights of its own. x (images, in, h, w).
struct Conv2d {
    std::string name;
    ConvOptions options;
    Parameter* weight;  // (out, in / groups, kernel, kernel)
    Parameter* bias;    // (out), or none

    Conv2d(Model& model, std::string layer_name, Index in, Index out, Index kernel, ConvOptions how = {},
           bool biased = true)
        : name(std::move(layer_name)),
          options(how),
          weight(&model.add(name + ".weight", {out, in / how.groups, kernel, kernel},
                            Init::fan_in(in / how.groups * kernel * kernel))),
          bias(biased ? &model.add(name + ".bias", {out}, Init::fan_in(in / how.groups * kernel * kernel)) : nullptr) {}

    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, name);
        const Var w = on_tape(x, weight);
        return conv2d(x, w, on_tape_if_any(x, bias), options);
    }
};

/// conv1d with weights of its own. x (images, in, length).
struct Conv1d {
    std::string name;
    ConvOptions options;
    Parameter* weight;  // (out, in / groups, kernel)
    Parameter* bias;    // (out)

    Conv1d(Model& model, std::string layer_name, Index in, Index out, Index kernel, ConvOptions how = {})
        : name(std::move(layer_name)),
          options(how),
          weight(&model.add(name + ".weight", {out, in / how.groups, kernel}, Init::fan_in(in / how.groups * kernel))),
          bias(&model.add(name + ".bias", {out}, Init::fan_in(in / how.groups * kernel))) {}

    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, name);
        const Var w = on_tape(x, weight);
        const Var b = on_tape(x, bias);
        return conv1d(x, w, b, options);
    }
};

/// conv_transpose2d with weights of its own. x (images, in, h, w).
struct ConvTranspose2d {
    std::string name;
    ConvOptions options;
    Parameter* weight;  // (in, out / groups, kernel, kernel)
    Parameter* bias;    // (out)

    ConvTranspose2d(Model& model, std::string layer_name, Index in, Index out, Index kernel, ConvOptions how = {})
        : name(std::move(layer_name)),
          options(how),
          weight(&model.add(name + ".weight", {in, out / how.groups, kernel, kernel},
                            Init::fan_in(out / how.groups * kernel * kernel))),
          bias(&model.add(name + ".bias", {out}, Init::fan_in(out / how.groups * kernel * kernel))) {}

    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, name);
        const Var w = on_tape(x, weight);
        const Var b = on_tape(x, bias);
        return conv_transpose2d(x, w, b, options);
    }
};

/// Scale and shift of a normalisation; they start as 1 and 0.
struct Affine {
    Parameter* weight;
    Parameter* bias;

    Affine(Model& model, const std::string& name, Index width, ParameterKind kind)
        : weight(&model.add(name + ".weight", {width}, Init::constant(1), kind)),
          bias(&model.add(name + ".bias", {width}, Init::constant(0), kind)) {}
};

/// layer_norm over the last dimension, of extent `width`.
struct LayerNorm {
    std::string name;
    Affine affine;
    double eps;

    LayerNorm(Model& model, std::string layer_name, Index width, double epsilon = 1e-5)
        : name(std::move(layer_name)), affine(model, name, width, ParameterKind::ordinary), eps(epsilon) {}

    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, name);
        const Var w = on_tape(x, affine.weight);
        const Var b = on_tape(x, affine.bias);
        return layer_norm(x, w, b, eps);
    }
};

/// rms_norm over the last dimension, of extent `width`; the weight starts as 1.
struct RmsNorm {
    std::string name;
    Parameter* weight;
    double eps;

    RmsNorm(Model& model, std::string layer_name, Index width, double epsilon = 1e-5)
        : name(std::move(layer_name)), weight(&model.add(name + ".weight", {width}, Init::constant(1))), eps(epsilon) {}

    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, name);
        return rms_norm(x, on_tape(x, weight), eps);
    }
};

/// group_norm over `group_count` sets of channels. x (images, channels, ...).
struct GroupNorm {
    std::string name;
    Affine affine;
    Index groups;
    double eps;

    GroupNorm(Model& model, std::string layer_name, Index group_count, Index channels, double epsilon = 1e-5)
        : name(std::move(layer_name)),
          affine(model, name, channels, ParameterKind::ordinary),
          groups(group_count),
          eps(epsilon) {}

    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, name);
        const Var w = on_tape(x, affine.weight);
        const Var b = on_tape(x, affine.bias);
        return group_norm(x, w, b, groups, eps);
    }
};

/// batch_norm over images and pixels. x (images, channels, ...). Its running statistics belong to the model too
/// ("bn.running_mean"), so that checkpoints hold them.
struct BatchNorm {
    std::string name;
    Affine affine;
    BatchStatistics* running;
    BatchNormOptions options;

    BatchNorm(Model& model, std::string layer_name, Index channels, BatchNormOptions how = {})
        : name(std::move(layer_name)),
          affine(model, name, channels, ParameterKind::batch_norm),
          running(&model.add_statistics(name, channels)),
          options(how) {}

    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, name);
        const Var w = on_tape(x, affine.weight);
        const Var b = on_tape(x, affine.bias);
        return batch_norm(x, w, b, *running, options);
    }
};

/// Rows of a table by token. Starts normal(0, 1).
struct Embedding {
    std::string name;
    Parameter* weight;  // (vocabulary, width)

    Embedding(Model& model, std::string layer_name, Index vocabulary, Index width)
        : name(std::move(layer_name)), weight(&model.add(name + ".weight", {vocabulary, width}, Init::normal(1))) {}

    /// ids fill `shape`; the result is shape + (width).
    Var operator()(Tape& tape, const std::vector<int>& ids, Shape shape) const {
        const Tape::Scope scope(tape, name);
        return embedding(tape.parameter(*weight), ids, std::move(shape));
    }
};

}  // namespace ulp::inline ULPLAB_MODE
