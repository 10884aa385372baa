// The kernels of a bulk run: inputs, and the comparison with the model.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/instructions/input_classes.hpp"
#include "gpu/instructions/instruction.hpp"
#include "gpu/kernels/decoded_dot.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"

namespace ulp::gpu {

/// What a launch is compared with, and how its data lie: `matrices` products of rows x columns elements, `k` an
/// instruction, `steps` instructions a chain.
struct BulkLayout {
    Instruction instruction;
    int rows;
    int columns;
    int k;
    int steps;
    std::uint32_t matrices;
    [[nodiscard]] constexpr std::uint64_t elements() const {
        return std::uint64_t{matrices} * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns);
    }
};

struct BulkData {
    std::uint32_t* a;
    std::uint32_t* b;
    std::uint32_t* c;
    const std::uint32_t* d;
    std::uint32_t* a_scales = nullptr;
    std::uint32_t* b_scales = nullptr;
};

/// Counted with atomics, so the same for any order of blocks.
struct BulkTally {
    unsigned long long mismatches;
    unsigned long long first;     // lowest element that differs
    unsigned long long in_queue;  // elements left to the plain model
};

/// Kernels are enqueued on the default stream; the caller checks the launch.
void enqueue_inputs(const BulkLayout& layout, InputClass input_class, std::uint64_t seed, const BulkData& data);
/// By decoded operands; what holds infinities or NaNs goes into `queue` (room for every element) and is then compared
/// by the plain model. `model` needs has_decoded_path().
void enqueue_decoded_comparison(const BulkLayout& layout, const TensorCoreModel& model, const BulkData& data,
                                BulkTally* tally, std::uint32_t* queue);
/// Every element by the plain model.
void enqueue_plain_comparison(const BulkLayout& layout, const TensorCoreModel& model, const BulkData& data,
                              BulkTally* tally);
/// Instructions with block scales.
void enqueue_scaled_comparison(const BulkLayout& layout, const BlockScaledModel& model, const BulkData& data,
                               BulkTally* tally);
/// Integers and fp64.
void enqueue_exact_comparison(const BulkLayout& layout, const BulkData& data, BulkTally* tally);

}  // namespace ulp::gpu
