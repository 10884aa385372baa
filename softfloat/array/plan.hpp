// A format and a rounding, reduced to the constants that the array kernels need. Plain words without functions: this
// header is also compiled for instructions that the processor may lack (see softfloat/vector/simd_choice.hpp).
//
// A kernel rounds the fp32 word x = sign | a. With `cut` the number of fraction bits to drop:
//
//     a:  eeeeeeee kkkkkkkkkk ddddddddddddd      add an increment that depends on the rounding and carries out of the
//                            |--- cut ---|      d field where a is to be rounded up, clear d; a carry out of k
//                                               moves into the exponent by itself
//
// At and above 2^emin the cut is constant. Below, it grows as the exponent falls, to 23 (only the hidden bit is kept).
// The hidden bit is always 1, but the bit of the word in its place is the exponent's lowest: `hidden_parity` is xored
// on where the last kept bit matters. Magnitudes below the smallest number are decided by comparison with `tiny_half`.
// A format with fp32's exponents has no such cases: fp32's own subnormals are on a grid of constant spacing.
#pragma once

#include <cstdint>

namespace ulp::array {

struct RoundingPlan {
    std::uint32_t cut;              // fraction bits dropped at and above 2^emin
    std::uint32_t cut_at_zero;      // cut of the binade with exponent field e below 2^emin: this minus e
    std::uint32_t hidden_parity;    // bit 23 where the hidden bit's place holds 0 in the binade of cut 23, else 0
    std::uint32_t smallest;         // fp32 word of the smallest number; 0 where there are no tiny magnitudes
    std::uint32_t tiny_half;        // tiny magnitudes above this become `smallest`, if the rounding is away from zero
    std::uint32_t largest;          // fp32 word of the largest finite number
    std::uint32_t overflow_away;    // magnitude of an overflow that is rounded away from zero; a NaN word if NaN
    std::uint32_t overflow_toward;  // ... toward zero
    std::uint32_t infinity;         // magnitude of a converted infinity; a NaN word if NaN
    std::uint32_t nan;              // word of a NaN
    std::uint32_t zero_sign;        // sign bit if the format has -0, else 0
    std::uint32_t zero_below;       // magnitudes below this become zeros (flushing); 0: none
    std::uint32_t up;               // for the two directed roundings: all ones if up, 0 if down

    // From an fp32 word on the format's grid to the storage word.
    std::uint32_t code_rebias;           // subtracted at and above 2^emin: the difference of the biases
    std::uint32_t code_smallest_normal;  // fp32 word of 2^emin
    std::uint32_t code_infinity;         // magnitude
    std::uint32_t code_nan;              // magnitude, or with its sign where only a negative code is a NaN
    std::uint32_t code_sign_shift;       // from bit 31 to the code's sign bit

    // From the storage word to fp32.
    std::uint32_t code_magnitude_mask;
    std::uint32_t code_hidden;    // magnitude of 2^emin: below it, numbers are subnormal
    std::uint32_t code_top;       // magnitudes above it are infinity and NaNs
    std::uint32_t infinity_word;  // fp32 word of code_infinity: a NaN where the format has none

    // Arithmetic: the sign bit where the sum of x and -x is -0, that is if down; else 0.
    std::uint32_t zero_sum_sign;

    // Stochastic rounding: Philox of (counter, stream; key), counting from the block of the first element.
    std::uint32_t key[2];
    std::uint32_t stream[2];
    std::uint64_t block;
    std::uint32_t skip;           // position of the first element in its block of 4
    std::uint32_t kept_bits;      // the upper random_bits of a word
    std::uint32_t tiny_exponent;  // fp32 word of the exponent that makes `smallest` 2^32
};

}  // namespace ulp::array
