#pragma once

#include <cstdint>

/// The number that a half stands for.
float value_of_half(std::uint16_t bits);
