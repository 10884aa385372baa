// Which lane of a warp holds which element of A, B, C and D: the fragments of mma.sync (PTX ISA 9.0, section 9.7.14.5,
// "Matrix fragments for mma.m..n..k..") and the accumulators of wgmma (section 9.7.15.5).
//
// The manual has a formula a shape; they are all one. A register of a lane holds the elements that fit in 32 bits
// (64 for fp64), w of them. With group = lane / 4 and thread = lane % 4, register r of A holds
//
//     row     group + 8 * (r mod (m / 8))
//     column  4w * (r / (m / 8)) + w * thread + 0 ... w-1          B: the same with columns for rows and n = 8 for m
//
//              k = 0 ......... 4w-1   4w ......... 8w-1
//     row 0    | T0 | T1 | T2 | T3 |  | T0 | T1 | T2 | T3 |        r = 0 left, r = 2 right
//     row 8    | T0 | T1 | T2 | T3 |  | T0 | T1 | T2 | T3 |        r = 1 left, r = 3 right
//
// and element i of C and D lies in row group + 8 * (i / 2), column 2 * thread + i mod 2.
//
// Matrices lie in memory as words of a register's size with k running fastest: A by rows ("row"), B by columns ("col").
// So each register is one aligned word in memory, and a fragment is loaded word by word.
#pragma once

#include "gpu/instructions/element.hpp"

namespace ulp::gpu::layout {

inline constexpr int lanes = 32;

/// Bits of a fragment's register.
constexpr int word_bits(int element_bits) { return element_bits == 64 ? 64 : 32; }
/// Elements in a register.
constexpr int elements_per_word(int element_bits) { return word_bits(element_bits) / element_bits; }

constexpr int a_words(TileShape s, int element_bits) { return s.m * s.k / (lanes * elements_per_word(element_bits)); }
constexpr int b_words(TileShape s, int element_bits) { return s.n * s.k / (lanes * elements_per_word(element_bits)); }
constexpr int c_elements(TileShape s) { return s.m * s.n / lanes; }
/// Registers of C and D: an fp16 accumulator packs two elements, with neighbouring columns, in one.
constexpr int c_words(TileShape s, int accumulator_bits) { return c_elements(s) / elements_per_word(accumulator_bits); }

/// Register r of A: its row, and which word of the row (a word holds elements_per_word columns).
constexpr Place a_word(TileShape s, int lane, int r) {
    const int row_blocks = s.m / 8;
    return {lane / 4 + 8 * (r % row_blocks), 4 * (r / row_blocks) + lane % 4};
}
/// Register r of B: its column as `row` (B lies in memory by columns), and which word of the column.
constexpr Place b_word(int lane, int r) { return {lane / 4, 4 * r + lane % 4}; }
/// Register r of C and D: its row, and which word of the row.
constexpr Place c_word(int accumulator_bits, int lane, int r) {
    if (elements_per_word(accumulator_bits) == 2) return {lane / 4 + 8 * r, lane % 4};
    return {lane / 4 + 8 * (r / 2), 2 * (lane % 4) + r % 2};
}

/// Element i of a lane's fragment of A: row of A, column of A (k).
constexpr Place a_element(TileShape s, int element_bits, int lane, int i) {
    const int w = elements_per_word(element_bits);
    const Place word = a_word(s, lane, i / w);
    return {word.row, word.column * w + i % w};
}
/// Element i of a lane's fragment of B: row of B (k), column of B.
constexpr Place b_element(int element_bits, int lane, int i) {
    const int w = elements_per_word(element_bits);
    const Place word = b_word(lane, i / w);
    return {word.column * w + i % w, word.row};
}
/// Element i of a lane's fragment of C and D.
constexpr Place c_element(int lane, int i) { return c_word(32, lane, i); }

// Block scales (PTX ISA 9.0, "Block scaling for mma.sync"): a lane's register holds those of one row
// of A or column of B, byte i for block i of k. With thread-id 0 the first two lanes of each four supply A's and the
// first supplies B's; what the others hold is not read.
//
//     lane   0   1   2   3   4   5 ...
//     A row  0   8   -   -   1   9
//     B col  0   -   -   -   1   -

constexpr int a_scale_row(int lane) { return lane / 4 + 8 * (lane % 2); }
constexpr int b_scale_column(int lane) { return lane / 4; }

// wgmma: 4 warps of a warpgroup hold 16 rows of D each; A and B lie in shared memory.

inline constexpr int warpgroup = 128;

/// Register r of D: its row, and which word of the row. n columns in blocks of 8, each as a warp's m16n8.
constexpr Place wgmma_d_word(int accumulator_bits, int thread, int r) {
    const int per_block = accumulator_bits == 16 ? 2 : 4;  // registers of a 16 x 8 block
    const Place inside = c_word(accumulator_bits, thread % 32, r % per_block);
    return {16 * (thread / 32) + inside.row, r / per_block * (8 / elements_per_word(accumulator_bits)) + inside.column};
}

/// Where a 32-bit word of a K-major operand without swizzling lies in shared memory (PTX ISA, "Shared memory matrix
/// layout"): core matrices of 8 rows x 16 bytes, each contiguous; first those of 8, 16, ... rows, then the next 16
/// bytes of k. Rows are rows of A or columns of B. A k-step of wgmma is 32 bytes: 8 words a row.
constexpr int core_matrix_word(int rows, int row, int k_word) {
    return (k_word / 4 * (rows / 8) + row / 8) * 32 + row % 8 * 4 + k_word % 4;
}
/// Bytes from a core matrix to the next one along k, and to the next 8 rows.
constexpr int leading_byte_offset(int rows) { return rows / 8 * 128; }
inline constexpr int stride_byte_offset = 128;

static_assert(a_words({16, 8, 16}, 16) == 4 && b_words({16, 8, 16}, 16) == 2 && c_words({16, 8, 16}, 16) == 2);
static_assert(a_element({16, 8, 16}, 16, 5, 6) == Place{9, 10});  // group 1, thread 1: a6 is row 1 + 8, column 2 + 8
static_assert(b_element(8, 31, 7) == Place{31, 7} && c_element(31, 3) == Place{15, 7});

}  // namespace ulp::gpu::layout
