#include "gpu/devices/inputs.hpp"

namespace ulp::gpu {
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
