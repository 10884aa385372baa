// Draws figures with gnuplot from the templates in plots/, which are compiled into the program.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "experiments/framework/result.hpp"

namespace ulp {

/// The content of a file of plots/ by its name; nothing there: std::logic_error.
std::string_view plot_template(std::string_view name);

/// Writes for each figure <name>.gp, which needs only data.csv and style.gp beside it, and style.gp itself:
/// `gnuplot <name>.gp` in the folder draws <name>.svg and <name>.png.
void write_scripts(const Result& result, const std::filesystem::path& folder);

/// Draws all scripts of the folder, two at a time. Gives "" or, without gnuplot, the sentence that says how to draw
/// them later, with `place` as the folder. Throws DataError with gnuplot's own words where it fails.
std::string draw_figures(const std::filesystem::path& folder, const std::filesystem::path& place);

/// Whether a script of the folder has not been drawn and gnuplot is there to draw it.
bool lacks_drawings(const std::filesystem::path& folder);

}  // namespace ulp
