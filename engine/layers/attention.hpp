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
    double dropout = 0;  // of probabilities, once they are stored
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
        const Var p = part("probabilities", [&] { return dropout(softmax(scores), options.dropout); });
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

struct GroupedAttentionOptions {
    Index heads = 1;
    Index key_value_heads = 0;  // each serves heads / key_value_heads neighbours; 0: as many as heads
    Index head_width = 0;       // 0: width / heads
    bool causal = true;
    bool biased = false;      // queries, keys and values
    bool out_biased = false;  // what comes out
    std::optional<RotaryOptions> rotary{};
    double dropout = 0;
};

/// Attention with fewer heads of keys and values than of queries (Ainslie et al., GQA, 2023) and rotary places, as
/// Llama, Mistral and Qwen 2 have it. Scores are q k^T, stored, times 1 / sqrt(head width), and softmax over the places
/// seen.
struct GroupedAttention {
    std::string name;
    GroupedAttentionOptions options;
    Index each;  // width of a head
    Linear q_proj, k_proj, v_proj, o_proj;

    GroupedAttention(Model& model, std::string layer_name, Index width, GroupedAttentionOptions how)
        : name(std::move(layer_name)),
          options(checked(how, width)),
          each(options.head_width),
          q_proj(model, name + ".q_proj", width, options.heads * each, how.biased),
          k_proj(model, name + ".k_proj", width, options.key_value_heads * each, how.biased),
          v_proj(model, name + ".v_proj", width, options.key_value_heads * each, how.biased),
          o_proj(model, name + ".o_proj", options.heads * each, width, how.out_biased) {}

    /// x (batch, time, width).
    Var operator()(Var x) const {
        const auto part = [&](const char* what, const auto& f) {
            const Tape::Scope scope(*x.tape, name + "/" + what);
            return f();
        };
        const Var q = part("queries", [&] { return placed(heads_of(q_proj(x), options.heads)); });
        const Var k = part("keys", [&] { return repeated(placed(heads_of(k_proj(x), options.key_value_heads))); });
        const Var v = part("values", [&] { return repeated(heads_of(v_proj(x), options.key_value_heads)); });
        const Var scores = part("scores", [&] {
            const Var s = scaled(matmul(q, k, true), 1 / std::sqrt(static_cast<double>(each)));
            return options.causal ? causal_mask(s) : s;
        });
        const Var p = part("probabilities", [&] { return dropout(softmax(scores), options.dropout); });
        const Var mixed = part("mix", [&] {
            const Var split = reshape(matmul(p, v), {x.dim(0), options.heads, x.dim(1), each});
            return reshape(permute(split, {0, 2, 1, 3}), {x.dim(0), x.dim(1), options.heads * each});
        });
        return o_proj(mixed);
    }

  private:
    static GroupedAttentionOptions checked(GroupedAttentionOptions how, Index width) {
        if (how.key_value_heads == 0) how.key_value_heads = how.heads;
        if (how.heads < 1 || how.heads % how.key_value_heads != 0 || (how.head_width == 0 && width % how.heads != 0)) {
            throw std::invalid_argument(
                "attention: the heads of keys and values do not divide those of queries, or these the width");
        }
        if (how.head_width == 0) how.head_width = width / how.heads;
        return how;
    }
    Var placed(Var x) const { return options.rotary ? rotary(x, *options.rotary) : x; }
    Var repeated(Var x) const {
        const Index times = options.heads / options.key_value_heads;
        return times == 1 ? x : repeat(x, 0, times);
    }
    /// (batch, time, heads * each) -> (batch * heads, time, each)
    Var heads_of(Var x, Index heads) const {
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
