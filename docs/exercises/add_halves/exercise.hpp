#pragma once

#include <cstdint>

/// a + b as bits of halves, rounded once to nearest even.
std::uint16_t add(std::uint16_t a, std::uint16_t b);
