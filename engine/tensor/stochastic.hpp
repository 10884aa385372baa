// Stochastic rounding of many numbers, whose random numbers are those of engine/tensor/random.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "engine/tensor/rounder.hpp"

namespace ulp {

/// Bits of the random number that decides whether a number is rounded up.
constexpr int update_random_bits = 24;

/// Rounds up or down with the probability of the dropped fraction. Number i takes the upper 24 bits of the word
/// Random(seed, stream).at(first + i). Equivalent to:
///
///     values[i] = round_to(format, values[i], {.rounding = stochastic, .random_bits = 24, .random = word >> 40})
void round_stochastically(const ComputeFormat& format, std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                          std::span<float> values);
void round_stochastically(const ComputeFormat& format, std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                          std::span<double> values);

}  // namespace ulp
