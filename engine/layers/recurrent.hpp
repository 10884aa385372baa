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
    Parameter<Real>*weight_ih, *weight_hh, *bias_ih, *bias_hh;

    RecurrentParameters(Model<Real>& model, std::string layer_name, Index in, Index hidden, Index gates)
        : name(std::move(layer_name)),
          width(hidden),
          weight_ih(&model.add(name + ".weight_ih", {gates * hidden, in}, Init::fan_in(hidden))),
          weight_hh(&model.add(name + ".weight_hh", {gates * hidden, hidden}, Init::fan_in(hidden))),
          bias_ih(&model.add(name + ".bias_ih", {gates * hidden}, Init::fan_in(hidden))),
          bias_hh(&model.add(name + ".bias_hh", {gates * hidden}, Init::fan_in(hidden))) {}

    [[nodiscard]] Var<Real> from_input(Var<Real> x) const {
        const Var<Real> w = on_tape(x, weight_ih);
        const Var<Real> b = on_tape(x, bias_ih);
        return linear(x, w, b);
    }
    [[nodiscard]] Var<Real> from_state(Var<Real> h) const {
        const Var<Real> w = on_tape(h, weight_hh);
        const Var<Real> b = on_tape(h, bias_hh);
        return linear(h, w, b);
    }
    /// Zeros (batch, width) in the format of x.
    [[nodiscard]] Var<Real> start(Var<Real> x) const {
        return x.tape->constant(Tensor<Real>({x.dim(1), width}, x.format()));
    }
};

/// Step t of a sequence (time, batch, width) as (batch, width), and steps put together again.
template <class Real>
Var<Real> time_step_of(Var<Real> sequence, Index t) {
    return reshape(slice(sequence, 0, t, 1), {sequence.dim(1), sequence.dim(2)});
}
template <class Real>
Var<Real> sequence_of(const std::vector<Var<Real>>& steps) {
    std::vector<Var<Real>> rows;
    for (const Var<Real>& step : steps) rows.push_back(reshape(step, {1, step.dim(0), step.dim(1)}));
    return concat(rows, 0);
}
/// Gate i of (batch, gates * width).
template <class Real>
Var<Real> gate(Var<Real> gates, Index i, Index width) {
    return slice(gates, 1, i * width, width);
}

/// The state of an LSTM: what it says and what it remembers, each (batch, width).
template <class Real>
struct LstmState {
    Var<Real> h;
    Var<Real> c;
};

/// c = sigmoid(f) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c), gates in the order i f g o.
template <class Real>
LstmState<Real> lstm_update(Var<Real> gates, Var<Real> c, Index width) {
    const Var<Real> input = sigmoid(gate(gates, 0, width));
    const Var<Real> forget = sigmoid(gate(gates, 1, width));
    const Var<Real> candidate = tanh(gate(gates, 2, width));
    const Var<Real> output = sigmoid(gate(gates, 3, width));
    const Var<Real> kept = multiply(forget, c);
    const Var<Real> added = multiply(input, candidate);
    const Var<Real> next = add(kept, added);
    return {multiply(output, tanh(next)), next};
}

template <class Real>
struct Lstm {
    RecurrentParameters<Real> p;

    Lstm(Model<Real>& model, std::string name, Index in, Index hidden) : p(model, std::move(name), in, hidden, 4) {}

    /// (time, batch, in) -> (time, batch, hidden), from a zero state.
    Var<Real> operator()(Var<Real> x) const {
        const typename Tape<Real>::Scope scope(*x.tape, p.name);
        const Var<Real> inputs = p.from_input(x);
        LstmState<Real> state{p.start(x), p.start(x)};
        std::vector<Var<Real>> outputs;
        for (Index t = 0; t < x.dim(0); ++t) {
            const Var<Real> own = time_step_of(inputs, t);
            state = lstm_update(add(own, p.from_state(state.h)), state.c, p.width);
            outputs.push_back(state.h);
        }
        return sequence_of(outputs);
    }
};

/// r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r h_n), h = (1 - z) n + z h = n + z (h - n).
template <class Real>
struct Gru {
    RecurrentParameters<Real> p;

    Gru(Model<Real>& model, std::string name, Index in, Index hidden) : p(model, std::move(name), in, hidden, 3) {}

    Var<Real> operator()(Var<Real> x) const {
        const typename Tape<Real>::Scope scope(*x.tape, p.name);
        const Var<Real> inputs = p.from_input(x);
        Var<Real> h = p.start(x);
        std::vector<Var<Real>> outputs;
        for (Index t = 0; t < x.dim(0); ++t) {
            const Var<Real> own = time_step_of(inputs, t);
            const Var<Real> from_h = p.from_state(h);
            const Var<Real> r = sigmoid(add(gate(own, 0, p.width), gate(from_h, 0, p.width)));
            const Var<Real> z = sigmoid(add(gate(own, 1, p.width), gate(from_h, 1, p.width)));
            const Var<Real> n = tanh(add(gate(own, 2, p.width), multiply(r, gate(from_h, 2, p.width))));
            h = add(n, multiply(z, subtract(h, n)));
            outputs.push_back(h);
        }
        return sequence_of(outputs);
    }
};

/// Multiplicative LSTM (Krause et al., "Multiplicative LSTM for sequence modelling", 2016): an LSTM whose gates see
/// m = (W_mx x) * (W_mh h) in the place of h.
template <class Real>
struct MultiplicativeLstm {
    RecurrentParameters<Real> p;
    Linear<Real> input_factor;
    Linear<Real> state_factor;

    MultiplicativeLstm(Model<Real>& model, const std::string& name, Index in, Index hidden)
        : p(model, name, in, hidden, 4),
          input_factor(model, name + ".input_factor", in, hidden),
          state_factor(model, name + ".state_factor", hidden, hidden) {}

    Var<Real> operator()(Var<Real> x) const {
        const Var<Real> factors = input_factor(x);
        const Var<Real> inputs = p.from_input(x);
        LstmState<Real> state{p.start(x), p.start(x)};
        std::vector<Var<Real>> outputs;
        for (Index t = 0; t < x.dim(0); ++t) {
            const Var<Real> factor = time_step_of(factors, t);
            const Var<Real> m = multiply(factor, state_factor(state.h));
            const Var<Real> own = time_step_of(inputs, t);
            state = lstm_update(add(own, p.from_state(m)), state.c, p.width);
            outputs.push_back(state.h);
        }
        return sequence_of(outputs);
    }
};

}  // namespace ulp
