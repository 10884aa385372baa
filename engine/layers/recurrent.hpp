// Recurrent layers over x (time, batch, in), gates in PyTorch's order. The products of all steps with the inputs'
// weights are one product; those with the state are one a step, over all gates at once.
#pragma once

#include "engine/layers/layers.hpp"

namespace ulp {

/// The parameters of a cell with `gates` gates: "name.weight_ih" (gates * width, in), "name.weight_hh", "name.bias_ih",
/// "name.bias_hh".
template <class Real>
struct RecurrentParameters {
    std::string name;
    Index width;
    BasicParameter<Real>*weight_ih, *weight_hh, *bias_ih, *bias_hh;

    RecurrentParameters(BasicModel<Real>& model, std::string layer_name, Index in, Index hidden, Index gates)
        : name(std::move(layer_name)),
          width(hidden),
          weight_ih(&model.add(name + ".weight_ih", {gates * hidden, in}, Init::fan_in(hidden))),
          weight_hh(&model.add(name + ".weight_hh", {gates * hidden, hidden}, Init::fan_in(hidden))),
          bias_ih(&model.add(name + ".bias_ih", {gates * hidden}, Init::fan_in(hidden))),
          bias_hh(&model.add(name + ".bias_hh", {gates * hidden}, Init::fan_in(hidden))) {}

    [[nodiscard]] BasicVar<Real> from_input(BasicVar<Real> x) const {
        const BasicVar<Real> w = on_tape(x, weight_ih);
        const BasicVar<Real> b = on_tape(x, bias_ih);
        return linear(x, w, b);
    }
    [[nodiscard]] BasicVar<Real> from_state(BasicVar<Real> h) const {
        const BasicVar<Real> w = on_tape(h, weight_hh);
        const BasicVar<Real> b = on_tape(h, bias_hh);
        return linear(h, w, b);
    }
    /// Zeros (batch, width) in the format of x.
    [[nodiscard]] BasicVar<Real> start(BasicVar<Real> x) const {
        return x.tape->constant(BasicTensor<Real>({x.dim(1), width}, x.format()));
    }
};

/// Step t of a sequence (time, batch, width) as (batch, width), and steps put together again.
template <class Real>
BasicVar<Real> time_step_of(BasicVar<Real> sequence, Index t) {
    return reshape(slice(sequence, 0, t, 1), {sequence.dim(1), sequence.dim(2)});
}
template <class Real>
BasicVar<Real> sequence_of(const std::vector<BasicVar<Real>>& steps) {
    std::vector<BasicVar<Real>> rows;
    for (const BasicVar<Real>& step : steps) rows.push_back(reshape(step, {1, step.dim(0), step.dim(1)}));
    return concat(rows, 0);
}
/// Gate i of (batch, gates * width).
template <class Real>
BasicVar<Real> gate(BasicVar<Real> gates, Index i, Index width) {
    return slice(gates, 1, i * width, width);
}

/// The state of an LSTM: what it says and what it remembers, each (batch, width).
template <class Real>
struct BasicLstmState {
    BasicVar<Real> h;
    BasicVar<Real> c;
};
using LstmState = BasicLstmState<float>;

/// c = sigmoid(f) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c), gates in the order i f g o.
template <class Real>
BasicLstmState<Real> lstm_update(BasicVar<Real> gates, BasicVar<Real> c, Index width) {
    const BasicVar<Real> input = sigmoid(gate(gates, 0, width));
    const BasicVar<Real> forget = sigmoid(gate(gates, 1, width));
    const BasicVar<Real> candidate = tanh(gate(gates, 2, width));
    const BasicVar<Real> output = sigmoid(gate(gates, 3, width));
    const BasicVar<Real> kept = multiply(forget, c);
    const BasicVar<Real> added = multiply(input, candidate);
    const BasicVar<Real> next = add(kept, added);
    return {multiply(output, tanh(next)), next};
}

template <class Real>
struct BasicLstm {
    RecurrentParameters<Real> p;

    BasicLstm(BasicModel<Real>& model, std::string name, Index in, Index hidden)
        : p(model, std::move(name), in, hidden, 4) {}

    /// (time, batch, in) -> (time, batch, hidden), from a zero state.
    BasicVar<Real> operator()(BasicVar<Real> x) const {
        const typename BasicTape<Real>::Scope scope(*x.tape, p.name);
        const BasicVar<Real> inputs = p.from_input(x);
        BasicLstmState<Real> state{p.start(x), p.start(x)};
        std::vector<BasicVar<Real>> outputs;
        for (Index t = 0; t < x.dim(0); ++t) {
            const BasicVar<Real> own = time_step_of(inputs, t);
            state = lstm_update(add(own, p.from_state(state.h)), state.c, p.width);
            outputs.push_back(state.h);
        }
        return sequence_of(outputs);
    }
};
using Lstm = BasicLstm<float>;

/// r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r h_n), h = (1 - z) n + z h = n + z (h - n).
template <class Real>
struct BasicGru {
    RecurrentParameters<Real> p;

    BasicGru(BasicModel<Real>& model, std::string name, Index in, Index hidden)
        : p(model, std::move(name), in, hidden, 3) {}

    BasicVar<Real> operator()(BasicVar<Real> x) const {
        const typename BasicTape<Real>::Scope scope(*x.tape, p.name);
        const BasicVar<Real> inputs = p.from_input(x);
        BasicVar<Real> h = p.start(x);
        std::vector<BasicVar<Real>> outputs;
        for (Index t = 0; t < x.dim(0); ++t) {
            const BasicVar<Real> own = time_step_of(inputs, t);
            const BasicVar<Real> from_h = p.from_state(h);
            const BasicVar<Real> r = sigmoid(add(gate(own, 0, p.width), gate(from_h, 0, p.width)));
            const BasicVar<Real> z = sigmoid(add(gate(own, 1, p.width), gate(from_h, 1, p.width)));
            const BasicVar<Real> n = tanh(add(gate(own, 2, p.width), multiply(r, gate(from_h, 2, p.width))));
            h = add(n, multiply(z, subtract(h, n)));
            outputs.push_back(h);
        }
        return sequence_of(outputs);
    }
};
using Gru = BasicGru<float>;

/// Multiplicative LSTM (Krause et al., "Multiplicative LSTM for sequence modelling", 2016): an LSTM whose gates see
/// m = (W_mx x) * (W_mh h) in the place of h.
template <class Real>
struct BasicMultiplicativeLstm {
    RecurrentParameters<Real> p;
    BasicLinear<Real> input_factor;
    BasicLinear<Real> state_factor;

    BasicMultiplicativeLstm(BasicModel<Real>& model, const std::string& name, Index in, Index hidden)
        : p(model, name, in, hidden, 4),
          input_factor(model, name + ".input_factor", in, hidden),
          state_factor(model, name + ".state_factor", hidden, hidden) {}

    BasicVar<Real> operator()(BasicVar<Real> x) const {
        const BasicVar<Real> factors = input_factor(x);
        const BasicVar<Real> inputs = p.from_input(x);
        BasicLstmState<Real> state{p.start(x), p.start(x)};
        std::vector<BasicVar<Real>> outputs;
        for (Index t = 0; t < x.dim(0); ++t) {
            const BasicVar<Real> factor = time_step_of(factors, t);
            const BasicVar<Real> m = multiply(factor, state_factor(state.h));
            const BasicVar<Real> own = time_step_of(inputs, t);
            state = lstm_update(add(own, p.from_state(m)), state.c, p.width);
            outputs.push_back(state.h);
        }
        return sequence_of(outputs);
    }
};
using MultiplicativeLstm = BasicMultiplicativeLstm<float>;

}  // namespace ulp
