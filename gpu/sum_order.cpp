#include "gpu/sum_order.hpp"

#include <fmt/format.h>

namespace ulp::gpu {

std::string name_of(const ProductOrder& order) {
    std::string text = "ascending k";
    if (order.split_k > 1) {
        text = order.slice_k == 0 ? fmt::format("split-k {}", order.split_k)
                                  : fmt::format("sliced k: {} x {}", order.split_k, order.slice_k);
    }
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

}  // namespace ulp::gpu
