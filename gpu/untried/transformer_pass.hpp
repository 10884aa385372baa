// One forward pass of a Transformer of GPT-2's shape with seeded weights: its products by a library, its attention by
// the kernel of gpu/untried, or both by their models on the CPU. What is no product (norms, GELU, sums of residuals)
// is computed by the CPU in either case, so that bits can differ in products alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/analysis/tiled_attention.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/untried/library.hpp"

namespace ulp::gpu {

// Attention as one fused kernel on a GPU: engine/analysis/tiled_attention.hpp says what it computes. The model there
// gives the bits that the kernel must give, so that it also tells at which lengths two sizes of tiles differ.

/// One head of fp16 or bf16, with P in the same format, the keys in one split and no lazy rescaling.
using ulp::AttentionProblem;
inline constexpr int largest_tile_keys = 256;  // a tile is a multiple of 16
inline constexpr int largest_head = 256;

/// Throws UsageError, naming the limit, where the shapes do not fit each other or the kernel: a head is a multiple
/// of 16.
void require_attention(const AttentionProblem& problem);

/// O, queries x head by rows, in fp32, with products of `model`, whose instruction takes 16 k. Throws as
/// require_attention does. Uses OpenMP's threads; the bits do not depend on their number.
std::vector<float> attend(const TensorCoreModel& model, const AttentionProblem& problem);
/// The same with each product by its definition, element by element.
std::vector<float> attend_plain(const TensorCoreModel& model, const AttentionProblem& problem);

/// The instruction behind the kernel, and the row that it is compared with on the device's architecture. Throws
/// UsageError where the device lacks it.
const Instruction& attention_instruction(const Executor& device, const FloatFormat& format);
TensorCoreModel attention_model(const Executor& device, const FloatFormat& format);

/// O as the device computes it: by the kernel on a GPU, by attend_plain() where software stands in for one. Throws
/// DataError where the device fails.
std::vector<float> attend_on(const Executor& device, const AttentionProblem& problem);
/// The kernel on the first CUDA device. Throws DataError where the build has no CUDA, or the device fails.
std::vector<float> attend_on_cuda(const AttentionProblem& problem);

/// GPT-2 small by default (Radford et al. 2019); its biases are 0 before training, so there are none.
struct TransformerShape {
    std::int64_t layers = 12;
    std::int64_t heads = 12;
    std::int64_t width = 768;  // of the model; a head's is width / heads, a multiple of 16
    std::int64_t vocabulary = 50257;
    std::int64_t tokens = 64;
    int tile_keys = 64;  // of attention
};
/// Throws UsageError that names the size and what it may be.
void require_shape(const TransformerShape& shape);

/// What computes the products of fp16 numbers, with sums in fp32.
struct TransformerProducts {
    /// rows of A by k times columns of B by k, both with k fastest; `name` is the product's. D by rows.
    std::function<std::vector<float>(const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k,
                                     const std::vector<float>& a, const std::vector<float>& b)>
        multiply;
    std::function<std::vector<float>(const AttentionProblem& problem)> attend;
};
/// By the library's own choice of kernels and the device's attention. Throws DataError where either fails, or the
/// library has no such product.
TransformerProducts products_on(Library& library, const Executor& device);
/// By the orders that follow from the library's answers and by the model of attention. `multiply` throws DataError,
/// naming the product, where no order is known.
TransformerProducts predicted_products(Library& library, const Executor& device);

struct TransformerPass {
    std::vector<float> logits;  // tokens x vocabulary
    /// Each product in its order, "layer 3 attention, head 7", and the digest of its result
    /// (gpu/instructions/input_classes.hpp).
    std::vector<std::pair<std::string, std::uint64_t>> products;
};
/// Tokens and weights are drawn from the seed, weights with deviation 0.02 as GPT-2's are.
TransformerPass transformer_pass(const TransformerShape& shape, std::uint64_t seed,
                                 const TransformerProducts& products);

}  // namespace ulp::gpu
