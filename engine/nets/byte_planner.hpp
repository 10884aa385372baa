// Counts bytes from shapes alone, for nets that are too large to run here.
#pragma once

#include <cstdint>

#include "engine/nets/net.hpp"

namespace ulp {

/// GPT-2 (Radford et al., 2019), the small one: vocabulary 50257, 1024 places, width 768, 12 blocks.
struct Gpt2Plan {
    std::int64_t parameters = 0;      // all
    std::int64_t block_matrices = 0;  // of them, the weights of the blocks' linear layers
    std::int64_t mask_bytes = 0;      // one byte for each pair of places in each block
    std::int64_t scalars = 0;         // the number that masked scores take, one per block
};
Gpt2Plan gpt2_plan();

/// What Transformers' get_memory_footprint adds up: parameters and buffers. The scalars have the parameters' format.
std::int64_t gpt2_bytes(const Gpt2Plan& plan, std::int64_t bytes_of_a_number, std::int64_t bytes_of_a_matrix_entry);

/// A net's parameters, and the numbers that a training step keeps for one example.
struct NetAccount {
    std::int64_t parameters = 0;
    std::int64_t activations = 0;

    /// gain_of_mixed_precision() with one example.
    [[nodiscard]] double gain() const;
};
/// Bytes in fp32 over bytes in mixed precision, with Adam, by the activations for each parameter: a parameter takes 16
/// bytes either way (its master, copy, gradient and two moments), an activation 4 or 2.
constexpr double gain_of_mixed_precision(double activations) { return (16 + 4 * activations) / (16 + 2 * activations); }

/// BERT-base (Devlin et al., 2018, section 3: L = 12, H = 768, A = 12; 30,522 word pieces, 512 places, 2 types) with
/// its two heads: masked words, whose last matrix is the embedding's, and next sentence. `length` tokens.
NetAccount bert_base_account(std::int64_t length);

/// U-Net (Ronneberger et al., 2015, figure 1): unpadded 3 x 3 convolutions with relu, two a level, five levels.
struct UnetPlan {
    NetAccount account{};
    std::int64_t layers = 0;
    std::int64_t side = 572;    // pixels: of the picture at first, of the result at last
    std::int64_t smallest = 0;  // at the bottom
};
UnetPlan unet_plan();

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
