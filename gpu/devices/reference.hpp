// What an instruction must compute, bit for bit: the project's models, and plain integer arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "gpu/devices/executor.hpp"
#include "gpu/instructions/instruction.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/model.hpp"

namespace ulp::gpu {

/// The row of the model table for a floating-point instruction on an architecture.
struct PromisedModel {
    std::string key;  // "sm_90:mma.fp16.fp32"
    TensorCoreModel model;
    bool whole_row = true;  // false: the row's arithmetic in an instruction with another k
};
/// The model with the instruction's own k. Nothing where the table has no such row, and for integers.
std::optional<PromisedModel> promised_model(const Instruction& instruction, int architecture);

/// The row of the table of block-scaled models.
struct ClaimedScaledModel {
    std::string key;  // "sm_120:mma.nvf4.e2m1.fp32"
    BlockScaledModel model;
};
/// Nothing for instructions without scales, and where the table has no such row.
std::optional<ClaimedScaledModel> claimed_scaled_model(const Instruction& instruction, int architecture);

/// The key of the row, of any table, that an instruction is compared with; empty where there is none.
std::string claimed_key(const Instruction& instruction, int architecture);

/// Whether `expected_product` can answer.
bool has_reference(const Instruction& instruction, int architecture);

/// Fills product.d by the reference: chains of instructions in ascending k. Throws UsageError where there is none.
/// Takes the decoded path (gpu/kernels/decoded_dot.hpp) where the model has one; `plain`: the plain block dot, the
/// definition.
void expected_product(HostProduct& product, int architecture, bool plain = false);
/// The same by any model of the instruction: by the claimed one with other policies, say.
void product_by_model(HostProduct& product, const TensorCoreModel& model);
void product_by_model(HostProduct& product, const BlockScaledModel& model);
/// The same by any unit: one instruction's dot product on storage words, k of a, k of b, and c.
using InstructionDot =
    std::function<std::uint64_t(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c)>;
void product_by_dot(HostProduct& product, const InstructionDot& dot);

}  // namespace ulp::gpu
