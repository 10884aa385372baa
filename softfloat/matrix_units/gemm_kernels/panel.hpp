// What the driver of the fast products and its kernels agree on: how packed operands lie in memory, and what a kernel
// does with them. Each kernel file is compiled for its own instruction set, so nothing here is more than plain data.
//
// The columns of B come in panels of 4 vectors. A product a * b is exact as an fp32 number; what decides where it is
// cut is the sum of the exponents of a and b. Those sums are small integers, so they are kept separately from the
// values, in one byte each (formats with the exponents of fp16 or fewer) or in 16 bits (those of fp32), 4 columns to a
// 32-bit lane:
//
//     byte codes, lane l:   | v=3 | v=2 | v=1 | v=0 |       column v * lanes + l of the panel
//     word codes, lane l:   |    v=1    |    v=0    |  and  |    v=3    |    v=2    |
#pragma once

#include <cstdint>

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

inline constexpr int vectors_per_panel = 4;
inline constexpr std::int64_t rows_per_tile = 32;  // packed together; with a panel's group in the first-level cache

/// The vectors that a kernel computes for that many columns of a panel: 1, 2 or all.
constexpr int vectors_computed(std::int64_t cols, int lanes) {
    return cols <= lanes ? 1 : cols <= 2 * lanes ? 2 : vectors_per_panel;
}

/// How many tiles cover `size`, the last one perhaps in part.
constexpr std::int64_t tiles_of(std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; }

// Byte codes: exponent + 111, so 97 for 2^-14 and 126 for 2^15; 0 for a zero, whose sum with any code stays below the
// smallest sum of two nonzero operands by a gap of 68 binades.
inline constexpr int byte_code_of_exponent_0 = 111;
/// The sum of two byte codes that is fp32's exponent field 0.
inline constexpr int byte_code_sum_of_field_0 = 2 * byte_code_of_exponent_0 - 127;
// Word codes: the exponent field of fp32, 1 and up; a zero is far below.
inline constexpr int word_code_of_zero = -4096;
/// With word codes values from 2^31 on are left to the plain path: there a product with a zero operand could decide how
/// a group is cut (ZeroProduct::operand_at_fp32_emin), and sums could come near the end of fp32's range.
inline constexpr std::uint32_t word_codes_limit = 0x4F000000;

/// Byte codes: from here on a sum of two codes belongs to a product that is not zero.
inline constexpr int smallest_byte_code_sum = 160;

/// Below this exponent field of fp32 the largest exponent of a group is not followed: where a nonzero term could show
/// it, the element is a suspect. Also leaves room for 2^(M - F) to be a normal number.
inline constexpr int lowest_field = 32;  // 2^-95
/// With word codes a group whose largest product lies below this is a suspect, so that no sum that is not zero, a
/// multiple of the 31st bit below, gets under lowest_field itself.
inline constexpr int lowest_products_field = lowest_field + 32;
/// Above this one too, where scales can move it.
inline constexpr int highest_field = 217;  // 2^90

enum class ExponentCodes { bytes, words };
enum class ResultKind { fp32_toward_zero, fp16_nearest };
/// The units of IEEE operations: kernels_chain.hpp.
enum class ChainKind { fma_chain, fma_pairs, even_odd_fma, pairwise_2, pairwise_4, exact_2, exact_4 };
inline constexpr int chain_kinds = 7;

/// A chain of groups for `rows` rows and one panel.
struct PanelTask {
    const float* a;                    // [group][row][k]
    const std::uint32_t* a_exponents;  // the same, codes repeated to fill 32 bits
    const float* b;                    // [group][k][column]
    const std::uint32_t* b_exponents;  // [group][k][lane], words: [group][k][2][lane]
    float* c;                          // [row][column], in and out
    std::uint64_t* suspects;           // [row]: columns whose result must be computed again by the plain path
    std::int64_t groups;
    std::int64_t rows;
    int group;             // products in a group
    bool crowded = false;  // whether 16 products and c may leave an int32 (PackedRows)
    int fraction_bits = 0;
    std::uint32_t kept_bits = 0xFFFFFFFF;  // of a result's fp32 word: all, or without the low 10
    int floor_field = lowest_field;        // the model's floor under the largest exponent as a field of fp32; not below
    bool flush = false;                    // chains: subnormal operands and results count as zeros
    int positive_c_groups = 0;             // chains: groups after which a zero c becomes +0, an instruction's; 0: never
    const std::int32_t* a_scales = nullptr;  // [group][row], exponents of block scales; null without them
    const std::int32_t* b_scales = nullptr;  // [group][column]
};

/// A format's grid inside fp32, for the encoders.
struct Grid {
    std::uint32_t dropped_bits;   // of a normal number's word: must be 0
    std::uint32_t ignored_bits;   // set to 0 without a question (tf32)
    std::uint32_t flushed_below;  // what is smaller becomes a zero; 0: nothing
    std::uint32_t flushed_sign;   // bits that such a zero keeps: its sign, or none
    std::uint32_t min_normal;     // word of the smallest normal number
    std::uint32_t max_finite;     // word of the largest number
    float all_steps;              // 2^23 smallest subnormals, where fp32 holds one as a normal number; else 0
    int lowest_code_field;        // exponent field of fp32 that subnormals count with
    ExponentCodes codes;
};

/// Products of integers, two k a step: the lower half of a word holds the first k's operand, the upper half the second.
struct IntegerTask {
    const std::uint32_t* a;  // [row][step], rows a_stride apart
    const std::uint32_t* b;  // [step][column]
    std::uint32_t* c;        // [row][column], in and out
    std::int64_t a_stride;
    std::int64_t steps;
    std::int64_t rows;
    std::int64_t instruction_steps;  // after which c is clamped, where it saturates; divides `steps`
    bool saturates;
};

/// Terms of an FP4 instruction: sums of 16 products.
inline constexpr int fp4_terms = 4;

inline constexpr int fp4_k = 16 * fp4_terms;  // products of an FP4 instruction
/// Operands of A that are bytes, four a word, are unsigned: this much is added to them.
inline constexpr int fp4_byte_offset = 128;

/// Operands of 16 bits or 8, multiplied by their scales where an instruction is folded; or of 8 bits, whose terms are.
enum class Fp4Operands { words, bytes, bytes_by_terms };

/// A chain of FP4 instructions for some rows and one panel; operands and scales as fp4_operands.hpp makes them.
struct Fp4Task {
    const std::uint32_t* a;           // [row][step], rows a_stride apart
    const std::uint32_t* b;           // [step][column]
    const float* a_scales;            // [row][term], rows scale_stride apart
    const std::int32_t* a_exponents;  // exponents of their unit digits
    const float* b_scales;            // [term][column]
    const std::int32_t* b_exponents;
    const char* folded;           // [instruction]: whether the operands are multiplied by their scales
    const float* a_units;         // [row][instruction]: what 1 stands for in a folded instruction, times 2^-point
    const float* b_units;         // [instruction][column]
    const std::int32_t* a_least;  // [row][instruction]; plus the column's: the word of the smallest c that is not cut
    const std::int32_t* b_least;  // [instruction][column]
    std::int32_t addend_range;    // words from there on with which no term is cut
    const std::int32_t* b_sums;   // [instruction][column], bytes: where sums begin, which undoes the offset; or [term]
    const std::int32_t* a_multipliers;  // [row][term], by terms: the scales as integers, below 2^15 for both together
    const std::int32_t* b_multipliers;  // [term][column]
    float* c;                           // [row][column], in and out
    std::uint64_t* suspects;            // [row]
    std::int64_t a_stride;
    std::int64_t scale_stride;
    std::int64_t instructions;
    std::int64_t rows;
    int fraction_bits;
    int point;  // the smallest product is 2^-point
};

/// Values of one FP4 instruction, of a row of A or of a panel of B, and where their operands go.
struct Fp4Packing {
    const float* values = nullptr;  // [k]; of B [k][column], rows `stride` apart
    std::int64_t stride = 0;
    const float* factors = nullptr;                  // [term], of B [term][column]: an operand is its value times that
    float units_in_one = 1;                          // 1 / the format's smallest number
    std::uint32_t dropped_bits = 0, max_finite = 0;  // of the format, as in Grid
    std::uint32_t* words = nullptr;                  // [step], of B [step][column]
    std::int32_t* sums = nullptr;                    // of B, bytes: Fp4Task::b_sums of the instruction
};

/// Kernels of FP4 on operands of one width. Packing returns false if a value is not a number of the format.
struct Fp4Kernels {
    void (*multiply)(const Fp4Task&);
    bool (*pack_row)(const Fp4Packing&);
    bool (*pack_panel)(const Fp4Packing&);
};

/// One instruction set's kernels of integers.
struct IntegerKernels {
    void (*multiply)(const IntegerTask&);
    bool can_fold;      // whether FP4 instructions may be folded: their sums are rounded toward zero
    Fp4Kernels fp4[3];  // by Fp4Operands; null where no instruction multiplies bytes

    static const IntegerKernels portable, avx2, avx512, avx512_vnni, neon;
};

/// A chain of fp64 fused multiply-adds for some rows and one panel of vectors_per_fp64_panel vectors of columns.
inline constexpr int vectors_per_fp64_panel = 3;
struct Fp64Task {
    const double* a;  // [row][k], rows a_stride apart
    const double* b;  // [k][column], `width` of them
    double* c;        // [row][column], in and out
    std::int64_t a_stride;
    std::int64_t k;
    std::int64_t rows;
    std::int64_t width;
};

using PanelKernel = void (*)(const PanelTask&);
/// values[count] on the grid -> codes repeated in 32 bits. False if a value is not finite or not on the grid.
using RowEncoder = bool (*)(const Grid&, float* values, std::int64_t count, std::uint32_t* codes);
/// values[k][column] for `count` k, of some vectors of columns -> interleaved codes; the same answer.
using PanelEncoder = bool (*)(const Grid&, float* values, std::int64_t count, int vectors, std::uint32_t* codes);

/// One instruction set's kernels.
struct Kernels {
    const char* name;
    int lanes;
    bool has_flush;                              // whether a chain's task may ask for it
    PanelKernel fused[2][2][vectors_per_panel];  // [ExponentCodes][ResultKind][vectors in use - 1]
    PanelKernel scaled[vectors_per_panel];       // byte codes, fp32
    PanelKernel late[2][2][vectors_per_panel];   // [ExponentCodes][even and odd products apart]
    PanelKernel chain[chain_kinds][vectors_per_panel];
    /// c[i] + sums[i] in fp32, rounded to nearest even there or then in fp16; whole vectors.
    void (*add_segment[2])(float* c, const float* sums, std::int64_t count);  // [ResultKind]
    const IntegerKernels* integers;
    void (*fp64)(const Fp64Task&);
    RowEncoder encode_row;
    PanelEncoder encode_panel;

    static const Kernels portable, avx2, avx512, avx512_vnni,
        neon;  // chosen by kernels_of (softfloat/vector/dispatch.hpp)
};

constexpr std::int64_t panel_width(const Kernels& kernels) { return std::int64_t{vectors_per_panel} * kernels.lanes; }

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
