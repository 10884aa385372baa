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

namespace {

void fill(PackedMatrix& matrix, const Instruction& row, InputClass input_class, std::uint64_t seed, OperandName operand,
          std::uint64_t batches_before) {
    const std::uint64_t first = matrix.words().size() * batches_before;
    for (std::size_t i = 0; i < matrix.words().size(); ++i) {
        matrix.words()[i] = input_word(row, input_class, seed, operand, matrix.columns(), first + i);
    }
}

}  // namespace

void fill_inputs(HostProduct& product, InputClass input_class, std::uint64_t seed, std::uint64_t first_matrix) {
    // Matrices lie one after the other, so a batch begins at a multiple of its own length.
    const std::uint64_t before = first_matrix / product.extents.batch;
    fill(product.a, *product.instruction, input_class, seed, OperandName::a, before);
    fill(product.b, *product.instruction, input_class, seed, OperandName::b, before);
    fill(product.c, *product.instruction, input_class, seed, OperandName::c, before);
    fill(product.a_scales, *product.instruction, input_class, seed, OperandName::a_scales, before);
    fill(product.b_scales, *product.instruction, input_class, seed, OperandName::b_scales, before);
}

HostProduct make_tiles(const Instruction& instruction, InputClass input_class, std::uint64_t seed,
                       std::uint32_t tiles) {
    HostProduct product(instruction, {.steps_k = steps_of(input_class), .batch = tiles}, true);
    fill_inputs(product, input_class, seed);
    return product;
}

}  // namespace ulp::gpu
