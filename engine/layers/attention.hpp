// Multi-head attention (Vaswani et al., 2017) over x (batch, time, width), and residual connections.
#pragma once

#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "engine/layers/layers.hpp"

namespace ulp::inline ULPLAB_MODE {

/// Where the logits are scaled, and what is normalised first.
struct AttentionOptions {
    /// The factor 1 / sqrt(head width) multiplies the product q k^T once it is stored; else the queries before it.
    bool scale_scores = false;
    /// Queries and keys pass a layer norm each, over a head's width (Dehghani et al., Scaling Vision Transformers to 22
    /// Billion Parameters, 2023).
    bool normalised = false;
};

struct MultiHeadAttention {
    std::string name;
    Index heads;
    AttentionOptions options;
    Linear in_proj;                          // (3 width, width): queries, keys, values
    Linear out_proj;                         // (width, width)
    std::vector<LayerNorm> query_key_norms;  // of the queries and of the keys, or none

    MultiHeadAttention(Model& model, std::string layer_name, Index width, Index head_count, AttentionOptions how = {})
        : name(std::move(layer_name)),
          heads(head_count),
          options(how),
          in_proj(model, name + ".in_proj", width, 3 * width),
          out_proj(model, name + ".out_proj", width, width) {
        if (head_count < 1 || width % head_count != 0) {
            throw std::invalid_argument("attention: the heads do not divide the width");
        }
        if (!options.normalised) return;
        query_key_norms.emplace_back(model, name + ".query_norm", width / heads);
        query_key_norms.emplace_back(model, name + ".key_norm", width / heads);
    }

    /// Causal: no place looks at later ones. Scores are softmax(q k^T / sqrt(head width) + penalty); the penalty
    /// (batch * heads, time, time), where there is one, keeps places such as padding from being looked at.
    Var operator()(Var x, bool causal, const std::optional<Var>& penalty = std::nullopt) const {
        return out_proj(heads_over(in_proj(x), x.dim(2), causal, penalty));
    }

  private:
    /// What lies between the projections: (batch, time, 3 width) -> (batch, time, width). Operations are named after
    /// their part: "attention/queries/scale" (or "attention/scores/scale"), "attention/scores/matmul",
    /// "attention/probabilities/softmax", "attention/mix/matmul".
    Var heads_over(Var projected, Index width, bool causal, const std::optional<Var>& penalty) const {
        const auto part = [&](const char* what, const auto& f) {
            const Tape::Scope scope(*projected.tape, name + "/" + what);
            return f();
        };
        const double factor = 1 / std::sqrt(static_cast<double>(width / heads));
        const auto projection = [&](const char* what, Index start) {
            return part(what, [&] { return heads_of(slice(projected, 2, start, width)); });
        };
        Var q = projection("queries", 0);
        if (options.normalised) q = query_key_norms[0](q);
        if (!options.scale_scores) q = part("queries", [&] { return scaled(q, factor); });
        Var k = projection("keys", width);
        if (options.normalised) k = query_key_norms[1](k);
        const Var v = projection("values", 2 * width);
        const Var scores = part("scores", [&] {
            Var s = matmul(q, k, true);
            if (options.scale_scores) s = scaled(s, factor);
            if (penalty) s = add(s, *penalty);
            return causal ? causal_mask(s) : s;
        });
        const Var p = part("probabilities", [&] { return softmax(scores); });
        return part("mix", [&] {
            // (batch * heads, time, head width) back to (batch, time, width)
            const Index batch = projected.dim(0);
            const Index time = projected.dim(1);
            const Var split = reshape(matmul(p, v), {batch, heads, time, width / heads});
            return reshape(permute(split, {0, 2, 1, 3}), {batch, time, width});
        });
    }

    /// (batch, time, width) -> (batch * heads, time, head width)
    Var heads_of(Var x) const {
        const Index each = x.dim(2) / heads;
        const Var split = permute(reshape(x, {x.dim(0), x.dim(1), heads, each}), {0, 2, 1, 3});
        return reshape(split, {x.dim(0) * heads, x.dim(1), each});
    }
};

/// x + f(x).
template <class Function>
Var residual(Var x, const Function& f) {
    return add(x, f(x));
}

}  // namespace ulp::inline ULPLAB_MODE
