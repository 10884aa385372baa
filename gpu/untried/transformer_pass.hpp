// One forward pass of a Transformer of GPT-2's shape with seeded weights: its products by a library, its attention by
// the kernel of gpu/untried, or both by their models on the CPU. What is no product (norms, GELU, sums of residuals)
// is computed by the CPU in either case, so that bits can differ in products alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/untried/attention.hpp"
#include "gpu/untried/library.hpp"

namespace ulp::gpu {

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
    /// (gpu/devices/digest.hpp).
    std::vector<std::pair<std::string, std::uint64_t>> products;
};
/// Tokens and weights are drawn from the seed, weights with deviation 0.02 as GPT-2's are.
TransformerPass transformer_pass(const TransformerShape& shape, std::uint64_t seed,
                                 const TransformerProducts& products);

}  // namespace ulp::gpu
