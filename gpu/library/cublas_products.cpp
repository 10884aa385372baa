#include <fmt/format.h>

#include <stdexcept>

#include "gpu/library/cublas.hpp"

namespace ulp::gpu {

const std::vector<NamedLibraryProduct>& library_products() {
    using enum Element;
    static const std::vector<NamedLibraryProduct> table{
        {"fp32", {fp32, fp32, fp32}},      {"tf32", {tf32, tf32, fp32}},
        {"bf16", {bf16, bf16, fp32}},      {"fp16", {fp16, fp16, fp32}},
        {"fp16_fp16", {fp16, fp16, fp16}}, {"e4m3", {e4m3, e4m3, fp32}},
        {"e5m2", {e5m2, e4m3, fp32}},      {"s8", {s8, s8, s32}},
    };
    return table;
}

const LibraryProduct& library_product(std::string_view name) {
    std::string names;
    for (const NamedLibraryProduct& row : library_products()) {
        if (row.name == name) return row.product;
        names += (names.empty() ? "" : ", ") + row.name;
    }
    throw std::invalid_argument(fmt::format("there is no library product '{}'; choose one of {}", name, names));
}

}  // namespace ulp::gpu
