// Where tcgen05.mma of sm_100 finds its operands (PTX ISA 9.0, section 9.7.16): A and B in shared memory, named by
// 64-bit descriptors; D and the scales in tensor memory, 128 lanes of 32-bit columns; formats and extents in a 32-bit
// descriptor of the instruction. All of it is plain arithmetic, which the tests check without a GPU.
//
//     lane     columns 0 ... 15         16 ... 19                       20 ... 23
//     0        row 0 of D               scales of A's rows              scales of B's columns
//     1        row 1 of D               l mod 32, 32 + l mod 32,        likewise
//     l        row l of D               64 + ..., 96 + ...
//
// Each warp of the block reaches 32 lanes, so each writes the same scales into its own.
#pragma once

#include "gpu/instructions/fragment_layout.hpp"
#include "gpu/instructions/instruction.hpp"

namespace ulp::gpu {

/// The kinds of tcgen05.mma: what its PTX says of the operands.
enum class TensorKind : std::uint8_t { f16, tf32, i8, f8f6f4, mxf8f6f4, mxf4, mxf4nvf4 };
constexpr TensorKind tensor_kind(const Instruction& row) {
    switch (row.scaling) {
        case Scaling::mxf8f6f4: return TensorKind::mxf8f6f4;
        case Scaling::mxf4: return TensorKind::mxf4;
        case Scaling::mxf4_block16:
        case Scaling::nvf4: return TensorKind::mxf4nvf4;
        case Scaling::none: break;
    }
    if (!is_float(row.a)) return TensorKind::i8;
    if (bits_of(row.a) == 32) return TensorKind::tf32;
    return bits_of(row.a) == 16 ? TensorKind::f16 : TensorKind::f8f6f4;
}

namespace tensor_memory {

inline constexpr int columns = 32;  // what a block allocates: a power of two from 32 on
inline constexpr int d_column = 0;
inline constexpr int a_scales_column = 16;
inline constexpr int b_scales_column = 20;
inline constexpr int scale_columns = 4;

/// Lane in bits 31 to 16, column in bits 15 to 0.
constexpr std::uint32_t address(std::uint32_t base, int lane, int column) {
    return base + (static_cast<std::uint32_t>(lane) << 16) + static_cast<std::uint32_t>(column);
}

/// The row of A, or the column of B, whose scales stand in a lane and one of the four columns.
constexpr int scale_row(int lane, int column) { return 32 * column + lane % 32; }

}  // namespace tensor_memory

/// The number by which the descriptor of an instruction names a format (PTX ISA 9.0, tables 42 to 44).
constexpr std::uint32_t format_number(Element element) {
    switch (element) {
        case Element::bf16:
        case Element::e5m2:
        case Element::packed_e2m1:
        case Element::s8: return 1;
        case Element::tf32: return 2;
        case Element::e2m3: return 3;
        case Element::e3m2: return 4;
        case Element::e2m1: return 5;
        default: return 0;  // fp16, E4M3, u8
    }
}

/// Dense, nothing negated, A and B along k, scales from byte 0 of their columns:
///
///     without scales   3 saturate    4-5 D: fp16 0, fp32 1, s32 2    7-9 A's format    10-12 B's    17-22 n / 8 24-28
///     m / 16 with scales      23 scales are E8M0    27-28 m / 128           and the rest as above, D is fp32
constexpr std::uint32_t instruction_descriptor(const Instruction& row) {
    const auto m = static_cast<std::uint32_t>(row.shape.m);
    const std::uint32_t common =
        format_number(row.a) << 7 | format_number(row.b) << 10 | static_cast<std::uint32_t>(row.shape.n) / 8 << 17;
    if (row.scaling != Scaling::none) return common | (row.scaling == Scaling::nvf4 ? 0U : 1U) << 23 | m / 128 << 27;
    const std::uint32_t d = row.accumulator == Element::fp16 ? 0 : row.accumulator == Element::fp32 ? 1 : 2;
    return common | (row.saturates ? 1U : 0U) << 3 | d << 4 | m / 16 << 24;
}

/// A K-major operand of `rows` rows without swizzling, in core matrices as wgmma has them (layout::core_matrix_word):
///
///     0-13 address / 16    16-29 bytes to the next 16 bytes of k / 16    32-45 bytes to the next 8 rows / 16    46 one
constexpr std::uint64_t shared_descriptor(std::uint32_t address, int rows) {
    const auto field = [](std::uint64_t bytes) { return (bytes & 0x3FFFF) >> 4; };
    return field(address) | field(static_cast<std::uint64_t>(layout::leading_byte_offset(rows))) << 16 |
           field(layout::stride_byte_offset) << 32 | std::uint64_t{1} << 46;
}

/// Word `i` of 16 bytes of shared memory, from the four words that hold these elements in memory. FP6 and FP4 have a
/// byte each in memory; in shared memory 16 of them follow each other without gaps, and zeros fill up the 16 bytes.
constexpr std::uint32_t shared_word(Element element, const std::uint32_t (&memory)[4], int i) {
    if (element != Element::e3m2 && element != Element::e2m3 && element != Element::e2m1) return memory[i];
    const int bits = element == Element::e2m1 ? 4 : 6;
    const int low = element == Element::e2m1 ? 2 : 0;  // FP4 in the middle of its byte
    std::uint32_t word = 0;
    for (int k = 0; k < 16; ++k) {
        const std::uint32_t code = memory[k / 4] >> (k % 4 * 8 + low) & ((1U << bits) - 1);
        const int place = k * bits - 32 * i;
        if (place >= 0 && place < 32) word |= code << place;
        if (place < 0 && place > -bits) word |= code >> -place;
    }
    return word;
}

}  // namespace ulp::gpu
