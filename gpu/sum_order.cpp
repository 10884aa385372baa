#include "gpu/sum_order.hpp"

#include <fmt/format.h>

namespace ulp::gpu {

std::string name_of(const SumOrder& order) {
    std::string text = "ascending k";
    if (order.parts > 1) {
        text = order.chunk == 0 ? fmt::format("split-k {}", order.parts)
                                : fmt::format("sliced k: {} x {}", order.parts, order.chunk);
    }
    return order.promote == 0 ? text : fmt::format("{}, promoted every {}", text, order.promote);
}

std::vector<std::vector<int>> parts_of(const SumOrder& order, int k, int instruction_k) {
    std::vector<std::vector<int>> parts(static_cast<std::size_t>(order.parts));
    // Runs end where an instruction does.
    const int steps = (k + instruction_k - 1) / instruction_k;
    const int run = (steps + order.parts - 1) / order.parts * instruction_k;
    for (int i = 0; i < k; ++i) {
        const int part = order.chunk == 0 ? i / run : i / order.chunk % order.parts;
        parts[static_cast<std::size_t>(part)].push_back(i);
    }
    return parts;
}

namespace {

/// A chain over the k of one part.
std::uint32_t part_sum(const TensorCoreModel& model, const SumOrder& order, std::span<const std::uint32_t> a,
                       std::span<const std::uint32_t> b, const std::vector<int>& part) {
    std::vector<std::uint32_t> x;
    std::vector<std::uint32_t> y;
    for (const int i : part) {
        x.push_back(a[static_cast<std::size_t>(i)]);
        y.push_back(b[static_cast<std::size_t>(i)]);
    }
    const auto count = static_cast<std::int64_t>(part.size());
    if (order.promote == 0) return chain_dot(model, x.data(), y.data(), std::uint32_t{0}, count);
    std::uint32_t total = 0;
    for (std::int64_t first = 0; first < count; first += order.promote) {
        const std::int64_t length = std::min<std::int64_t>(order.promote, count - first);
        const std::uint32_t sum = chain_dot(model, x.data() + first, y.data() + first, std::uint32_t{0}, length);
        total = static_cast<std::uint32_t>(add_nearest(model.accumulator, total, sum));
    }
    return total;
}

}  // namespace

std::uint32_t ordered_dot(const TensorCoreModel& model, const SumOrder& order, std::span<const std::uint32_t> a,
                          std::span<const std::uint32_t> b) {
    std::uint32_t total = 0;
    bool first = true;
    for (const auto& part : parts_of(order, static_cast<int>(a.size()), model.instruction_k)) {
        const std::uint32_t sum = part_sum(model, order, a, b, part);
        total = first ? sum : static_cast<std::uint32_t>(add_nearest(model.accumulator, total, sum));
        first = false;
    }
    return total;
}

const std::vector<SumOrder>& candidate_orders() {
    static const std::vector<SumOrder> orders = [] {
        std::vector<SumOrder> list{{}, {.promote = 128}};
        for (const int parts : {2, 3, 4, 6, 8, 16}) list.push_back({.parts = parts});
        for (const int parts : {2, 4}) {
            for (const int chunk : {8, 16, 32, 64}) list.push_back({.parts = parts, .chunk = chunk});
        }
        return list;
    }();
    return orders;
}

}  // namespace ulp::gpu
