// Draws figures with gnuplot from the templates in plots/ (share/ulplab/plots where installed): computing, publishing
// and drawing are three steps, and a result is safe before the third begins.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/result.hpp"

namespace ulp {

// A figure on its way to gnuplot: what figures.json keeps of it, and the script that it becomes.

/// As it is drawn: in a template of its own where no point is finite, without the axis' end where all lie beyond it.
Figure drawing_of(Figure figure);

/// What is drawn beside data.csv. Nothing in it is a command: a script is the template and the text that this program
/// makes of these values.
nlohmann::json json_of(const Figure& drawing);
/// Without the series' points. Throws DataError for a text with a control character: behind a line break gnuplot's
/// commands begin. Throws nlohmann::json::exception where a field is missing or of another type.
Figure drawing_from(const nlohmann::json& row);

/// A gnuplot string constant. Control characters are not among what it can hold.
std::string gnuplot_string(std::string_view text);
/// The text in lines of at most `width` characters, broken at spaces.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// Lines as a gnuplot expression.
std::string gnuplot_lines(const std::vector<std::string>& lines);

/// What a drawing sets after plots/style.gp: labels, scales, ranges, and numbers of its axes.
/// Height of what stands below a page's drawing, in its pixels: numbers or turned names, and the label.
int page_foot(const Figure& drawing);
std::string axis_settings(const Figure& drawing);
/// As many curves have their names, up to so long, at their ends; on a page in lines of `end_width`.
constexpr std::size_t most_ends = 6, most_end_lines = 10, longest_end = 28, end_width = 11;
/// A curve by its name, its number in the palette, and its dashes.
struct Named {
    std::string name;
    int colour;
    int dash = 1;
};
/// What plots/ends.gp needs to write the names at the curves' ends, or at their peaks; empty for too many or too long
/// ones.
std::string ends_of(const std::vector<Named>& curves, bool at_peaks = false);
/// What a drawing without a template sets then, and plots.
std::string chart(const Figure& drawing);

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

// Moving drawings: a gnuplot SVG whose curves are frames, shown in turn. Plays in any browser, offline.

/// gnuplot numbers the curves of each panel from 1; curve k shows frame (k - 1) mod `frames`, for `seconds` each, over
/// and over; the last one stays a second longer. Where nothing can move, the last frame is seen.
std::string animated(std::string svg, int frames, double seconds = 0.6);

}  // namespace ulp
