// The operations. Every one follows the recipe (which formats, where it rounds) and can be differentiated.
//
// Inside an operation each written step (a sum, a product, a function) is rounded to the operation's compute format;
// reductions run in ascending order; the result is rounded once more to its storage format. Operations that only move
// numbers never round. Shapes that do not fit throw std::invalid_argument that names them.
#pragma once

#include <vector>

#include "engine/tape/tape.hpp"

namespace ulp {

// ---- Matrix products (by the backend) ----

/// x (..., in) times weight (out, in) transposed, plus bias (out): (..., out). The accumulator's result is rounded to
/// the steps' format, the bias added as a step, and the sum stored. Backward: dx = dy W, dW = dy^T x, db = column sums.
template <class Real>
BasicVar<Real> linear(BasicVar<Real> x, BasicVar<Real> weight, BasicVar<Real> bias);

/// a (m, k) times b (k, n), or both with a leading batch dimension; transpose_b: b is (n, k).
template <class Real>
BasicVar<Real> matmul(BasicVar<Real> a, BasicVar<Real> b, bool transpose_b = false);

/// In pixels; the same for both dimensions. groups divides the channels on both sides.
struct ConvOptions {
    Index stride = 1;
    Index padding = 0;  // zeros on every side
    Index dilation = 1;
    Index groups = 1;
};
/// x (images, in, h, w), weight (out, in / groups, kernel_h, kernel_w), bias (out). One product a group for the whole
/// batch; sums over channels, then rows, then columns of the kernel.
template <class Real>
BasicVar<Real> conv2d(BasicVar<Real> x, BasicVar<Real> weight, BasicVar<Real> bias, const ConvOptions& options = {});
/// x (images, in, length), weight (out, in / groups, kernel).
template <class Real>
BasicVar<Real> conv1d(BasicVar<Real> x, BasicVar<Real> weight, BasicVar<Real> bias, const ConvOptions& options = {});
/// x (images, in, h, w), weight (in, out / groups, kernel_h, kernel_w), bias (out): the input gradient of a
/// convolution. Overlapping contributions are added in the steps' format.
template <class Real>
BasicVar<Real> conv_transpose2d(BasicVar<Real> x, BasicVar<Real> weight, BasicVar<Real> bias,
                                const ConvOptions& options = {});

// ---- Element by element ----

/// max(x, 0); the gradient at 0 is 0. NaN passes.
template <class Real>
BasicVar<Real> relu(BasicVar<Real> x);
/// x where it is positive, else slope * x; the gradient at 0 is the slope.
template <class Real>
BasicVar<Real> leaky_relu(BasicVar<Real> x, double slope);
/// 1 / (1 + exp(-x)).
template <class Real>
BasicVar<Real> sigmoid(BasicVar<Real> x);
/// The hyperbolic tangent.
template <class Real>
BasicVar<Real> tanh(BasicVar<Real> x);
/// x times the normal distribution function at x (the exact form, not the tanh approximation).
template <class Real>
BasicVar<Real> gelu(BasicVar<Real> x);
/// x times a constant.
template <class Real>
BasicVar<Real> scaled(BasicVar<Real> x, double factor);
/// a + b, element by element; b has a's shape or that of a's last dimensions, and repeats over the others.
template <class Real>
BasicVar<Real> add(BasicVar<Real> a, BasicVar<Real> b);
/// a - b, with shapes as for add.
template <class Real>
BasicVar<Real> subtract(BasicVar<Real> a, BasicVar<Real> b);
/// a * b, element by element, with shapes as for add.
template <class Real>
BasicVar<Real> multiply(BasicVar<Real> a, BasicVar<Real> b);
/// Zero with the probability `rate`, else x / (1 - rate); x itself outside training. The choice depends on the engine's
/// seed and step and on the operation's label.
template <class Real>
BasicVar<Real> dropout(BasicVar<Real> x, double rate);

// ---- Moving numbers ----

/// The same elements in row-major order; as many as before.
template <class Real>
BasicVar<Real> reshape(BasicVar<Real> x, Shape shape);
/// Dimension order[d] of x becomes dimension d.
template <class Real>
BasicVar<Real> permute(BasicVar<Real> x, const std::vector<Index>& order);
/// Elements start .. start + length - 1 of a dimension. Negative dimensions count from the end.
template <class Real>
BasicVar<Real> slice(BasicVar<Real> x, Index dimension, Index start, Index length);
/// Parts one after the other along a dimension; the other extents are equal.
template <class Real>
BasicVar<Real> concat(std::vector<BasicVar<Real>> parts, Index dimension);
/// Rows of the table (vocabulary, width) by token: shape + (width). Gradients of a token add up in the tokens' order.
template <class Real>
BasicVar<Real> embedding(BasicVar<Real> table, const std::vector<int>& ids, Shape shape);

// ---- Pools and normalisations ----

/// Windows of window x window without overlap; what is left over at the edges is dropped. The first of equals wins.
template <class Real>
BasicVar<Real> max_pool2d(BasicVar<Real> x, Index window);
/// The same with the mean: the sum in ascending order, divided by window^2.
template <class Real>
BasicVar<Real> avg_pool2d(BasicVar<Real> x, Index window);
/// Over the last dimension; weight and bias of its extent. The input decides the result's format; steps are as wide as
/// the parameters.
template <class Real>
BasicVar<Real> layer_norm(BasicVar<Real> x, BasicVar<Real> weight, BasicVar<Real> bias, double eps = 1e-5);
/// Over sets of channels and all pixels of an image.
template <class Real>
BasicVar<Real> group_norm(BasicVar<Real> x, BasicVar<Real> weight, BasicVar<Real> bias, Index groups,
                          double eps = 1e-5);
/// PyTorch's defaults.
struct BatchNormOptions {
    double eps = 1e-5;
    double momentum = 0.1;  // running = (1 - momentum) * running + momentum * batch; its variance is the unbiased one
};
/// Over images and pixels of each channel. In training it moves the statistics; otherwise it uses them, and has no
/// gradient.
template <class Real>
BasicVar<Real> batch_norm(BasicVar<Real> x, BasicVar<Real> weight, BasicVar<Real> bias,
                          BasicBatchStatistics<Real>& statistics, const BatchNormOptions& options = {});

// ---- Rows of scores ----

/// Over the last dimension: exp(x - max) / sum.
template <class Real>
BasicVar<Real> softmax(BasicVar<Real> x);
/// The logarithm of softmax: (x - max) - log(sum of exp(x - max)).
template <class Real>
BasicVar<Real> log_softmax(BasicVar<Real> x);
/// -infinity above the diagonal of the last two dimensions, which must be equal.
template <class Real>
BasicVar<Real> causal_mask(BasicVar<Real> scores);

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
template <class Real>
BasicVar<Real> cross_entropy(BasicVar<Real> logits, const std::vector<int>& labels,
                             Reduction reduction = Reduction::mean);
/// Mean (or sum) of the squared differences.
template <class Real>
BasicVar<Real> mse(BasicVar<Real> x, const BasicTensor<Real>& target, Reduction reduction = Reduction::mean);
/// Mean (or sum) of max(x, 0) - x t + log(1 + exp(-|x|)).
template <class Real>
BasicVar<Real> bce_with_logits(BasicVar<Real> x, const BasicTensor<Real>& target,
                               Reduction reduction = Reduction::mean);
/// What one sequence of a batch should read: labels without blanks.
struct CtcTarget {
    std::vector<int> labels;
    Index steps;  // of the sequence; the rest of the time dimension is padding
};
/// log_probabilities (time, batch, classes): each sequence's -log P divided by its labels, then the mean; or the sum of
/// -log P.
template <class Real>
BasicVar<Real> ctc(BasicVar<Real> log_probabilities, const std::vector<CtcTarget>& targets, int blank = 0,
                   Reduction reduction = Reduction::mean);

}  // namespace ulp
