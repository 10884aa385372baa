// Inputs of a bulk run as a GPU makes them: input_word without its divisions, which a GPU does not have, and with the
// operand's format known when it is compiled.
#pragma once

#include "gpu/instructions/input_classes.hpp"

namespace ulp::gpu {

/// What an operand is made as: codes of A or B, the addend, or scales.
enum class InputKind : std::uint8_t { factor, addend, scale };
constexpr InputKind kind_of(OperandName operand) {
    if (operand == OperandName::a || operand == OperandName::b) return InputKind::factor;
    return operand == OperandName::c ? InputKind::addend : InputKind::scale;
}
/// The element of an operand that is no scale.
constexpr Element element_of(const Instruction& row, OperandName operand) {
    if (operand == OperandName::c) return row.accumulator;
    return operand == OperandName::b ? row.b : row.a;
}

/// input_code where the operand's element (not read for scales) and kind are constants.
template <InputKind Kind, Element E>
constexpr std::uint64_t input_code_of(const Instruction& row, InputClass input_class, const InputPlace& place) {
    if constexpr (Kind == InputKind::factor) return operand_code(row, input_class, E, place);
    if constexpr (Kind == InputKind::addend) return addend_code(input_class, E, place);
    return scale_code(input_class, scale_format_of(row.scaling), place.random());
}

/// input_word of rows that are 2^column_bits codes long, as those of every instruction are; rows of what is no scale
/// are at least a word long. `operand` is of the Kind.
template <InputKind Kind, Element E>
constexpr std::uint32_t input_word_by_shifts(const Instruction& row, InputClass input_class, std::uint64_t seed,
                                             OperandName operand, int column_bits, std::uint64_t index) {
    constexpr int bits = Kind == InputKind::scale ? 8 : bits_of(E);
    const std::uint64_t in_row = (std::uint64_t{1} << column_bits) - 1;
    const auto code_of = [&](std::uint64_t line, std::uint64_t column) {
        return input_code_of<Kind, E>(row, input_class, {seed, operand, line, column});
    };
    const auto code_at = [&](std::uint64_t at) { return code_of(at >> column_bits, at & in_row); };
    if constexpr (bits == 64) {
        const std::uint64_t code = code_at(index / 2);
        return static_cast<std::uint32_t>(index % 2 == 0 ? code : code >> 32);
    } else {
        constexpr unsigned per_word = 32 / bits;
        const std::uint64_t first = index * per_word;
        std::uint32_t word = 0;
        for (unsigned e = 0; e < per_word; ++e) {
            // A word's codes are of one row, so the row's share of the random number is made once.
            const std::uint64_t code =
                Kind == InputKind::scale ? code_at(first + e) : code_of(first >> column_bits, (first & in_row) + e);
            word |= static_cast<std::uint32_t>(code) << (e * unsigned{bits});
        }
        return word;
    }
}

/// f.operator()<Kind, E>() for the kind and the element of an operand.
template <class F>
constexpr auto with_input_kind(const Instruction& row, OperandName operand, F&& f) {
    const Element element = element_of(row, operand);
    switch (kind_of(operand)) {
        case InputKind::scale: return f.template operator()<InputKind::scale, Element::e4m3>();
        case InputKind::addend:
            switch (element) {
                case Element::fp64: return f.template operator()<InputKind::addend, Element::fp64>();
                case Element::fp16: return f.template operator()<InputKind::addend, Element::fp16>();
                case Element::s32: return f.template operator()<InputKind::addend, Element::s32>();
                default: return f.template operator()<InputKind::addend, Element::fp32>();
            }
        case InputKind::factor: break;
    }
    // clang-format off
    switch (element) {
#define ULPLAB_FACTOR(E) \
        case Element::E: return f.template operator()<InputKind::factor, Element::E>();
        ULPLAB_FACTOR(fp64) ULPLAB_FACTOR(tf32) ULPLAB_FACTOR(bf16) ULPLAB_FACTOR(fp16) ULPLAB_FACTOR(e5m2)
        ULPLAB_FACTOR(e4m3) ULPLAB_FACTOR(e3m2) ULPLAB_FACTOR(e2m3) ULPLAB_FACTOR(e2m1) ULPLAB_FACTOR(packed_e2m1)
        ULPLAB_FACTOR(s8) ULPLAB_FACTOR(u8) ULPLAB_FACTOR(s4) ULPLAB_FACTOR(u4) ULPLAB_FACTOR(b1)
#undef ULPLAB_FACTOR
        default: return f.template operator()<InputKind::factor, Element::fp32>();
    }
    // clang-format on
}

}  // namespace ulp::gpu
