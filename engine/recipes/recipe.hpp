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
#include "engine/recipes/product_rules.hpp"
#include "engine/tensor/rounder.hpp"

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

/// A way to train. The fields are independent: start from a named recipe and change what the experiment is about.
struct Recipe {
    std::string name;
    std::string what{};                   // one line
    FloatFormat low = formats::fp32;      // the narrow format in play
    FloatFormat weights = formats::fp32;  // parameters as the model sees them
    FloatFormat inputs = formats::fp32;   // a batch is cast to it
    FloatFormat compute =
        formats::fp32;  // elementary operations round to the wider of this and the operation's input format
    FloatFormat operand = formats::fp32;      // products round fp32 operands to this grid (TF32 mode)
    std::optional<FloatFormat> b_operand{};   // the same for the right operand where it has another grid
    FloatFormat accumulator = formats::fp32;  // of products
    FloatFormat update = formats::fp32;       // steps of the optimizer, and its tensors; fp32 for norms kept in it
    OptimizerState state{};                   // formats of those tensors, where they are others
    UpdateRounding update_rounding = UpdateRounding::nearest;
    ProductRules products{};            // how products quantise their operands
    std::vector<Exclusion> excluded{};  // layers whose products another recipe computes
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

/// The recipe of that name; recipes() says what each is. Throws std::invalid_argument that lists the names there are.
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
