// Sums over ranks as collective libraries form them: every partial sum that travels is rounded to a format.
//
//     ring        chunk c starts at rank c + 1, passes every rank in ascending order and ends at rank c
//     (reduce-scatter);
//                 the finished chunks then go around (all-gather) and are copied, so that all ranks hold the same bits
//     tree        the double binary tree: even chunks go up the first tree, odd ones the second, which is its mirror
//                 image (an even number of ranks) or shifted by one rank; a rank adds its children to its own number,
//                 first the lower subtree, then the upper one
//     two-level   a ring in every node, then a ring over the nodes of what their ranks of one place hold
//
// Source: NCCL 2.18, src/device/all_reduce.h (rings, trees) and src/graph/trees.cc (the two trees). One addition is
// rounded once: fp32 sums of two fp16 or bf16 numbers round to them as the exact sums do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softfloat/format.hpp"

namespace ulp {

enum class CollectiveKind { ring, tree, two_level };
/// "ring", "tree", "two-level". Throws UsageError that lists them.
CollectiveKind collective_by_name(std::string_view name);

struct Collective {
    CollectiveKind kind = CollectiveKind::ring;
    FloatFormat format = formats::fp32;  // of the parts and of every partial sum: fp32 and what it holds
    int node = 8;                        // two-level: ranks of a node
    std::int64_t chunk = 0;  // numbers of a chunk; 0: one chunk for each rank (trees: two), as equal as can be
    static constexpr int largest_ranks = 4096;
};

/// Which ranks are added in which order, for the elements of one chunk: a rank pushes its part, `add` adds the topmost
/// number to the one below it.
using RankOrder = std::vector<int>;
inline constexpr int add_topmost = -1;
/// The order in which element i of n is summed. Throws UsageError as collective_sum does.
RankOrder order_of_element(const Collective& how, int ranks, std::int64_t n, std::int64_t i);
/// "((1 + 2) + 3) + 0"
std::string text_of(const RankOrder& order);
/// Additions on the longest way from a part to the sum.
int height_of(const RankOrder& order);
/// The rank that holds element i after the reduce-scatter; nothing for trees, which have none.
std::optional<int> owner_of_element(const Collective& how, int ranks, std::int64_t n, std::int64_t i);

/// |sum - exact| <= bound, element by element, where `exact` is the sum of the parts. Each addition of nearest-even
/// numbers has a relative error of at most u / (1 + u) and an absolute one of at most u |partial sum| (subnormal sums
/// are exact), u = 2^-precision, so that the bound is the lesser of
///
///     ((1 + u / (1 + u))^height - 1) * magnitude        before the sum
///     u * (sum of all |partial sums|)                   after it: a running bound
///
/// both raised for the roundings of `exact`, `magnitude` and the running sum themselves.
struct CollectiveSum {
    std::vector<float> sum;
    std::vector<double> exact, magnitude, bound;  // magnitude: the sum of |part|
    int height = 0;                               // the largest of all chunks
    std::int64_t not_finite = 0;                  // elements of `sum`
};

/// `parts`: one array of n numbers for each rank, on the format's grid. Uses OpenMP's threads; the bits do not depend
/// on their number. Throws UsageError: no rank, more than 4096, arrays of different lengths, a node that does not
/// divide the ranks, a number that is not on the grid (named), a format that fp32 does not hold. `stops` is asked by
/// several threads in turn; true: the rest is left out.
CollectiveSum collective_sum(const Collective& how, std::span<const std::span<const float>> parts,
                             const std::function<bool()>& stops = {});

}  // namespace ulp
