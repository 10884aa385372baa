// Counts bytes from shapes alone, for nets that are too large to run here.
#pragma once

#include <cstdint>

#include "experiments/nets/net.hpp"

namespace ulp {

/// GPT-2 (Radford et al., 2019), the small one: vocabulary 50257, 1024 places, width 768, 12 blocks.
struct Gpt2Plan {
    std::int64_t parameters = 0;      // all
    std::int64_t block_matrices = 0;  // of them, the weights of the blocks' linear layers
    std::int64_t mask_bytes = 0;      // one byte for each pair of places in each block
    std::int64_t scalars = 0;         // the number that masked scores take, one a block
};
Gpt2Plan gpt2_plan();

/// What Transformers' get_memory_footprint adds up: parameters and buffers. The scalars have the parameters' format.
std::int64_t gpt2_bytes(const Gpt2Plan& plan, std::int64_t bytes_of_a_number, std::int64_t bytes_of_a_matrix_entry);

/// A net of convolutions, relus, pools and linear layers, one behind the other. Throws std::invalid_argument for
/// others.
struct NetPlan {
    Layers net;
    Shape image = {1, 28, 28};
    Index classes = 10;

    [[nodiscard]] std::int64_t parameters() const { return parameters_of(net, image, classes); }

    /// The peak of one training step with Adam as PyTorch's autograd makes it; `low` is the size of a number in
    /// activations: 4 in fp32, 2 under autocast, which also keeps fp16 copies of the weights. Workspaces left out.
    [[nodiscard]] std::int64_t training_bytes(std::int64_t batch, std::int64_t low) const;
    /// The largest batch whose training_bytes fit.
    [[nodiscard]] std::int64_t largest_batch(std::int64_t bytes, std::int64_t low) const;

    /// What this project's trainer holds after one step with Adam: every tensor on its tape, no indices; with low = 2
    /// the recipe mixed_fp16.
    [[nodiscard]] std::int64_t tape_bytes(std::int64_t batch, std::int64_t low) const;
};

}  // namespace ulp
