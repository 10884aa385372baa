// The comparison of a bulk run for instructions with block scales, by the plain model. Compiled for their architecture
// only.
#include "gpu/kernels/bulk_device.cuh"
#include "gpu/kernels/launch.cuh"
#include "softfloat/matrix_units/block_scaled.hpp"

namespace ulp::gpu {
namespace {

__device__ std::uint32_t scaled_element(const BulkLayout& layout, const BlockScaledModel& model, const BulkData& data,
                                        std::uint64_t element) {
    const ElementPlace at = place_of(layout, element);
    const int bits = bits_of(layout.instruction.a);
    const int scales = layout.instruction.scales();
    std::uint32_t a[max_instruction_k], b[max_instruction_k];
    std::uint32_t x[4], y[4];
    auto sum = static_cast<std::uint32_t>(packed_code(data.c, element, 32));
    for (int step = 0; step < layout.steps; ++step) {
        const auto fill = [&](std::uint32_t* codes, const std::uint32_t* words, std::uint64_t row, int count,
                              int width) {
            const std::uint64_t first = (row * static_cast<unsigned>(layout.steps) + static_cast<unsigned>(step)) *
                                        static_cast<unsigned>(count);
            for (int i = 0; i < count; ++i) {
                codes[i] = static_cast<std::uint32_t>(packed_code(words, first + static_cast<unsigned>(i), width));
            }
        };
        fill(a, data.a, at.a_row, layout.k, bits);
        fill(b, data.b, at.b_row, layout.k, bits);
        fill(x, data.a_scales, at.a_row, scales, 8);
        fill(y, data.b_scales, at.b_row, scales, 8);
        sum = block_scaled_dot(model, a, b, x, y, sum);
    }
    return sum;
}

__global__ void compare_scaled(BulkLayout layout, BlockScaledModel model, BulkData data, BulkTally* tally) {
    const std::uint64_t elements = layout.elements();
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x; i < elements;
         i += std::uint64_t{gridDim.x} * threads) {
        report(tally, i, equals_d(layout, data, i, scaled_element(layout, model, data, i)));
    }
}

}  // namespace

void enqueue_scaled_comparison(const BulkLayout& layout, const BlockScaledModel& model, const BulkData& data,
                               BulkTally* tally) {
    compare_scaled<<<blocks_for(layout.elements(), threads), threads>>>(layout, model, data, tally);
}

}  // namespace ulp::gpu
