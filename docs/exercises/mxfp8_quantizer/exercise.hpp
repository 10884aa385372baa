#pragma once

#include <cstdint>

/// The E8M0 code of the scale of the block x[0] ... x[31].
std::uint8_t block_scale(const float* x);

/// The E4M3 code of x in a block with that scale.
std::uint8_t element(float x, std::uint8_t scale);
