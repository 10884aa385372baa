// Draws figures with gnuplot from the templates in plots/ (share/ulplab/plots where installed): computing, publishing
// and drawing are three steps, and a result is safe before the third begins.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/result.hpp"

namespace ulp {

/// The content of a file of plots/. Throws DataError where there is none.
std::string plot_template(std::string_view name);

/// Writes figures.json: what the templates need beside data.csv. It holds names, texts and numbers, and no commands.
void write_figures(const Result& result, const std::filesystem::path& folder);

/// Draws the figures of the result in <parent>/<name>: for each <figure>.gp, which needs only data.csv and style.gp
/// beside it, <figure>.svg and <figure>.png, two figures at a time. Scripts are made anew and never read. Gives "" or,
/// without gnuplot, the sentence that says how to draw them later. Throws DataError with gnuplot's own words where it
/// fails; the other files stay.
std::string draw_figures(const std::filesystem::path& parent, const std::string& name);

/// Whether a figure of the result in the folder has not been drawn.
bool lacks_drawings(const std::filesystem::path& folder);

/// The names of the files that a result's figures have in its folder, there or not.
std::vector<std::string> files_of_figures(const std::filesystem::path& folder);

}  // namespace ulp
