#pragma once

#include <cstdint>

/// Bits of the single that a matrix unit gives for the n products of a and b (bits of halves) and c (bits of a single).
std::uint32_t block(int n, int fraction_bits, const std::uint16_t* a, const std::uint16_t* b, std::uint32_t c);
