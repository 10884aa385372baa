// Recurrent layers over x (time, batch, in), gates in PyTorch's order. The products of all steps with the inputs'
// weights are one product; those with the state are one a step, over all gates at once.
#pragma once

#include "engine/layers/layers.hpp"

namespace ulp::inline ULPLAB_MODE {

/// The parameters of a cell with `gates` gates: "name.weight_ih" (gates * width, in), "name.weight_hh", "name.bias_ih",
/// "name.bias_hh".
struct RecurrentParameters {
    std::string name;
    Index width;
    Parameter *weight_ih, *weight_hh, *bias_ih, *bias_hh;

    RecurrentParameters(Model& model, std::string layer_name, Index in, Index hidden, Index gates)
        : name(std::move(layer_name)),
          width(hidden),
          weight_ih(&model.add(name + ".weight_ih", {gates * hidden, in}, Init::fan_in(hidden))),
          weight_hh(&model.add(name + ".weight_hh", {gates * hidden, hidden}, Init::fan_in(hidden))),
          bias_ih(&model.add(name + ".bias_ih", {gates * hidden}, Init::fan_in(hidden))),
          bias_hh(&model.add(name + ".bias_hh", {gates * hidden}, Init::fan_in(hidden))) {}

    [[nodiscard]] Var from_input(Var x) const {
        const Var w = on_tape(x, weight_ih);
        const Var b = on_tape(x, bias_ih);
        return linear(x, w, b);
    }
    [[nodiscard]] Var from_state(Var h) const {
        const Var w = on_tape(h, weight_hh);
        const Var b = on_tape(h, bias_hh);
        return linear(h, w, b);
    }
    /// Zeros (batch, width) in the format of x.
    [[nodiscard]] Var start(Var x) const { return x.tape->constant(Tensor({x.dim(1), width}, x.format())); }
};

/// Step t of a sequence (time, batch, width) as (batch, width), and steps put together again.
inline Var time_step_of(Var sequence, Index t) {
    return reshape(slice(sequence, 0, t, 1), {sequence.dim(1), sequence.dim(2)});
}
inline Var sequence_of(const std::vector<Var>& steps) {
    std::vector<Var> rows;
    for (const Var& step : steps) rows.push_back(reshape(step, {1, step.dim(0), step.dim(1)}));
    return concat(rows, 0);
}
/// Gate i of (batch, gates * width).
inline Var gate(Var gates, Index i, Index width) { return slice(gates, 1, i * width, width); }

/// The state of an LSTM: what it says and what it remembers, each (batch, width).
struct LstmState {
    Var h;
    Var c;
};

/// c = sigmoid(f) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c), gates in the order i f g o.
inline LstmState lstm_update(Var gates, Var c, Index width) {
    const Var input = sigmoid(gate(gates, 0, width));
    const Var forget = sigmoid(gate(gates, 1, width));
    const Var candidate = tanh(gate(gates, 2, width));
    const Var output = sigmoid(gate(gates, 3, width));
    const Var kept = multiply(forget, c);
    const Var added = multiply(input, candidate);
    const Var next = add(kept, added);
    return {multiply(output, tanh(next)), next};
}

struct Lstm {
    RecurrentParameters p;

    Lstm(Model& model, std::string name, Index in, Index hidden) : p(model, std::move(name), in, hidden, 4) {}

    /// (time, batch, in) -> (time, batch, hidden), from a zero state.
    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, p.name);
        const Var inputs = p.from_input(x);
        LstmState state{p.start(x), p.start(x)};
        std::vector<Var> outputs;
        for (Index t = 0; t < x.dim(0); ++t) {
            const Var own = time_step_of(inputs, t);
            state = lstm_update(add(own, p.from_state(state.h)), state.c, p.width);
            outputs.push_back(state.h);
        }
        return sequence_of(outputs);
    }
};

/// r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r h_n), h = (1 - z) n + z h = n + z (h - n).
struct Gru {
    RecurrentParameters p;

    Gru(Model& model, std::string name, Index in, Index hidden) : p(model, std::move(name), in, hidden, 3) {}

    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, p.name);
        const Var inputs = p.from_input(x);
        Var h = p.start(x);
        std::vector<Var> outputs;
        for (Index t = 0; t < x.dim(0); ++t) {
            const Var own = time_step_of(inputs, t);
            const Var from_h = p.from_state(h);
            const Var r = sigmoid(add(gate(own, 0, p.width), gate(from_h, 0, p.width)));
            const Var z = sigmoid(add(gate(own, 1, p.width), gate(from_h, 1, p.width)));
            const Var n = tanh(add(gate(own, 2, p.width), multiply(r, gate(from_h, 2, p.width))));
            h = add(n, multiply(z, subtract(h, n)));
            outputs.push_back(h);
        }
        return sequence_of(outputs);
    }
};

/// Multiplicative LSTM (Krause et al., "Multiplicative LSTM for sequence modelling", 2016): an LSTM whose gates see
/// m = (W_mx x) * (W_mh h) instead of h.
struct MultiplicativeLstm {
    RecurrentParameters p;
    Linear input_factor;
    Linear state_factor;

    MultiplicativeLstm(Model& model, const std::string& name, Index in, Index hidden)
        : p(model, name, in, hidden, 4),
          input_factor(model, name + ".input_factor", in, hidden),
          state_factor(model, name + ".state_factor", hidden, hidden) {}

    Var operator()(Var x) const {
        const Var factors = input_factor(x);
        const Var inputs = p.from_input(x);
        LstmState state{p.start(x), p.start(x)};
        std::vector<Var> outputs;
        for (Index t = 0; t < x.dim(0); ++t) {
            const Var factor = time_step_of(factors, t);
            const Var m = multiply(factor, state_factor(state.h));
            const Var own = time_step_of(inputs, t);
            state = lstm_update(add(own, p.from_state(m)), state.c, p.width);
            outputs.push_back(state.h);
        }
        return sequence_of(outputs);
    }
};

}  // namespace ulp::inline ULPLAB_MODE
