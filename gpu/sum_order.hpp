// In which order a library's kernel may add the products of one element: parts, each a chain of instructions over its
// k, added in fp32 afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "softfloat/tensor_core/chain_dot.hpp"

namespace ulp::gpu {

/// How k is dealt out. With `chunk` 0 each part is a run of k (split-k); else parts take turns, `chunk` k each (a
/// block's warps that share the k of a tile: sliced k). With `promote` a part's chain starts anew from zero every that
/// many k and the sums are added up to nearest (FP8 without fast accumulation on Hopper).
struct SumOrder {
    int parts = 1;
    int chunk = 0;
    int promote = 0;
    bool operator==(const SumOrder&) const = default;
};
/// "ascending k", "split-k 2", "sliced k: 2 x 32", "ascending k, promoted every 128".
std::string name_of(const SumOrder& order);

/// The parts' k in order.
std::vector<std::vector<int>> parts_of(const SumOrder& order, int k, int instruction_k);

/// The element that a kernel with this instruction and order gives for a row and a column of codes, C = 0.
std::uint32_t ordered_dot(const TensorCoreModel& model, const SumOrder& order, std::span<const std::uint32_t> a,
                          std::span<const std::uint32_t> b);

/// The orders that the study tries, the simplest first.
const std::vector<SumOrder>& candidate_orders();

}  // namespace ulp::gpu
