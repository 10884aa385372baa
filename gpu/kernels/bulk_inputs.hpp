// Inputs of a bulk run as a GPU makes them: input_word without its divisions, which a GPU does not have.
#pragma once

#include "gpu/instructions/input_classes.hpp"

namespace ulp::gpu {

/// input_word of rows that are 2^column_bits codes long, as those of every instruction are.
constexpr std::uint32_t input_word_by_shifts(const Instruction& row, InputClass input_class, std::uint64_t seed,
                                             OperandName operand, int column_bits, std::uint64_t index) {
    const int bits = operand_bits(row, operand);
    if (bits == 64) return input_word(row, input_class, seed, operand, std::uint64_t{1} << column_bits, index);
    const std::uint64_t in_row = (std::uint64_t{1} << column_bits) - 1;
    const int per_word = 32 / bits;
    std::uint32_t word = 0;
    for (int e = 0; e < per_word; ++e) {
        const std::uint64_t at = index * static_cast<unsigned>(per_word) + static_cast<unsigned>(e);
        const std::uint64_t code = input_code(row, input_class, {seed, operand, at >> column_bits, at & in_row});
        word |= static_cast<std::uint32_t>(code) << (e * bits);
    }
    return word;
}

}  // namespace ulp::gpu
