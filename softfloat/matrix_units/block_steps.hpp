// The steps of a fused unit, kept to be shown: what block_dot.hpp computes, term by term.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"

namespace ulp {

/// A product or c on its way through a group.
struct GroupTerm {
    int k = 0;            // which product of the dot product; -1 for c
    std::uint32_t a = 0;  // storage words: of the operands, or in a the one of c
    std::uint32_t b = 0;
    BlockTerm term{};
    std::int64_t aligned = 0;  // the term in units of 2^(largest - F), cut toward zero
    bool cut = false;          // whether that lost bits
    int products = 1;          // of block-scaled units: how many, from k on, were added exactly to make this term
    std::uint32_t a_scale = 0, b_scale = 0;  // of block-scaled units: storage words
};

/// One fused group: all its terms, the last one c.
struct GroupSteps {
    TensorCoreModel model;  // of the group: for FP8 on sm_90 and sm_100 the fp16 instruction that stands in
    int instruction = 0;    // which of the chain
    int part = 0;           // which of the emulating instructions
    std::vector<GroupTerm> terms;
    bool special = false;  // an infinity or a NaN decides; nothing is aligned
    int largest = 0;       // M
    std::int64_t sum = 0;  // in units of 2^(M - F)
    std::uint32_t result = 0;
};

/// The groups of the instructions of chain_dot(model, a, b, c, a.size()), in order. a and b have one size; storage
/// words. For FP8 by fp16 instructions c is added after each instruction's last group: chain_dot tells that sum. Throws
/// std::invalid_argument where the sizes differ or the model is not fused (is_fused).
std::vector<GroupSteps> steps_of_dot(const TensorCoreModel& model, std::span<const std::uint32_t> a,
                                     std::span<const std::uint32_t> b, std::uint32_t c);

/// Storage words of a block-scaled dot product: elements of a and of b, as many of one as of the other, and one scale
/// for each scale_block of them. Missing scales are 1.
struct ScaledOperands {
    std::vector<std::uint32_t> a, b, a_scales, b_scales;
    std::uint32_t c = 0;
};

/// The instructions of a block-scaled dot product, one group each. A term of FP4 units stands for several products; its
/// a and b are the first pair of them.
std::vector<GroupSteps> steps_of_dot(const BlockScaledModel& model, const ScaledOperands& operands);

/// The products of such a term without their scales: a number of fp32.
std::uint32_t unscaled_sum(const BlockScaledModel& model, const ScaledOperands& operands, const GroupTerm& term);

}  // namespace ulp
