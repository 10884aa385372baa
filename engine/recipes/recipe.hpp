// Precision as data: for every operation which format its inputs are cast to, which format its steps round to, and
// which format its results are stored in. A recipe is a value; the trainer has no `if` about formats.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/products/matmul.hpp"
#include "engine/recipes/loss_scale.hpp"
#include "engine/recipes/optimizer_state.hpp"
#include "engine/rounding/compute_format.hpp"

namespace ulp {

/// What one operation does with numbers.
struct OpPrecision {
    FloatFormat input;      // tensors are cast to it first (a cast is an operation of its own: backward casts back)
    ComputeFormat compute;  // each step inside is rounded to it
    FloatFormat output;     // results are stored in it
    ProductTypes product;   // for products: the grid the operands are rounded to, and the accumulator
};

/// What a cast list says of an operation.
enum class Cast : std::uint8_t {
    as_stored,  // in the format its inputs have (the widest, if they differ)
    low,        // in the recipe's low format
    single,     // in fp32
    banned      // refused, with an explanation
};
struct CastRule {
    std::string op;
    Cast cast;
};

/// How products bring their operands to 8 bits and less.
enum class OperandScaling : std::uint8_t {
    none,
    delayed,  // a power of two a tensor, from the largest magnitudes of the last uses (FP8 training)
    blocks    // a power of two for every 32 numbers along the summation (MX)
};

/// A way to train. The fields are independent: start from a named recipe and change what the experiment is about.
struct Recipe {
    std::string name;
    FloatFormat low = formats::fp32;      // the narrow format in play
    FloatFormat weights = formats::fp32;  // parameters as the model sees them
    FloatFormat inputs = formats::fp32;   // a batch is cast to it
    FloatFormat compute =
        formats::fp32;  // elementary operations round to the wider of this and the operation's input format
    FloatFormat operand = formats::fp32;      // products round fp32 operands to this grid (TF32 mode)
    std::optional<FloatFormat> b_operand{};   // the same for the right operand where it has another grid
    FloatFormat accumulator = formats::fp32;  // of products
    FloatFormat update = formats::fp32;       // steps of the optimizer, and its tensors
    OptimizerState state{};                   // formats of those tensors, where they are others
    UpdateRounding update_rounding = UpdateRounding::nearest;
    OperandScaling scaling = OperandScaling::none;  // the next three count where this is not none
    FloatFormat scaled_operand = formats::e4m3;     // of weights and activations
    FloatFormat scaled_gradient = formats::e5m2;    // of gradients (delayed)
    int scaling_history = 16;                       // uses that a delayed scale looks back on
    /// The optimizer updates copies in the update's format, then rounds them into the model.
    bool master_weights = false;
    /// Running statistics of batch normalisations: how they are kept, and the steps that move them. None: fp32, moved
    /// in the format in which the normalisation computes.
    std::optional<FloatFormat> statistics{};
    bool keep_batchnorm_fp32 = false;    // batch normalisations keep fp32 parameters and compute in them
    std::vector<CastRule> cast_rules{};  // by operation; others are Cast::as_stored
    LossScaleOptions loss_scale{};
    /// Options of every step and every stored tensor, fp32 included: flushing. Products are the backend's: matrix units
    /// keep subnormals.
    Context rounding{};
    /// Operations whose results are not stored where other point-wise operations of this list read them: these read
    /// them as computed, in the steps' format, and so do their gradients on the way back. Empty: every result is
    /// rounded to its storage format before it is read.
    std::vector<std::string> fused{};

    /// Throws std::invalid_argument for a banned operation.
    [[nodiscard]] OpPrecision precision_of(std::string_view op, std::span<const FloatFormat> inputs) const;
    /// The format as tensors are stored in it.
    [[nodiscard]] ComputeFormat stored(const FloatFormat& format) const { return {format, rounding}; }
    [[nodiscard]] bool fuses(std::string_view op) const;
    /// Of the products that make the recipe what it is: its narrow operands, and the accumulator.
    [[nodiscard]] ProductTypes product_types() const;
};

/// The recipe of that name. Throws std::invalid_argument that lists the names there are.
///
///     fp32        everything; with backend soft:ieee the reference with a written order
///     tf32        fp32, but products round their operands to tf32
///     bf16        weights, activations and gradients in bf16, fp32 masters
///     mixed_fp16  the same in fp16, the loss in fp32, a dynamic loss scale (set loss_scale for a constant one): the
///                 eleven steps, variant B
///     mixed_fp16_fp16_loss   variant A: the loss is computed in fp16, then cast to fp32 and scaled
///     fp16        everything in it, each step rounded, products accumulated in it, no masters, no scale
///     pure_bf16   the same in bf16, products accumulated in fp32 (no matrix unit accumulates in bf16)
///     fp8         as bf16, but products take E4M3 (gradients E5M2) with delayed scales, and accumulate in fp32
///     mxfp8       as bf16, but products take blocks of 32 E4M3 with a shared power of two: block-scaled products where
///                 the backend has them (soft:b200), elsewhere products of what the blocks stand for, in bf16
///     bf16_weights, fp16_weights   as bf16 and mixed_fp16 without masters: updates are computed in fp32, new weights
///                 rounded to nearest
///     bf16_sr     as bf16_weights, new weights rounded stochastically
///     bf16_kahan  as bf16_weights, with Kahan's compensation in bf16
///     bf16_moments   as bf16, the optimizer's moments kept in bf16 (DeepSeek-V3, arXiv 2412.19437, 3.3)
///     msamp_o2    as fp8, the optimizer's tensors as in FP8-LM (arXiv 2310.18313, 2.2): masters in fp16, gradients and
///                 first moments in E4M3, second moments in fp16, each tensor with a power of two as its scale
///     fp64        for gradient checks, with Real = double
///
/// A name may carry options, as in "bf16+ftz+fused":
///
///     +ftz        subnormal numbers are flushed, as operands and as results
///     +fused      chains of point-wise operations keep what they pass on unrounded
Recipe recipe_by_name(std::string_view name);
const std::vector<Recipe>& recipes();

/// The operations that work element by element.
std::span<const std::string_view> pointwise_operations();

/// a or b, whichever holds the other's values; fp32 if neither does (fp16 and bf16).
FloatFormat widest(const FloatFormat& a, const FloatFormat& b);

}  // namespace ulp
