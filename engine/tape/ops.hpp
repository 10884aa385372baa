// The operations. Every one follows the recipe (which formats, where it rounds) and can be differentiated.
//
// Inside an operation each written step (a sum, a product, a function) is rounded to the operation's compute format;
// reductions run in ascending order; the result is rounded once more to its storage format. Operations that only move
// numbers never round. Shapes that do not fit throw std::invalid_argument that names them.
#pragma once

#include <optional>
#include <vector>

#include "engine/tape/tape.hpp"

namespace ulp::inline ULPLAB_MODE {

// ---- Matrix products (by the backend) ----

/// x (..., in) times weight (out, in) transposed, plus bias (out), if any: (..., out). The accumulator's result is
/// rounded to the steps' format, the bias added as a step, and the sum stored. Backward: dx = dy W, dW = dy^T x, db =
/// column sums.
Var linear(Var x, Var weight, const std::optional<Var>& bias = std::nullopt);

/// a (m, k) times b (k, n), or both with a leading batch dimension; transpose_b: b is (n, k).
Var matmul(Var a, Var b, bool transpose_b = false);

/// In pixels; the same for both dimensions. groups divides the channels on both sides.
struct ConvOptions {
    Index stride = 1;
    Index padding = 0;  // zeros on every side
    Index dilation = 1;
    Index groups = 1;
};
/// x (images, in, h, w), weight (out, in / groups, kernel_h, kernel_w), bias (out), if any. One product a group for the
/// whole batch; sums over channels, then rows, then columns of the kernel.
Var conv2d(Var x, Var weight, const std::optional<Var>& bias, const ConvOptions& options = {});
/// x (images, in, length), weight (out, in / groups, kernel).
Var conv1d(Var x, Var weight, Var bias, const ConvOptions& options = {});
/// x (images, in, h, w), weight (in, out / groups, kernel_h, kernel_w), bias (out): the input gradient of a
/// convolution. Overlapping contributions are added in the steps' format.
Var conv_transpose2d(Var x, Var weight, Var bias, const ConvOptions& options = {});

// ---- Element by element ----

/// max(x, 0); the gradient at 0 is 0. NaN passes.
Var relu(Var x);
/// x where it is positive, else slope * x; the gradient at 0 is the slope.
Var leaky_relu(Var x, double slope);
/// 1 / (1 + exp(-x)).
Var sigmoid(Var x);
/// The hyperbolic tangent.
Var tanh(Var x);
/// x times the normal distribution function at x (the exact form, not the tanh approximation).
Var gelu(Var x);
/// x times sigmoid(x).
Var silu(Var x);
/// x times a constant.
Var scaled(Var x, double factor);
/// a + b, element by element; b has a's shape or that of a's last dimensions, and repeats over the others.
Var add(Var a, Var b);
/// a - b, with shapes as for add.
Var subtract(Var a, Var b);
/// a * b, element by element, with shapes as for add.
Var multiply(Var a, Var b);
/// Rotary position embedding (Su et al., RoFormer, 2021). Pair i of row p, (a, b), turns by the angle
/// p * base^(-2i / width): (a cos - b sin, b cos + a sin). Cosines and sines are taken in the container's format and
/// rounded to the input's.
struct RotaryOptions {
    double base = 10000;
    bool adjacent = false;  // pairs are numbers 2i and 2i + 1; else i and i + width / 2, as in Llama's checkpoints
};
/// x (..., time, width), width even.
Var rotary(Var x, const RotaryOptions& options);
/// Zero with the probability `rate`, else x / (1 - rate); x itself outside training. The choice depends on the engine's
/// seed and step and on the operation's label.
Var dropout(Var x, double rate);

// ---- Moving numbers ----

/// The same elements in row-major order; as many as before.
Var reshape(Var x, Shape shape);
/// Dimension order[d] of x becomes dimension d.
Var permute(Var x, const std::vector<Index>& order);
/// Elements start .. start + length - 1 of a dimension. Negative dimensions count from the end.
Var slice(Var x, Index dimension, Index start, Index length);
/// Each row of a dimension `times` times in place: rows 0 0 1 1 2 2. Backward sums the copies in ascending order.
Var repeat(Var x, Index dimension, Index times);
/// Parts one after the other along a dimension; the other extents are equal.
Var concat(std::vector<Var> parts, Index dimension);
/// Rows of the table (vocabulary, width) by token: shape + (width). Gradients of a token add up in the tokens' order.
Var embedding(Var table, const std::vector<int>& ids, Shape shape);

// ---- Mixtures of experts (rows of a matrix to some of several nets) ----

/// Of each row of scores (rows, experts) the softmax over the `count` largest, taken from the largest down; 0
/// elsewhere. The first of equals is larger (Jiang et al., Mixtral of Experts, 2024). Backward: as softmax, 0
/// elsewhere.
Var top_k_softmax(Var scores, Index count);
/// These rows of x (rows, width), in this order. Gradients of a row add up in the order of `rows`.
Var select_rows(Var x, const std::vector<int>& rows);
/// Row i of x (rows, width) times the number w (rows, 1).
Var multiply_rows(Var x, Var w);
/// (count, width): row rows[e][i] is the sum of row i of part e, from part 0 on. Rows that no part has are 0.
Var add_rows(std::vector<Var> parts, const std::vector<std::vector<int>>& rows, Index count);

// ---- Pools and normalisations ----

/// Windows of window x window without overlap; what is left over at the edges is dropped. The first of equals wins.
Var max_pool2d(Var x, Index window);
/// The same with the mean: the sum in ascending order, divided by window^2.
Var avg_pool2d(Var x, Index window);
/// Over the last dimension; weight and bias of its extent. The input decides the result's format; steps are as wide as
/// the parameters.
Var layer_norm(Var x, Var weight, Var bias, double eps = 1e-5);
/// Over the last dimension: x / sqrt(mean of x^2 + eps) times weight (Zhang and Sennrich, 2019). Formats as
/// layer_norm's.
Var rms_norm(Var x, Var weight, double eps = 1e-5);
/// Over sets of channels and all pixels of an image.
Var group_norm(Var x, Var weight, Var bias, Index groups, double eps = 1e-5);
/// PyTorch's defaults.
struct BatchNormOptions {
    double eps = 1e-5;
    double momentum = 0.1;  // running = (1 - momentum) * running + momentum * batch; its variance is the unbiased one
};
/// Over images and pixels of each channel. In training it moves the statistics; otherwise it uses them, and has no
/// gradient.
Var batch_norm(Var x, Var weight, Var bias, BatchStatistics& statistics, const BatchNormOptions& options = {});

// ---- Rows of scores ----

/// Over the last dimension: exp(x - max) / sum.
Var softmax(Var x);
/// The logarithm of softmax: (x - max) - log(sum of exp(x - max)).
Var log_softmax(Var x);
/// -infinity above the diagonal of the last two dimensions, which must be equal.
Var causal_mask(Var scores);

// ---- Losses: one number each ----

/// What becomes of the terms of a loss. The sum leaves out the division, forward and backward.
enum class Reduction : std::uint8_t { mean, sum };
/// mean, sum. Throws std::invalid_argument that lists them.
Reduction reduction_by_name(std::string_view name);

/// Mean over the rows (or the sum) of -log softmax(logits)[label]: logits (rows, classes). With m the row's maximum,
///
///     loss(row) = log(sum of exp(x_j - m), j ascending) - (x_label - m)
///     gradient  = (exp(x_j - m) / sum - [j = label]) * (upstream / rows)
///
/// Throws std::invalid_argument for an empty batch or a label outside the classes.
Var cross_entropy(Var logits, const std::vector<int>& labels, Reduction reduction = Reduction::mean);
/// Mean (or sum) of the squared differences.
Var mse(Var x, const Tensor& target, Reduction reduction = Reduction::mean);
/// Mean (or sum) of max(x, 0) - x t + log(1 + exp(-|x|)).
Var bce_with_logits(Var x, const Tensor& target, Reduction reduction = Reduction::mean);
/// What one sequence of a batch should read: labels without blanks.
struct CtcTarget {
    std::vector<int> labels;
    Index steps;  // of the sequence; the rest of the time dimension is padding
};
/// log_probabilities (time, batch, classes): each sequence's -log P divided by its labels, then the mean; or the sum of
/// -log P.
Var ctc(Var log_probabilities, const std::vector<CtcTarget>& targets, int blank = 0,
        Reduction reduction = Reduction::mean);

}  // namespace ulp::inline ULPLAB_MODE
