#include "softfloat/matrix_units/sum_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ulp::gpu {

std::string name_of(const ProductOrder& order) {
    std::string text = "ascending k";
    if (order.piece_k > 0) {
        text = fmt::format("split-k of {} each", order.piece_k);
    } else if (order.split_k > 1) {
        text = order.slice_k == 0 ? fmt::format("split-k {}", order.split_k)
                                  : fmt::format("sliced k: {} x {}", order.split_k, order.slice_k);
    }
    if (order.tile_k > 0) text += fmt::format(", the rest of tiles of {} first", order.tile_k);
    if (order.narrow_sums) text += ", added in the accumulator's format";
    return order.promote_every == 0 ? text : fmt::format("{}, promoted every {}", text, order.promote_every);
}

const std::vector<ProductOrder>& candidate_orders() {
    static const std::vector<ProductOrder> orders = [] {
        std::vector<ProductOrder> list{{}, {.promote_every = 128}};
        for (const int pieces : {2, 3, 4, 6, 8, 16}) list.push_back({.split_k = pieces});
        for (const int pieces : {2, 4}) {
            for (const int slice : {8, 16, 32, 64}) list.push_back({.split_k = pieces, .slice_k = slice});
        }
        return list;
    }();
    return orders;
}

std::vector<ProductOrder> split_orders(std::int64_t k, bool narrow) {
    std::set<std::int64_t> lengths;
    for (int pieces = 1; pieces <= 32; ++pieces) {
        for (const int alignment : {4, 8, 16, 32, 64, 128}) {
            const std::int64_t length = ((k + pieces - 1) / pieces + alignment - 1) / alignment * alignment;
            lengths.insert(std::min(length, k));
        }
    }
    std::vector<ProductOrder> list;
    for (const std::int64_t length : lengths) {
        for (const int tile : {0, 16, 32, 64, 128}) {
            const bool plain = tile == 0 || length % tile == 0;
            if (tile != 0 && plain && (k % length) % tile == 0) continue;  // as without tiles
            list.push_back({.piece_k = length, .tile_k = tile, .narrow_sums = narrow});
        }
    }
    return list;
}

}  // namespace ulp::gpu
