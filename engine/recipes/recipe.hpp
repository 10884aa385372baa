// Precision as data: for every operation which format its inputs are cast to, which format its steps round to, and
// which format its results are stored in. A recipe is a value; the trainer has no `if` about formats.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/products/matmul.hpp"
#include "engine/recipes/loss_scale.hpp"
#include "engine/recipes/product_rules.hpp"
#include "engine/tensor/matrix.hpp"
#include "engine/tensor/rounder.hpp"
#include "softfloat/format.hpp"

namespace ulp {

// Recipes whose products take operands of 8 bits and less, as rows. All train as bf16 does, with
// fp32 masters unless the row says otherwise.

// How an optimizer keeps its tensors from step to step, and how a new weight gets onto the grid of its format.

/// How a new weight gets onto its format's grid where that is narrower than the update's steps.
enum class UpdateRounding : std::uint8_t {
    nearest,
    stochastic,  // up with the probability of the dropped fraction, by counter-based random numbers
    kahan        // to nearest, and what was lost is kept and added to the next update (one more number a weight)
};

/// The format of a tensor between steps. `scaled`: the numbers are multiplied by a power of two before they are
/// rounded, the largest with which the tensor's largest magnitude is at most the format's (MS-AMP's rule,
/// common/tensor/meta.py, with margin 0).
struct StateFormat {
    FloatFormat format;
    bool scaled = false;

    /// What that many numbers take.
    [[nodiscard]] std::int64_t bytes(Index count) const {
        return count * format.storage_bits() / 8 + (scaled ? static_cast<std::int64_t>(sizeof(float)) : 0);
    }
};

/// The tensors that a training keeps beside the weights. Where nothing stands, they are in the update's format. Steps
/// are computed in the update's format; the weight moves by the moments as computed, and then they are rounded (so
/// MS-AMP, optim/adamw.cu).
struct OptimizerState {
    std::optional<StateFormat> weight{};    // what the model sees, made from the masters after each update
    std::optional<StateFormat> master{};    // the optimizer's copies of the weights
    std::optional<StateFormat> gradient{};  // sums over micro-batches, and what the optimizer reads
    std::optional<StateFormat> m{};         // means of gradients, momentum
    std::optional<StateFormat> v{};         // means and sums of squares, Sophia's curvature
    /// Weight, master and gradient are kept so for the weights of linear layers alone (MS-AMP's LinearReplacer,
    /// nn/linear.py, makes scaled tensors of these); other parameters have them in the recipe's formats.
    bool linear_weights_only = false;
};

/// The power of two by which MS-AMP multiplies before it rounds: 2^floor(log2(largest of the format / amax)), at most
/// the one with which every number of the format is still one of fp32's when it is divided again. 1 where amax is 0,
/// infinite or NaN (MS-AMP keeps the scale of the step before).
float power_of_two_scale(const FloatFormat& format, float amax);

struct QuantizedRecipe {
    std::string name;
    std::string what;  // one line
    ProductRules products;
    std::vector<Exclusion> excluded{};
    OptimizerState state{};
};

const std::vector<QuantizedRecipe>& quantized_recipes();

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

// Which operations automatic casting runs in which precision: one table, three authors.
//
// Sources: apex amp (lists/functional_overrides.py, torch_overrides.py, tensor_overrides.py); PyTorch's "Automatic
// Mixed Precision" documentation, CUDA ops and CPU ops. Operations without a row, and those that the authors let
// through or promote, run in the widest format of their inputs.

enum class CastList : std::uint8_t { apex, pytorch_cuda, pytorch_cpu };
/// "apex", "pytorch_cuda", "pytorch_cpu". Throws std::invalid_argument with the list.
CastList cast_list_by_name(std::string_view name);
/// The rows of one author as a recipe takes them.
std::vector<CastRule> cast_rules_of(CastList list);

/// The operations that multiply matrices.
std::span<const std::string_view> product_operations();
/// The recipe with these operations computed and stored in fp32, products with fp32 operands and sums: their backend
/// must have those.
Recipe with_fp32_operations(Recipe recipe, const std::vector<std::string>& operations);
/// The recipe with these operations in its low format, batch normalisations' parameters included.
Recipe with_low_operations(Recipe recipe, const std::vector<std::string>& operations);

}  // namespace ulp
