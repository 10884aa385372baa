#include "gpu/devices/executor.hpp"

#include <fmt/format.h>

#include <cctype>

#include "softfloat/errors.hpp"

namespace ulp::gpu {

std::string card_name(const DeviceInfo& info) {
    std::string name;
    for (const char c : info.name) {
        const auto letter = static_cast<unsigned char>(c);
        if (std::isalnum(letter) != 0) {
            name += static_cast<char>(std::tolower(letter));
        } else if (!name.empty() && name.back() != '_') {
            name += '_';
        }
    }
    constexpr std::string_view maker = "nvidia_";
    return name.starts_with(maker) ? name.substr(maker.size()) : name;
}

HostProduct::HostProduct(const Instruction& row, const ProductExtents& size, bool with_c)
    : instruction(&row), extents(size) {
    const auto times = [](std::uint32_t x, std::uint32_t y, int z) {
        return std::uint64_t{x} * y * static_cast<std::uint64_t>(z);
    };
    const std::uint64_t k_extent = times(size.steps_k, 1, row.shape.k);
    const std::uint64_t rows = times(size.batch, size.tiles_m, row.shape.m);
    const std::uint64_t columns = times(size.tiles_n, 1, row.shape.n);
    a = PackedMatrix(rows, k_extent, bits_of(row.a));
    b = PackedMatrix(times(size.batch, size.tiles_n, row.shape.n), k_extent, bits_of(row.b));
    if (with_c) c = PackedMatrix(rows, columns, bits_of(row.accumulator));
    d = PackedMatrix(rows, columns, bits_of(row.accumulator));
    if (row.scaling == Scaling::none) return;
    const std::uint64_t scales = times(size.steps_k, 1, row.scales());
    a_scales = PackedMatrix(a.rows(), scales, 8);
    b_scales = PackedMatrix(b.rows(), scales, 8);
}

std::string scales_text(const HostProduct& product, std::uint64_t a_row, std::uint64_t b_row) {
    std::string text;
    for (std::uint64_t i = 0; i < product.a_scales.columns(); ++i) {
        text += fmt::format("{}{:X}*{:X}", i == 0 ? ", scales " : " ", product.a_scales.get(a_row, i),
                            product.b_scales.get(b_row, i));
    }
    return text;
}

void Executor::run(HostProduct& product) const {
    const Instruction& row = *product.instruction;
    if (!has(row)) {
        throw UsageError(fmt::format("{} ({}) has no {}: it needs {}{}", info().name,
                                     architecture_name(info().architecture), row.name(),
                                     architecture_name(row.availability.minimum),
                                     row.availability.exact ? " and exists nowhere else" : " or newer"));
    }
    compute(product);
}

}  // namespace ulp::gpu
