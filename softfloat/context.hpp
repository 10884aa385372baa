// How an operation rounds and what it reports: an argument of each operation, never global state.
//
// One struct for scalars, arrays, conversions and the trainer's steps. It is flat, because a designated initialiser
// reaches only direct members: ulp::Context{.rounding = ulp::Rounding::up}.
#pragma once

#include <cstdint>

namespace ulp {

/// IEEE 754-2019 section 4.3 and two more that hardware and training use.
enum class Rounding : std::uint8_t {
    nearest_even,  // to nearest, ties to the even significand
    nearest_away,  // to nearest, ties away from zero
    toward_zero,
    down,  // toward minus infinity
    up,    // toward plus infinity
    odd,   // exact, or toward zero with the last bit set: safe before a second rounding
    // Up with the probability of the discarded fraction d; needs Context::random_bits, N, and draws r from [0, 2^N).
    // P3109's StochasticA, PTX's cvt.rs:
    stochastic,    // floor(d 2^N) + r >= 2^N
    stochastic_b,  // StochasticB: floor(d 2^(N+1)) + 2 r + 1 >= 2^(N+1), without A's bias toward zero
    stochastic_c   // StochasticC: d 2^N to nearest even, + r >= 2^N
};

/// Whether the mode needs random bits.
constexpr bool is_stochastic(Rounding rounding) { return rounding >= Rounding::stochastic; }

/// What a result beyond the largest number gives. `saturate = true` is sat_finite; false leaves it to the format.
struct Saturation {
    enum Mode : std::uint8_t {
        ovf_inf,       // infinity, or NaN in formats without, unless the rounding points inward (IEEE 754)
        sat_finite,    // the largest number; infinities, too
        sat_propagate  // the largest number; infinities stay where the format has them (IEEE P3109)
    };
    Mode mode = ovf_inf;
    constexpr Saturation() = default;
    constexpr Saturation(bool saturates) : mode(saturates ? sat_finite : ovf_inf) {}  // NOLINT: saturate = true
    constexpr Saturation(Mode chosen) : mode(chosen) {}                               // NOLINT
    /// Whether an overflow of a finite number stays finite.
    constexpr operator bool() const { return mode != ovf_inf; }  // NOLINT
    constexpr bool operator==(const Saturation&) const = default;
    constexpr bool operator==(Mode other) const { return mode == other; }
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

/// Options of an operation, and the flags that scalar operations raise in it (they are only ever set, never cleared).
///
/// Stochastic rounding needs random bits. Without them (random_bits outside 1 to 32) every operation on the host throws
/// std::invalid_argument where it rounds a finite result; on a GPU the result is invalid (NaN, where the format has
/// one). A scalar operation takes its random number from `random`. An array operation draws one for each element, a
/// function of (seed, stream, position of the element): an array cut into pieces for several threads rounds as it does
/// whole, if each piece says where it begins in `first`.
struct Context {
    Rounding rounding = Rounding::nearest_even;
    Tininess tininess = Tininess::after_rounding;
    bool flush_inputs = false;   // subnormal operands count as zeros of their sign
    bool flush_outputs = false;  // tiny results become zeros of their sign
    Saturation saturate{};       // true: infinite results become the largest finite number of their sign
    int random_bits = 0;         // stochastic rounding: how many bits of a random number take part, 1 to 32
    std::uint64_t random = 0;    // of a scalar operation: an integer in [0, 2^random_bits)
    std::uint64_t seed = 0;      // of an array operation: the generator's key
    std::uint64_t stream = 0;    // the upper half of the generator's counter: say, a tensor and a step of training
    std::uint64_t first = 0;     // position of the array's first element in the stream
    unsigned flags = 0;
    constexpr bool operator==(const Context&) const = default;
};

}  // namespace ulp
