#pragma once

#include <cstdint>

/// a * b + c as bits of halves, rounded once to nearest even.
std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t c);
