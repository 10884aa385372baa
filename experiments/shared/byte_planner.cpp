#include "experiments/shared/byte_planner.hpp"

#include <algorithm>
#include <vector>

namespace ulp {

Gpt2Plan gpt2_plan() {
    constexpr std::int64_t vocabulary = 50257;
    constexpr std::int64_t places = 1024;
    constexpr std::int64_t width = 768;
    constexpr std::int64_t blocks = 12;
    constexpr std::int64_t norm = 2 * width;  // scale and shift
    // Queries, keys and values together; the attention's output; up to four times the width and back.
    constexpr std::int64_t matrices = width * 3 * width + width * width + width * 4 * width + 4 * width * width;
    constexpr std::int64_t biases = 3 * width + width + 4 * width + width;
    // The last projection shares the embedding's table.
    constexpr std::int64_t embeddings = vocabulary * width + places * width;
    return {.parameters = embeddings + blocks * (matrices + biases + 2 * norm) + norm,
            .block_matrices = blocks * matrices,
            .mask_bytes = blocks * places * places,
            .scalars = blocks};
}

std::int64_t gpt2_bytes(const Gpt2Plan& plan, std::int64_t bytes_of_a_number, std::int64_t bytes_of_a_matrix_entry) {
    return (plan.parameters - plan.block_matrices + plan.scalars) * bytes_of_a_number +
           plan.block_matrices * bytes_of_a_matrix_entry + plan.mask_bytes;
}

std::int64_t CnnPlan::parameters() const {
    return (9 * channels1 + channels1) + (9 * channels1 * channels2 + channels2) + (49 * channels2 * 10 + 10);
}

namespace {

/// Numbers of one image at the places of the net; the convolutions' outputs have the sizes of the relus'.
struct Sizes {
    std::int64_t image, relu1, pool1, relu2, pool2;
};
Sizes sizes_of(const CnnPlan& plan) {
    return {28 * 28, 28 * 28 * plan.channels1, 14 * 14 * plan.channels1, 14 * 14 * plan.channels2,
            7 * 7 * plan.channels2};
}

/// A moment of the step: how many numbers and how many indices of pools are alive.
struct Moment {
    std::int64_t numbers;
    std::int64_t indices;
};

/// Autograd keeps each convolution's and the dense layer's input, each relu's output, which is the pool's input, and
/// each pool's indices; a gradient lives until the next one is made of it.
std::vector<Moment> moments_of(const Sizes& s) {
    const std::int64_t kept1 = s.image + s.relu1;
    const std::int64_t kept2 = kept1 + s.pool1 + s.relu2;
    return {
        {s.image + 2 * s.relu1, 0},                      // forward: relu 1 beside its input
        {kept2 + s.relu2, s.pool1},                      // relu 2
        {kept2 + s.pool2, s.pool1 + s.pool2},            // pool 2
        {kept2 + s.pool2 + s.relu2, s.pool1 + s.pool2},  // backward: pool 2
        {kept2 + 2 * s.relu2, s.pool1},                  // relu 2
        {kept1 + s.pool1 + s.relu2 + s.pool1, s.pool1},  // convolution 2
        {kept1 + s.pool1 + s.relu1, s.pool1},            // pool 1
        {kept1 + 2 * s.relu1, 0},                        // relu 1
    };
}

}  // namespace

std::int64_t CnnPlan::training_bytes(std::int64_t batch, std::int64_t low) const {
    constexpr std::int64_t index = 8;     // bytes
    constexpr std::int64_t adam = 4 * 4;  // weight, gradient and two moments in fp32
    const std::int64_t copies = low < 4 ? low : 0;
    std::int64_t peak = 0;
    for (const Moment& moment : moments_of(sizes_of(*this))) {
        peak = std::max(peak, moment.numbers * low + moment.indices * index);
    }
    return parameters() * (adam + copies) + batch * peak;
}

std::int64_t CnnPlan::largest_batch(std::int64_t bytes, std::int64_t low) const {
    const std::int64_t fixed = training_bytes(0, low);
    return std::max<std::int64_t>(0, (bytes - fixed) / (training_bytes(1, low) - fixed));
}

std::int64_t CnnPlan::tape_bytes(std::int64_t batch, std::int64_t low) const {
    const Sizes s = sizes_of(*this);
    const bool mixed = low < 4;
    // Image, convolution, relu, pool, twice; the reshaped pool; logits; in fp32 always: the loss, and in the mixed
    // recipe the logits' cast and the scaled loss.
    const std::int64_t numbers = batch * (s.image + 2 * s.relu1 + s.pool1 + 2 * s.relu2 + 2 * s.pool2 + 10);
    const std::int64_t wide = 1 + (mixed ? batch * 10 + 1 : 0);
    // Weight and gradient in the low format, Adam's two moments in fp32, and masters where the weights are low.
    return parameters() * (2 * low + 8 + (mixed ? 4 : 0)) + numbers * low + wide * 4;
}

}  // namespace ulp
