#pragma once

#include <cstdint>

/// x as a half, rounded away from zero if the first 13 bits cut off and `random` (13 bits) add up to 8192 or more.
std::uint16_t round_stochastically(float x, std::uint32_t random);
