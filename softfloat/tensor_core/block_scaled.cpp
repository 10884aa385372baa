#include "softfloat/tensor_core/block_scaled.hpp"

#include <stdexcept>
#include <vector>

#include "softfloat/format_names.hpp"

namespace ulp {

namespace {

std::vector<BlockScaledRow> build_table() {
    using namespace formats;
    const std::string claim = "MMA-Sim, arXiv 2511.10909";
    std::vector<BlockScaledRow> rows;
    const auto add = [&](const std::string& key, const FloatFormat& element, int k, int fraction_bits,
                         const FloatFormat& scale, int block, int exact) {
        const TensorCoreModel group{
            .a_format = element, .b_format = element, .instruction_k = k, .group = k, .fraction_bits = fraction_bits};
        rows.push_back(
            {key + "." + name_of(element) + ".fp32", {group, scale, block, exact}, Evidence::claimed, claim});
    };
    for (const std::string unit : {"sm_100:tcgen05", "sm_120:mma"}) {
        for (const FloatFormat& element : {e4m3, e5m2, e3m2, e2m3, e2m1})
            add(unit + ".mxf8f6f4", element, 32, 25, e8m0, 32, 1);
        add(unit + ".mxf4", e2m1, 64, 35, e8m0, 32, 16);
        add(unit + ".nvf4", e2m1, 64, 35, e4m3, 16, 16);
    }
    return rows;
}

}  // namespace

std::span<const BlockScaledRow> block_scaled_table() {
    static const std::vector<BlockScaledRow> table = build_table();
    return table;
}

const BlockScaledRow& find_block_scaled_model(std::string_view key) {
    std::string keys;
    for (const BlockScaledRow& row : block_scaled_table()) {
        if (row.key == key) return row;
        keys += (keys.empty() ? "" : ", ") + row.key;
    }
    throw std::invalid_argument("there is no block-scaled model '" + std::string(key) + "'; choose one of " + keys);
}

}  // namespace ulp
