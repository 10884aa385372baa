// How an operation rounds and what it reports: an argument of each operation, never global state.
#pragma once

#include <cstdint>

namespace ulp {

/// IEEE 754-2019 section 4.3 and two more that hardware and training use.
enum class Rounding : std::uint8_t {
    nearest_even,  // to nearest, ties to the even significand
    nearest_away,  // to nearest, ties away from zero
    toward_zero,
    down,       // toward minus infinity
    up,         // toward plus infinity
    odd,        // exact, or toward zero with the last bit set: safe before a second rounding
    stochastic  // up with the probability of the discarded fraction, by Context::random
};

/// When a result counts as tiny for the underflow flag (IEEE 754-2019 section 7.5).
enum class Tininess : std::uint8_t { before_rounding, after_rounding };

/// Exception flags, with the bit values of Berkeley TestFloat.
namespace flag {
inline constexpr unsigned inexact = 1;
inline constexpr unsigned underflow = 2;
inline constexpr unsigned overflow = 4;
inline constexpr unsigned divide_by_zero = 8;
inline constexpr unsigned invalid = 16;
}  // namespace flag

/// Options of an operation, and the flags that operations raise in it (they are only ever set, never cleared).
struct Context {
    Rounding rounding = Rounding::nearest_even;
    Tininess tininess = Tininess::after_rounding;
    bool flush_inputs = false;   // subnormal operands count as zeros of their sign
    bool flush_outputs = false;  // tiny results become zeros of their sign
    bool saturate = false;       // infinite results become the largest finite number of their sign
    int random_bits = 0;         // stochastic rounding: how many bits of `random` take part, at most 32
    std::uint64_t random = 0;    // stochastic rounding: an integer in [0, 2^random_bits)
    unsigned flags = 0;
};

}  // namespace ulp
