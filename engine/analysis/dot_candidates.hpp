// How other orders and other units would have computed one dot product.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/analysis/dot_explanation.hpp"
#include "engine/analysis/unit_explanation.hpp"

namespace ulp {

/// One way to compute the same dot product.
struct DotCandidate {
    std::string name;      // "sm_80:mma.fp16.fp32", "plain loop, ascending k"
    std::uint64_t result;  // storage word of the accumulator
    double error_in_ulps;  // of the exact result, in units in its last place; NaN where there is none
};

/// This unit first; then every other row with the same formats, this unit with k in other orders, split or promoted,
/// and loops and trees of rounded sums, the smallest errors first.
template <class Code>
std::vector<DotCandidate> dot_candidates(const std::string& key, const TensorCoreModel& model,
                                         const BasicDotOperands<Code>& operands);

/// This unit, and the rows with the same operands. A result is the word of an s32, and its error a difference.
std::vector<DotCandidate> integer_candidates(const std::string& key, const IntegerModel& model,
                                             const IntegerOperands& operands);

/// This unit, and the rows with the same operands, scales and blocks.
std::vector<DotCandidate> scaled_candidates(const std::string& key, const BlockScaledModel& model,
                                            const ScaledOperands& operands);

/// The exact value, as a decimal of at most 17 digits (of its 64 leading bits; of fp64 operands 53).
std::string exact_dot_text(const TensorCoreModel& model, const DotOperands& operands);
std::string exact_dot_text(const TensorCoreModel& model, const Fp64Operands& operands);

}  // namespace ulp
