// How a recipe's matrix products take their operands: rows of data for each of the three products of a layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "softfloat/quantization/quantization.hpp"

namespace ulp {

/// What a delayed scale remembers: the largest magnitudes of earlier uses.
struct ScaleHistory {
    enum class Key : std::uint8_t {
        product,  // one history for each product and side: x has two
        tensor    // one for each tensor of a layer (x, w, dy), which has one scale in all products of a step
    };
    int length = 0;            // uses that it looks back on; 0: the scale is computed from the numbers of now
    bool most_recent = false;  // the statistic is that of the last use; else the largest of all
    Key key = Key::product;
    bool operator==(const ScaleHistory&) const = default;
};

/// One operand of a product.
struct OperandRule {
    std::optional<Quantization> how{};  // none: it passes as it is, on the recipe's grid
    ScaleHistory history{};
    bool operator==(const OperandRule&) const = default;
};

/// One product, D = A * B. Both operands are quantised along k, each with its own rule.
struct ProductRule {
    OperandRule a, b;
    /// The unit adds up that many k in its own arithmetic; such partial sums, times their blocks' scales, are added in
    /// `promote_to`, each step rounded. 0: the unit adds up all of k.
    int promote_every = 0;
    FloatFormat promote_to = formats::fp32;
    std::optional<FloatFormat> output{};  // what D is rounded to; none: as the accumulator gives it
    bool operator==(const ProductRule&) const = default;
};

/// The three products of a layer, with x its input, w its weight, dy the gradient of its result: y = x w^T (A is x, B
/// is w), dx = dy w (dy, w), dw = dy^T x (dy, x).
struct ProductRules {
    ProductRule fprop, dgrad, wgrad;
    [[nodiscard]] bool quantised() const { return *this != ProductRules{}; }
    bool operator==(const ProductRules&) const = default;
};

/// Layers whose products another recipe computes. Exactly one of the four says which.
struct Exclusion {
    std::string layer{};  // by name: "fc2"
    std::string kind{};   // by operation: "linear", "matmul" (of two activations: attention), "conv2d", ...
    int first = 0;        // the first linear layers, that many, of the model
    int last = 0;         // the last, that many
    std::string recipe = "bf16";
    bool operator==(const Exclusion&) const = default;
};

/// Every field as text, for the identity of a run: equal texts are equal rules.
std::string text_of(const OperandRule& rule);
std::string text_of(const ProductRule& rule);
std::string text_of(const Exclusion& exclusion);

}  // namespace ulp
