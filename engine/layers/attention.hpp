// Multi-head attention (Vaswani et al., 2017) over x (batch, time, width), and residual connections.
#pragma once

#include <cmath>
#include <optional>
#include <stdexcept>

#include "engine/layers/layers.hpp"

namespace ulp {

template <class Real>
struct BasicMultiHeadAttention {
    Index heads;
    BasicLinear<Real> in_proj;   // (3 width, width): queries, keys, values
    BasicLinear<Real> out_proj;  // (width, width)

    BasicMultiHeadAttention(BasicModel<Real>& model, const std::string& name, Index width, Index head_count)
        : heads(head_count),
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
        const Index width = x.dim(2);
        const BasicVar<Real> projected = in_proj(x);
        const BasicVar<Real> q =
            scaled(heads_of(slice(projected, 2, 0, width)), 1 / std::sqrt(static_cast<double>(width / heads)));
        const BasicVar<Real> k = heads_of(slice(projected, 2, width, width));
        const BasicVar<Real> v = heads_of(slice(projected, 2, 2 * width, width));
        BasicVar<Real> scores = matmul(q, k, true);
        if (penalty) scores = add(scores, *penalty);
        if (causal) scores = causal_mask(scores);
        const BasicVar<Real> mixed = matmul(softmax(scores), v);
        // (batch * heads, time, head width) back to (batch, time, width)
        const BasicVar<Real> split = reshape(mixed, {x.dim(0), heads, x.dim(1), width / heads});
        return out_proj(reshape(permute(split, {0, 2, 1, 3}), {x.dim(0), x.dim(1), width}));
    }

  private:
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
