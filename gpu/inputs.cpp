#include "gpu/inputs.hpp"

namespace ulp::gpu {
namespace {

void fill(PackedMatrix& matrix, const Instruction& row, InputClass input_class, std::uint64_t seed,
          OperandName operand) {
    for (std::size_t i = 0; i < matrix.words().size(); ++i) {
        matrix.words()[i] = input_word(row, input_class, seed, operand, matrix.columns(), i);
    }
}

}  // namespace

void fill_inputs(HostProduct& product, InputClass input_class, std::uint64_t seed) {
    fill(product.a, *product.instruction, input_class, seed, OperandName::a);
    fill(product.b, *product.instruction, input_class, seed, OperandName::b);
    fill(product.c, *product.instruction, input_class, seed, OperandName::c);
}

HostProduct make_tiles(const Instruction& instruction, InputClass input_class, std::uint64_t seed,
                       std::uint32_t tiles) {
    HostProduct product(instruction, {.steps_k = steps_of(input_class), .batch = tiles}, true);
    fill_inputs(product, input_class, seed);
    return product;
}

}  // namespace ulp::gpu
