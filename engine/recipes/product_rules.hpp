// How a recipe's matrix products take their operands: rows of data for each of the three products of a layer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/products/matmul.hpp"
#include "engine/tensor/matrix.hpp"
#include "softfloat/quantization/quantization.hpp"
#include "softfloat/quantization/quantize.hpp"

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

// How a backend computes a product of quantised operands.

/// The ways, the first that fits is taken.
enum class ProductWay : std::uint8_t {
    plain,         // operands as they are
    promoted,      // elements, in pieces of promote_every along k; scales at each piece's end
    block_scaled,  // elements and scales on the unit's block-scaled row
    scaled_after,  // elements; the scales, which do not vary along k, at the end
    dequantised    // the numbers that elements and scales stand for
};

struct ProductPlan {
    ProductWay way;
    ProductTypes types;  // that the backend is asked for
};

/// `plain` are the types without quantisation. Throws std::invalid_argument for operands that do not fit each other:
/// one with a transform along k, the other with another one.
ProductPlan plan_product(const ProductRule& rule, const ProductTypes& plain, const MatmulBackend& backend);

/// For the log of products: ", of the numbers that the blocks stand for"; empty for the ways that the types tell.
std::string text_of(const ProductPlan& plan, const ProductRule& rule);

struct Recipe;
/// Why a backend cannot compute a recipe's products, with a backend that can, in one sentence; none where it can.
std::optional<std::string> refusal_of(const Recipe& recipe, const MatmulBackend& backend);

// Operands quantised by their rules, and what delayed scales remember from one use to the next.

/// The largest magnitudes of the last uses, oldest first, by place ("fc1/linear, forward, a", or "fc1/linear, x" with
/// the key of a tensor); at "fc1/linear, x, scale" what the tensor's numbers are multiplied by in this step.
using ScalingHistory = std::map<std::string, std::vector<float>>;

/// Which operand it is.
struct OperandPlace {
    std::string product;       // "fc1/linear, forward, a"
    std::string tensor;        // "fc1/linear, x"
    bool used_before = false;  // in this step, in another product of the layer
};

/// Lines along k quantised by the rule. A delayed scale is known before the numbers are: it comes from the history,
/// into which this use's own magnitude goes then. A tensor's scale is that of its first use in a step, in all products.
/// `remember` false leaves the history as it is: for evaluation.
Quantized quantized_operand(const OperandRule& rule, const MatrixView& lines, const OperandPlace& place,
                            ScalingHistory& history, bool remember, QuantizedUse use = {});

}  // namespace ulp
