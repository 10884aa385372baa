// A figure on its way to gnuplot: what figures.json keeps of it, and the script that it becomes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/result.hpp"

namespace ulp {

/// What is drawn beside data.csv. Nothing in it is a command: a script is the template and the text that this program
/// makes of these values.
struct Drawing {
    std::string name{}, title{}, caption{}, plot{};
    std::vector<std::string> series{};
    Axes axes{};
    std::vector<Look> looks{};
    std::vector<Guide> guides{};
    std::vector<Note> notes{};
    std::vector<Panel> panels{};
    Key key = Key::above;
    int key_rows = 2;
    double bar_width = 0.9;
    std::vector<PlotVariable> variables{};
    int frames = 0;
};

Drawing drawing_of(const Figure& figure);

nlohmann::json json_of(const Drawing& drawing);
/// Throws DataError for a text with a control character: behind a line break gnuplot's commands begin. Throws
/// nlohmann::json::exception where a field is missing or of another type.
Drawing drawing_from(const nlohmann::json& row);

/// A gnuplot string constant. Control characters are not among what it can hold.
std::string gnuplot_string(std::string_view text);
/// The text in lines of at most `width` characters, broken at spaces.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// Lines as a gnuplot expression.
std::string gnuplot_lines(const std::vector<std::string>& lines);

/// What a drawing sets after plots/style.gp: labels, scales, ranges, and numbers of its axes.
std::string axis_settings(const Drawing& drawing);
/// What a drawing without a template sets then, and plots.
std::string chart(const Drawing& drawing);

}  // namespace ulp
