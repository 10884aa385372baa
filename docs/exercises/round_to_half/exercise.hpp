#pragma once

#include <cstdint>

/// The bits of the half nearest to x, ties to even.
std::uint16_t half_from_single(float x);
