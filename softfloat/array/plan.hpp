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

/// Word: std::uint32_t where values are carried as fp32 words, std::uint64_t where as fp64 words (the text above says
/// fp32 for both).
template <class Word>
struct BasicRoundingPlan {
    Word cut;              // fraction bits dropped at and above 2^emin
    Word cut_at_zero;      // cut of the binade with exponent field e below 2^emin: this minus e
    Word hidden_parity;    // bit 23 where the hidden bit's place holds 0 in the binade of cut 23, else 0
    Word smallest;         // fp32 word of the smallest number; 0 where there are no tiny magnitudes
    Word tiny_half;        // tiny magnitudes above this become `smallest`, if the rounding is away from zero
    Word largest;          // fp32 word of the largest finite number
    Word overflow_away;    // magnitude of an overflow that is rounded away from zero; a NaN word if NaN
    Word overflow_toward;  // ... toward zero
    Word infinity;         // magnitude of a converted infinity; a NaN word if NaN
    Word nan;              // word of a NaN
    Word zero_sign;        // sign bit if the format has -0, else 0
    Word zero_below;       // magnitudes below this become zeros (flushing); 0: none
    Word zero_below_away;  // ... where a directed rounding increases magnitudes
    Word flush_shift;      // stochastic: the random number, shifted by this, is added before it is compared
    Word up;               // for the two directed roundings: all ones if up, 0 if down

    // From an fp32 word on the format's grid to the storage word.
    Word code_rebias;           // subtracted at and above 2^emin: the difference of the biases
    Word code_smallest_normal;  // fp32 word of 2^emin
    Word code_infinity;         // magnitude
    Word code_nan;              // magnitude, or with its sign where only a negative code is a NaN
    Word code_sign_shift;       // from the top bit to the code's sign bit
    Word code_padding;          // bits below the code in a storage word of 32 bits

    // From the storage word to fp32.
    Word code_magnitude_mask;
    Word code_hidden;    // magnitude of 2^emin: below it, numbers are subnormal
    Word code_top;       // magnitudes above it are infinity and NaNs
    Word infinity_word;  // fp32 word of code_infinity: a NaN where the format has none

    Word operand_below;  // operands with magnitudes below this become zeros; 0: none
    Word operand_sign;   // the sign bit if such zeros keep their sign, else 0

    // Arithmetic: the sign bit where the sum of x and -x is -0, that is if down; else 0.
    Word zero_sum_sign;

    // Stochastic rounding: the exponent that makes `smallest` one more than the largest word, as a number.
    Word tiny_exponent;

    // Stochastic rounding: Philox of (counter, stream; key), counting from the block of the first element.
    std::uint32_t key[2];
    std::uint32_t stream[2];
    std::uint64_t block;
    std::uint32_t skip;       // position of the first element in its block of 4
    std::uint32_t kept_bits;  // the upper random_bits of a word
};
using RoundingPlan = BasicRoundingPlan<std::uint32_t>;
using RoundingPlan64 = BasicRoundingPlan<std::uint64_t>;

}  // namespace ulp::array
