// Colour pictures as a series, for figures.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/tensor/matrix.hpp"
#include "experiments/framework/result.hpp"

namespace ulp {

/// Square pictures side by side, each as three planes of side x side bytes. A point a pixel, row by row over the whole
/// sheet: x counts them, y is 65536 red + 256 green + blue.
Series colour_sheet(std::string name, std::span<const std::uint8_t> pictures, Index side);
/// Draws the sheets of the figure, of equally many pictures of this side, one below the other. Their names are one word
/// each. In grey, where they are: from -1 to 1.
void show_as_rows(Figure& figure, Index side, bool in_grey = false);

}  // namespace ulp
