// A figure as data: its curves, its axes, and what is drawn with them. experiments/framework/drawing.cpp makes a script
// of it. Nothing in it is a command.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "softfloat/format.hpp"

namespace ulp {

struct Point {
    double x;
    double y;
};

/// One curve or set of bars. The values of y lie on the format's grid; its bits are recorded in that format.
struct Series {
    std::string name;
    FloatFormat format = formats::fp64;
    std::vector<Point> points{};
};
/// y at the whole numbers from `first` to `last`, `distance` apart.
template <std::integral Whole, class Y>
Series curve(std::string name, Whole first, Whole last, const Y& y, Whole distance = 1) {
    Series series{std::move(name)};
    for (Whole x = first; x <= last; x += distance) series.points.push_back({static_cast<double>(x), y(x)});
    return series;
}
/// The x of the first point whose y is such, after `before`: "2^-24"; `none` where no y is.
std::string first_x(const Series& series, const std::function<bool(double)>& is, const std::string& before = "",
                    const std::string& none = "none");

/// How an axis shows its numbers.
enum class Numbers {
    plain,
    percent,  // shares, as per cent
    powers,   // of the logarithmic axis' base; on a linear axis the numbers are exponents of 2
};
/// Numbers here are as the axis shows them: 50 is half of `percent`.
struct Axis {
    std::string label{};
    int log_base = 0;  // 0: linear
    Numbers numbers = Numbers::plain;
    std::optional<double> from{}, to{};  // open: as the data need it
    double room = 0;                     // left free beyond the data: on x in its unit, on y as a share of the height
    double step = 0;                     // between numbers; on a logarithmic axis their ratio
    std::vector<std::pair<double, std::string>> names{};  // written instead of numbers
};
struct Axes {
    Axis x{}, y{};
};
/// Categories side by side at 0, 1, 2 ...
Axis named_axis(const std::vector<std::string>& names, std::string label = "");
/// Shares from 0 to 100 %, and from 0 to what the data need.
inline Axis percent_axis(std::string label) {
    return {.label = std::move(label), .numbers = Numbers::percent, .from = 0.0, .to = 100.0, .step = 20.0};
}
inline Axis share_axis(std::string label, double room = 0.15) {
    return {.label = std::move(label), .numbers = Numbers::percent, .from = 0.0, .room = room};
}
/// Powers of a base on a logarithmic scale.
inline Axis power_axis(std::string label, int base, double room = 0) {
    return {.label = std::move(label), .log_base = base, .numbers = Numbers::powers, .room = room};
}
inline Axis step_axis() { return {.label = "step", .from = 0.0}; }
/// Binades by their exponents.
inline Axis binade_axis(double from, double to, std::string label = "binade") {
    return {.label = std::move(label),
            .numbers = Numbers::powers,
            .from = from,
            .to = to,
            .step = to - from > 40.0 ? 8.0 : 4.0};
}

enum class Mark {
    lines,
    points,
    linespoints,
    steps,
    boxes,
    histogram,  // a box for each binade, see-through
    stems,      // a point on a line from 0
    ranges,     // a line for each pair of points
    spans,      // a thick line from -y to y
    none,
};
/// Colours: 1 to palette_size of the palette (plots/style.gp), and these.
constexpr int next_colour = 0, grey = -1, black = -2, pale = -3;
constexpr int palette_size = 11;
/// As many curves have their names, up to so long, at their ends in place of a key.
constexpr std::size_t few_curves = 4, brief_name = 16;
/// The palette's colours for series with these names: a format's own, the same in every figure, if it is not taken; for
/// the others those that are left.
std::vector<int> colours_of(const std::vector<std::string>& names, std::vector<int> taken = {});
/// The i-th of the palette's colours that no format has, over again after the last.
int formatless_colour(std::size_t i);

constexpr int every_panel = -1;

/// How a series is drawn.
struct Look {
    Mark mark = Mark::lines;
    int colour = next_colour;
    double width = 0;  // of lines; 0: the style's
    int dash = 1;
    int point = 0;  // gnuplot's number of the mark; 0: the colour's
    double size = 0;
    std::optional<std::string> title{};  // in the key; open: the series' name; empty: not in the key
    double shift = 0;                    // of x
    int panel = 0;
    bool number = false;             // per cent, above each point
    std::optional<double> beyond{};  // the y of crosses for what the axis cannot show: infinity, NaN, 0 on a logarithm
};

/// A line or an area beside the data, from edge to edge where open. A line where two ends are the same.
struct Guide {
    std::optional<double> left{}, right{}, bottom{}, top{};
    std::string text{};
    double strength = 0.45;  // of an area
    int colour = grey;
    int dash = 2;           // of a line
    bool opposite = false;  // the text on the other side of an upright line
};
inline Guide level(double y, std::string text = "") { return {.bottom = y, .top = y, .text = std::move(text)}; }
inline Guide upright(double x, std::string text = "") { return {.left = x, .right = x, .text = std::move(text)}; }
/// What fp16 makes 0, and its subnormal numbers, on an axis of binades.
std::vector<Guide> fp16_underflow();
/// What is infinite in fp16, on an axis of binades.
inline Guide fp16_overflow() { return {.left = 16.0, .text = "infinite in fp16"}; }

struct Note {
    double x, y;
    std::string text;
};

/// One of several drawings on a figure, two beside each other.
struct Panel {
    std::string title;
    std::optional<double> from{}, to{};  // of its x, where it is not the figure's
};
enum class Key { above, top_left, bottom_right, beside, none };

/// A number or a text that a template reads by its name, [a-z][a-z0-9_]*.
using PlotVariable = std::pair<std::string, std::variant<double, std::string>>;

struct Figure {
    std::string name;      // file name without ending
    std::string title;     // one line, on the figure
    std::string caption;   // one or two lines below it: setting, units, what the lines are
    std::string meaning;   // for the report: what to see
    std::string evidence;  // for the report: what stands behind the hardware's arithmetic; empty: no hardware model
    std::vector<Series> series{};
    std::string plot{};  // the template plots/<plot>.gp; empty: a chart of the axes and looks below
    Axes axes{};
    std::vector<Look> looks{};  // of the series in their order; the last one holds for those that follow
    std::vector<Guide> guides{};
    std::vector<Note> notes{};
    std::vector<Panel> panels{};
    Key key = Key::above;
    int key_rows = 2;  // of a key above
    double bar_width = 0.9;
    std::vector<PlotVariable> variables{};  // of a template
    int frames = 0;                         // of a moving drawing (results/animation.hpp); 0: it stands still
    std::string headline{};  // a sentence for the report's opening page; empty: the figure is not shown there
};

/// The series as bars beside each other at each category, with numbers above.
void draw_bars(Figure& figure);

}  // namespace ulp
