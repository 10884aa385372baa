// A transformer block with an operation of its own, from the installed headers: compiled in float where it is trained,
// and in double where its gradients are checked.
#pragma once

#include <string>
#include <ulplab/ulplab.hpp>

/// x * tanh(log(1 + exp(x))) (Misra, "Mish", BMVC 2020).
inline ulp::Var mish(ulp::Var x) {
    using ulp::Real;
    return ulp::pointwise(
        "mish", x, [](const auto& s, Real v) { return s.mul(v, s.tanh(s.softplus(v))); },
        [](const auto& s, Real v, Real, Real dy) {
            const Real t = s.tanh(s.softplus(v));
            return s.mul(dy, s.add(t, s.mul(s.mul(v, s.sigmoid(v)), s.sub(1, s.mul(t, t)))));
        });
}

struct Block {
    ulp::LayerNorm before_attention, before_dense;
    ulp::MultiHeadAttention attention;
    ulp::Linear wide, narrow;

    Block(ulp::Model& model, const std::string& name, ulp::Index width)
        : before_attention(model, name + ".norm1", width),
          before_dense(model, name + ".norm2", width),
          attention(model, name + ".attention", width, 2),
          wide(model, name + ".wide", width, 2 * width),
          narrow(model, name + ".narrow", 2 * width, width) {}

    /// x (batch, time, width).
    ulp::Var operator()(ulp::Var x) const {
        x = ulp::residual(x, [&](auto v) { return attention(before_attention(v), false); });
        return ulp::residual(x, [&](auto v) { return narrow(mish(wide(before_dense(v)))); });
    }
};
