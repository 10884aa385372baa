// Multi-head attention (Vaswani et al., 2017) over x (batch, time, width), and residual connections.
#pragma once

#include <cmath>
#include <optional>
#include <stdexcept>

#include "engine/layers/layers.hpp"

namespace ulp {

template <class Real>
struct MultiHeadAttention {
    Index heads;
    Linear<Real> in_proj;   // (3 width, width): queries, keys, values
    Linear<Real> out_proj;  // (width, width)

    MultiHeadAttention(Model<Real>& model, const std::string& name, Index width, Index head_count)
        : heads(head_count),
          in_proj(model, name + ".in_proj", width, 3 * width),
          out_proj(model, name + ".out_proj", width, width) {
        if (head_count < 1 || width % head_count != 0) {
            throw std::invalid_argument("attention: the heads do not divide the width");
        }
    }

    /// Causal: no place looks at later ones. Scores are softmax(q k^T / sqrt(head width) + penalty); the penalty
    /// (batch * heads, time, time), where there is one, keeps places such as padding from being looked at.
    Var<Real> operator()(Var<Real> x, bool causal, const std::optional<Var<Real>>& penalty = std::nullopt) const {
        const Index width = x.dim(2);
        const Var<Real> projected = in_proj(x);
        const Var<Real> q =
            scaled(heads_of(slice(projected, 2, 0, width)), 1 / std::sqrt(static_cast<double>(width / heads)));
        const Var<Real> k = heads_of(slice(projected, 2, width, width));
        const Var<Real> v = heads_of(slice(projected, 2, 2 * width, width));
        Var<Real> scores = matmul(q, k, true);
        if (penalty) scores = add(scores, *penalty);
        if (causal) scores = causal_mask(scores);
        const Var<Real> mixed = matmul(softmax(scores), v);
        // (batch * heads, time, head width) back to (batch, time, width)
        const Var<Real> split = reshape(mixed, {x.dim(0), heads, x.dim(1), width / heads});
        return out_proj(reshape(permute(split, {0, 2, 1, 3}), {x.dim(0), x.dim(1), width}));
    }

  private:
    /// (batch, time, width) -> (batch * heads, time, head width)
    Var<Real> heads_of(Var<Real> x) const {
        const Index each = x.dim(2) / heads;
        const Var<Real> split = permute(reshape(x, {x.dim(0), x.dim(1), heads, each}), {0, 2, 1, 3});
        return reshape(split, {x.dim(0) * heads, x.dim(1), each});
    }
};

/// x + f(x).
template <class Real, class Function>
Var<Real> residual(Var<Real> x, const Function& f) {
    return add(x, f(x));
}

}  // namespace ulp
