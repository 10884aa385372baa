// Multi-head attention (Vaswani et al., 2017) over x (batch, time, width), and residual connections.
#pragma once

#include <cmath>
#include <optional>
#include <stdexcept>

#include "engine/layers/layers.hpp"

namespace ulp {

template <class Real>
struct BasicMultiHeadAttention {
    std::string name;
    Index heads;
    BasicLinear<Real> in_proj;   // (3 width, width): queries, keys, values
    BasicLinear<Real> out_proj;  // (width, width)

    BasicMultiHeadAttention(BasicModel<Real>& model, std::string layer_name, Index width, Index head_count)
        : name(std::move(layer_name)),
          heads(head_count),
          in_proj(model, name + ".in_proj", width, 3 * width),
          out_proj(model, name + ".out_proj", width, width) {
        if (head_count < 1 || width % head_count != 0) {
            throw std::invalid_argument("attention: the heads do not divide the width");
        }
    }

    /// Causal: no place looks at later ones. Scores are softmax(q k^T / sqrt(head width) + penalty); the penalty
    /// (batch * heads, time, time), where there is one, keeps places such as padding from being looked at.
    BasicVar<Real> operator()(BasicVar<Real> x, bool causal,
                              const std::optional<BasicVar<Real>>& penalty = std::nullopt) const {
        return out_proj(heads_over(in_proj(x), x.dim(2), causal, penalty));
    }

  private:
    /// What lies between the projections: (batch, time, 3 width) -> (batch, time, width). Operations are named after
    /// their part: "attention/queries/scale", "attention/scores/matmul", "attention/probabilities/softmax",
    /// "attention/mix/matmul".
    BasicVar<Real> heads_over(BasicVar<Real> projected, Index width, bool causal,
                              const std::optional<BasicVar<Real>>& penalty) const {
        const auto part = [&](const char* what, const auto& f) {
            const typename BasicTape<Real>::Scope scope(*projected.tape, name + "/" + what);
            return f();
        };
        const BasicVar<Real> q = part("queries", [&] {
            return scaled(heads_of(slice(projected, 2, 0, width)), 1 / std::sqrt(static_cast<double>(width / heads)));
        });
        const BasicVar<Real> k = part("keys", [&] { return heads_of(slice(projected, 2, width, width)); });
        const BasicVar<Real> v = part("values", [&] { return heads_of(slice(projected, 2, 2 * width, width)); });
        const BasicVar<Real> scores = part("scores", [&] {
            BasicVar<Real> s = matmul(q, k, true);
            if (penalty) s = add(s, *penalty);
            return causal ? causal_mask(s) : s;
        });
        const BasicVar<Real> p = part("probabilities", [&] { return softmax(scores); });
        return part("mix", [&] {
            // (batch * heads, time, head width) back to (batch, time, width)
            const Index batch = projected.dim(0);
            const Index time = projected.dim(1);
            const BasicVar<Real> split = reshape(matmul(p, v), {batch, heads, time, width / heads});
            return reshape(permute(split, {0, 2, 1, 3}), {batch, time, width});
        });
    }

    /// (batch, time, width) -> (batch * heads, time, head width)
    BasicVar<Real> heads_of(BasicVar<Real> x) const {
        const Index each = x.dim(2) / heads;
        const BasicVar<Real> split = permute(reshape(x, {x.dim(0), x.dim(1), heads, each}), {0, 2, 1, 3});
        return reshape(split, {x.dim(0) * heads, x.dim(1), each});
    }
};
using MultiHeadAttention = BasicMultiHeadAttention<float>;

/// x + f(x).
template <class Real, class Function>
BasicVar<Real> residual(BasicVar<Real> x, const Function& f) {
    return add(x, f(x));
}

}  // namespace ulp
