#pragma once

#include <cstdint>

/// The scale of a tensor x[0] ... x[n - 1].
float tensor_scale(const float* x, int n);

/// The E4M3 code of the scale of the block x[0] ... x[15], in a tensor with that largest magnitude.
std::uint8_t block_scale(const float* x, float largest);

/// The E2M1 code of x under the two scales, a single and an E4M3 code.
std::uint8_t element(float x, float tensor, std::uint8_t block);
