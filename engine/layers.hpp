// Layers: parameters of a model and the operations on them.
#pragma once

#include <string>
#include <vector>

#include "engine/ops.hpp"
#include "engine/parameter.hpp"

namespace ulp {

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
        const Var<Real> w = x.tape->parameter(*weight);  // in this order: compilers differ in that of arguments
        const Var<Real> b = x.tape->parameter(*bias);
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

}  // namespace ulp
