// Charts: the axes, looks and guides of a figure as gnuplot's settings and one plot for each panel.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "experiments/framework/figures.hpp"

namespace ulp {
namespace {

std::string number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : "*"; }

std::string format_of(const Axis& axis) {
    switch (axis.numbers) {
        case Numbers::percent: return "%g %%";
        case Numbers::powers: return axis.log_base > 1 ? fmt::format("{}^{{%L}}", axis.log_base) : "2^{%g}";
        case Numbers::plain: break;
    }
    return axis.log_base > 1 ? "%g" : "";
}

std::size_t longest_name(const Axis& axis) {
    std::size_t longest = 0;
    for (const auto& [at, name] : axis.names) longest = std::max(longest, name.size());
    return longest;
}

/// Letters in a line below the rows of a page's runs, whose names take the other half.
constexpr std::size_t row_label = 20;

/// Degrees by which a page turns the names of many categories.
int name_slant(const Axis& axis) { return longest_name(axis) > 14 ? 60 : 35; }

/// Names of categories, those that stand close in lines and small.
std::string names_of(char letter, const Axis& axis) {
    std::string names;
    const std::size_t width = letter == 'x' ? 100 / axis.names.size() : 30;
    for (const auto& [at, name] : axis.names) {
        names += fmt::format("{}{} {}", names.empty() ? "" : ", ", gnuplot_lines(wrapped(name, width)), at);
    }
    const char* font = letter == 'y' ? "" : axis.names.size() > 8 ? "font tiny" : "font small";
    const std::string text = fmt::format("set {0}tics ({1}) scale 0 {2}\nset grid no{0}tics\n", letter, names, font);
    if (letter == 'y' || axis.names.size() <= 3) return text;
    std::string slanted;
    for (const auto& [at, name] : axis.names) {
        slanted += fmt::format("{}{} {}", slanted.empty() ? "" : ", ", gnuplot_string(name), at);
    }
    return text + fmt::format("if (page) {{ set xtics ({}) scale 0 rotate by {} right }}\n", slanted, name_slant(axis));
}

/// Lines that the longest name takes.
std::size_t name_lines(const Axis& axis) {
    std::size_t most = 1;
    for (const auto& [at, name] : axis.names) most = std::max(most, wrapped(name, 100 / axis.names.size()).size());
    return most;
}

/// `widest`: letters in a line of the label on a page's small sheet.
std::string settings_of(char letter, const Axis& axis, std::size_t widest) {
    std::string text;
    if (!axis.label.empty()) {
        text += fmt::format("set {}label {} noenhanced\n", letter,
                            gnuplot_lines(wrapped(axis.label, letter == 'y' ? 44 : 90)));
    }
    if (axis.label.size() > widest) {
        text += fmt::format(
            "if (page) {{ set {}label {} noenhanced{} }}\n", letter, gnuplot_lines(wrapped(axis.label, widest)),
            letter == 'x'
                ? fmt::format("; set bmargin {}", 2.6 + 1.15 * static_cast<double>(wrapped(axis.label, widest).size()))
                : "");
    }
    if (axis.log_base > 1) text += fmt::format("set logscale {} {}\n", letter, axis.log_base);
    if (const std::string format = format_of(axis); !format.empty()) {
        text += fmt::format("set format {} '{}'\n", letter, format);
    }
    if (axis.from || axis.to) text += fmt::format("set {}range [{}:{}]\n", letter, number(axis.from), number(axis.to));
    const bool is_log = axis.log_base > 1;
    if (axis.step > 0) {
        const bool dense = !is_log && axis.from && axis.to && *axis.to - *axis.from > 6 * axis.step;
        text += fmt::format("set {}tics {}{}\n", letter, axis.step, dense ? " * (page ? 2 : 1)" : "");
    }
    if (letter == 'x' && (axis.step == 0 || is_log) && axis.names.empty()) {
        const auto end = [](const std::optional<double>& own, const char* of_data) {
            return own ? fmt::format("{}", *own) : of_data;
        };
        // It may be that no point is there.
        const std::string most = end(axis.to, "STATS_max"), least = end(axis.from, "STATS_min");
        text += fmt::format(
            "if (page) {{ stats [*:*] [*:*] 'data.csv' using (strcol(1) eq figure ? {}column(3) : NaN) nooutput; "
            "if (exists('STATS_max')) {{ x_span = {}; set xtics {} }} }}\n",
            axis.numbers == Numbers::percent ? "100 * " : "",
            is_log ? fmt::format("log(1.0 * {} / {}) / log({})", most, least, axis.log_base) : most + " - " + least,
            is_log ? fmt::format("{0} ** (-30 * ceil(x_span / 4)), {0} ** ceil(x_span / 4)", axis.log_base)
                   : "tic(x_span)");
    }
    if (!axis.names.empty()) text += names_of(letter, axis);
    return text;
}

std::string colour_text(int colour) {
    switch (colour) {
        case grey: return "linetype 8 linecolor rgb mark_colour";
        case black: return "linetype 8 linecolor rgb 0x000000";
        case pale: return "linetype 8 linecolor rgb 0xBBBBBB";
        default: return fmt::format("linetype {}", colour);
    }
}

/// A place on an axis, or its edge.
std::string place(const std::optional<double>& at, int edge) {
    return at ? fmt::format("first {}", *at) : fmt::format("graph {}", edge);
}

/// A line's words, which stand above the panel, where no curve crosses them.
std::vector<std::string> words_above(const Guide& guide, bool is_level) {
    return wrapped((is_level ? "dashed: " : "") + guide.text, 30);
}

/// `above`: lines of words that stand above the panel, its own the last of them; 0: an area, whose words are inside.
std::string label_of(const Guide& guide, std::size_t number, bool is_level, std::size_t above) {
    const bool is_last = above == 0 && guide.left && !guide.right;  // up to the right edge: the words end there
    const char* side = is_level || guide.opposite || is_last ? "right" : "left";
    const double shift = is_last ? 0 : guide.opposite ? -0.7 : 0.7;
    const std::string left = is_last ? "graph 0.99" : guide.left ? place(guide.left, 0) : "graph 0.015";
    const std::string text =
        fmt::format("set label {} {} at ", number,
                    gnuplot_lines(above > 0 ? words_above(guide, is_level) : wrapped(guide.text, 16)));
    if (above == 0) {
        return text + fmt::format("{},{} {} offset {},{} noenhanced font small front\n", left,
                                  guide.top ? place(guide.top, 1) : "graph 0.95", side, shift, guide.top ? -0.9 : 0.0);
    }
    return text + fmt::format("{},graph 1 {} offset {},{} noenhanced font tiny textcolor rgb 0x555555 front\n",
                              is_level ? "graph 1" : left, side, is_level ? 0 : -shift,
                              0.95 * static_cast<double>(above) - 0.3);
}

std::string rgb_of(int colour, bool is_area) {
    if (colour == pale) return "rgb 0xBBBBBB";
    if (colour == black) return "rgb 0x000000";
    return 1 <= colour && colour <= palette_size ? fmt::format("rgb colours[{}]", colour)
           : is_area                             ? "rgb 0x999999"
                                                 : "rgb mark_colour";
}

/// Of the band for infinity and NaN beside its marks, in y.
double beyond_room(const Figure& drawing) {
    const Axis& y = drawing.axes.y;
    return y.from && y.to ? 0.03 * (*y.to - *y.from) : 0;
}

std::string guides_of(const Figure& drawing) {
    std::string text = fmt::format("rules = {}\narray rule_x[rules + 1]\n", drawing.guides.size());
    std::size_t count = 0;
    std::size_t above = 0;
    for (const Guide& guide : drawing.guides) {
        ++count;
        const bool is_level = guide.bottom && guide.bottom == guide.top;
        const bool is_line = is_level || (guide.left && guide.left == guide.right);
        const std::string ends = fmt::format("from {},{} to {},{}", place(guide.left, 0), place(guide.bottom, 0),
                                             place(guide.right, 1), place(guide.top, 1));
        const std::string colour = rgb_of(guide.colour, !is_line);
        text += is_line ? fmt::format("set arrow {} {} nohead linecolor {} dashtype {} linewidth 1.5\n", count, ends,
                                      colour, guide.dash)
                        : fmt::format("set object {} rectangle {} behind fillcolor {} fillstyle solid {} noborder\n",
                                      count, ends, colour, guide.strength);
        text += fmt::format("rule_x[{}] = {}\n", count, is_line && !is_level ? number(guide.left) : "NaN");
        if (guide.text.empty()) continue;
        if (is_line) above += words_above(guide, is_level).size();
        text += label_of(guide, count, is_level, is_line ? above : 0);
    }
    text += fmt::format("above = {}\n", above);
    // What the axis cannot show lies in a band of its own.
    std::optional<double> low, high;
    for (const Look& look : drawing.looks) {
        if (!look.beyond) continue;
        low = std::min(low.value_or(*look.beyond), *look.beyond);
        high = std::max(high.value_or(*look.beyond), *look.beyond);
    }
    if (low) {
        text += fmt::format(
            "set object {} rectangle from graph 0,first {} to graph 1,first {} behind fillcolor rgb 0xEEEEEE fillstyle "
            "solid "
            "border rgb 0xBBBBBB\n",
            ++count, drawing.axes.y.log_base > 1 ? *low / 1.6 : *low - beyond_room(drawing),
            drawing.axes.y.log_base > 1 ? *high * 1.6 : *high + beyond_room(drawing));
    }
    for (const Note& note : drawing.notes) {
        text += fmt::format("set label {} {} at {},{} left offset 0.6,0.8 noenhanced font small front\n", ++count,
                            gnuplot_string(note.text), note.x, note.y);
    }
    return text;
}

std::string key_of(Key key, bool small) {
    const std::string font = small ? "tiny samplen 1.5" : "small";
    if (key == Key::above) return "set key at graph 0.5,1.02 + (lesson ? 0.14 : 0.05) * above\n";
    if (key == Key::none) return "set key off\n";
    if (key == Key::beside) return "set rmargin 23\nset key vertical at graph 1.02,1 left top font tiny\n";
    return fmt::format("set key inside vertical {} font {}\n", key == Key::top_left ? "top left" : "bottom right",
                       font);
}

/// A look with what a series' number decides.
struct Drawn {
    Look look;
    std::size_t number;   // of the series, from 1
    std::size_t end = 0;  // of the names at the curves' ends, from 1; 0: none of them
};

std::string style_of(const Drawn& drawn) {
    const Look& look = drawn.look;
    std::string text = colour_text(look.colour);
    if (look.dash > 1) text += fmt::format(" dashtype {}", look.dash);
    if (look.width > 0) text += fmt::format(" linewidth {}", look.width);
    return text;
}

std::string points_of(const Look& look) {
    std::string text;
    if (look.point > 0) text += fmt::format(" pointtype {}", look.point);
    if (look.size > 0) text += fmt::format(" pointsize {} * mark_scale", look.size);
    return text;
}

std::string title_of(const Drawn& drawn) {
    if (!drawn.look.title) return fmt::format("title series({}) noenhanced", drawn.number);
    return drawn.look.title->empty() ? "notitle"
                                     : fmt::format("title {} noenhanced", gnuplot_string(*drawn.look.title));
}

std::string with_of(const Drawn& drawn) {
    const std::string lines = style_of(drawn);
    const std::string points = lines + points_of(drawn.look);
    switch (drawn.look.mark) {
        case Mark::lines: return "lines " + lines;
        case Mark::steps: return "steps " + lines;
        case Mark::boxes: return "boxes " + lines;
        case Mark::histogram: return "boxes " + lines + " fillstyle transparent solid 0.45 noborder";
        case Mark::linespoints: return "linespoints " + points;
        case Mark::ranges:
        case Mark::spans: return "vectors nohead " + lines;
        case Mark::points:
        case Mark::stems:
        case Mark::none: break;
    }
    return "points " + points;
}

/// A series' numbers as gnuplot's expressions.
struct Values {
    std::string series, x, y;
    std::string any_x;  // of rows whose y is no number, too

    Values(const Drawn& drawn, const Axes& axes) : series(fmt::format("series({})", drawn.number)) {
        const auto of = [](const Axis& axis, const std::string& value) {
            return axis.numbers == Numbers::percent ? "100 * " + value : value;
        };
        const double shift = drawn.look.shift + (drawn.look.mark == Mark::histogram ? 0.5 : 0);
        const std::string moved = shift == 0 ? "" : fmt::format(" + {}", shift);
        x = of(axes.x, fmt::format("x_of({})", series)) + moved;
        any_x = of(axes.x, "column(3)") + moved;
        y = of(axes.y, "column(5)");
        if (drawn.end > 0) y = fmt::format("end({}, {}, {})", drawn.end, x, y);
    }
    [[nodiscard]] std::string points() const { return fmt::format("({}):({})", x, y); }
    /// Points come in pairs: at every second one, a line from the one before.
    [[nodiscard]] std::string pairs() const {
        return fmt::format(
            "({}):(is_of({}) ? (before = now, now = {}, even = !even, even ? before : NaN) : NaN):(0):(now - before)",
            x, series, y);
    }
    [[nodiscard]] std::string spans() const { return fmt::format("({0}):(-{1}):(0):(2 * {1})", x, y); }
    [[nodiscard]] std::string numbers() const {  // on a page narrow bars have none
        return points() +
               ":(column(5) < 0.0005 || (page && bars > 8) ? '' : sprintf(column(5) < 0.0995 ? '%.1f' : '%.0f', 100 * "
               "column(5)))";
    }
    /// What the axis cannot show, at a place of its own.
    [[nodiscard]] std::string beyond(double place, bool logarithmic) const {
        const std::string zero = logarithmic ? " || column(5) <= 0" : "";
        return fmt::format(
            "({}):(is_of({}) && (strcol(5) eq 'inf' || strcol(5) eq '-inf' || strcol(5) eq 'nan'{}) ? {} : NaN)", any_x,
            series, zero, place);
    }
};

/// The clauses of gnuplot's `plot` for one series.
std::vector<std::string> clauses_of(const Drawn& drawn, const Axes& axes) {
    const Look& look = drawn.look;
    const Values values(drawn, axes);
    std::vector<std::string> clauses;
    const auto add = [&](const std::string& what, const std::string& with, const std::string& title) {
        clauses.push_back(fmt::format("'data.csv' using {} with {} {}", what, with, title));
    };
    if (look.mark == Mark::stems) add(values.points(), "impulses " + style_of(drawn), "notitle");
    if (look.mark != Mark::none) {
        add(look.mark == Mark::ranges  ? values.pairs()
            : look.mark == Mark::spans ? values.spans()
                                       : values.points(),
            with_of(drawn), title_of(drawn));
    }
    if (look.number) add(values.numbers(), "labels offset 0,0.5 font tiny", "notitle");
    if (look.beyond) {
        add(values.beyond(*look.beyond, axes.y.log_base > 1),
            fmt::format("points {} pointtype 2 pointsize {} * mark_scale", colour_text(look.colour),
                        look.size > 0.1 ? look.size : 0.7),
            "notitle");
    }
    return clauses;
}

/// The series of the panel, with their colours.
std::vector<Drawn> shown_in(const Figure& drawing, int panel) {
    std::vector<std::string> names;
    std::vector<Drawn> shown;
    std::vector<int> taken;
    for (std::size_t i = 0; i < drawing.series.size(); ++i) {
        Look look = drawing.looks.empty() ? Look{} : drawing.looks[std::min(i, drawing.looks.size() - 1)];
        if (look.panel != panel && look.panel != every_panel) continue;
        const std::string& name = drawing.series[i].name;
        if (look.colour == next_colour) names.push_back(look.title.value_or("").empty() ? name : *look.title);
        if (look.colour > next_colour) taken.push_back(look.colour);
        if (look.panel == every_panel && panel > 0) look.title = "";  // one key names it
        shown.push_back({look, i + 1});
    }
    const std::vector<int> colours = colours_of(names, taken);
    std::size_t next = 0;
    for (Drawn& drawn : shown) {
        if (drawn.look.colour == next_colour) drawn.look.colour = colours[next++];
    }
    return shown;
}

std::string plot_of(const std::vector<Drawn>& shown, const Axes& axes) {
    std::vector<std::string> clauses;
    for (const Drawn& drawn : shown) {
        const auto more = clauses_of(drawn, axes);
        clauses.insert(drawn.look.mark == Mark::spans ? clauses.begin() : clauses.end(), more.begin(), more.end());
    }
    if (clauses.empty()) clauses = {"NaN notitle"};
    return fmt::format("even = 1\nbefore = 0\nnow = 0\nplot {}\n", fmt::join(clauses, ", \\\n    "));
}

/// What plots/ends.gp needs, "" for a key, and what the panel shows: few curves with short names have them at their
/// ends, as in line_chart (html.hpp), histograms at their peaks.
std::pair<std::string, std::vector<Drawn>> named_curves(const Figure& drawing, int panel) {
    const bool binades = drawing.axes.x.numbers == Numbers::powers && drawing.axes.x.log_base == 0;
    std::vector<Drawn> shown = shown_in(drawing, panel);
    std::vector<Named> named;
    std::size_t curves = 0, histograms = 0;
    for (Drawn& drawn : shown) {
        const Look& look = drawn.look;
        const std::string name = look.title.value_or(drawing.series[drawn.number - 1].name);
        if (name.empty() || look.mark == Mark::none) continue;
        const bool is_histogram = look.mark == Mark::histogram || (look.mark == Mark::steps && binades);
        histograms += is_histogram ? 1 : 0;
        curves += !is_histogram && look.mark <= Mark::steps ? 1 : 0;
        named.push_back({name, look.colour, look.dash});
        drawn.end = named.size();
    }
    const bool alike = curves == named.size() || histograms == named.size();
    std::string ends = drawing.key == Key::none || !alike ? "" : ends_of(named, histograms > 0);
    if (ends.empty()) std::ranges::for_each(shown, [](Drawn& drawn) { drawn.end = 0; });
    return {std::move(ends), std::move(shown)};
}

/// In one of several panels a first plot, into a table, tells where the curves end.
std::string panel_plot(const Figure& drawing, int panel) {
    const auto [ends, shown] = named_curves(drawing, panel);
    const std::string plot = plot_of(shown, drawing.axes), names = plot_template("ends.gp");
    if (ends.empty()) return plot;
    if (drawing.panels.empty()) return ends + plot + names;
    return fmt::format("{}set table $places\n{}unset table\n{}{}unset for [i=901:910] arrow i\nset yrange [{}:{}]\n",
                       ends, plot, names, plot, number(drawing.axes.y.from), number(drawing.axes.y.to));
}

/// Two panels beside each other, or two rows of them.
std::string panels_of(const Figure& drawing) {
    const auto count = static_cast<int>(drawing.panels.size());
    const bool rows = count > 2;
    std::string text = fmt::format(
        "panels = {0}\nends = 0\n{1}beside = ends == 0 || at_peaks ? 0 : page ? 0.04 + 0.0195 * longest_line : 0.035 + "
        "0.0093 * longest_name\n"
        "if (page) {{ set multiplot layout {0},1 margins {2},(0.97 - beside),{3},{4} spacing 0,{5} }} else {{\n"
        "set multiplot title title_text noenhanced font large layout {6},2 margins {7},(0.985 - beside),(0.18 + 0.027 "
        "* caption_lines),{8} spacing {9} }}\n",
        count, named_curves(drawing, 0).first, drawing.axes.y.label.empty() ? 0.16 : 0.22, 0.36 / count,
        1 - 0.16 / count, 0.34 / count, (count + 1) / 2, drawing.axes.y.label.empty() ? 0.075 : 0.125,
        rows ? 0.87 : 0.85, rows ? "(0.08 + beside),0.14" : "(0.09 + beside),0");
    if (!drawing.axes.y.label.empty()) {  // one for all
        text += fmt::format(
            "if (page) {{ set ylabel ''; set label 999 {} at screen 0.035,screen 0.5 center rotate noenhanced }}\n",
            gnuplot_string(drawing.axes.y.label));
    }
    for (int p = 0; p < count; ++p) {
        const Panel& panel = drawing.panels[static_cast<std::size_t>(p)];
        text += fmt::format("set title {} noenhanced font small offset 0,-0.4\n", gnuplot_string(panel.title));
        if (panel.from || panel.to) text += fmt::format("set xrange [{}:{}]\n", number(panel.from), number(panel.to));
        if (p % 2 == 1) text += "set ylabel ''\n";
        const bool is_lowest = p + 2 >= count;
        text += fmt::format("set xlabel (page && {} ? '' : {}) noenhanced offset 0,0.3\n", p + 1 < count ? 1 : 0,
                            gnuplot_string(is_lowest ? drawing.axes.x.label : ""));
        text += panel_plot(drawing, p);
        text += "unset label\n";  // the caption, and the words of guides
        if (p % 2 == 1 && !drawing.axes.y.label.empty() && !is_lowest) {
            text += fmt::format("set ylabel (page ? '' : {}) noenhanced\n", gnuplot_string(drawing.axes.y.label));
        }
    }
    return text + "unset multiplot\n";
}

/// The palette's colours that no format has, then the formats'.
constexpr std::array by_preference = {9, 5, 10, 7, 11, 4, 3, 6, 1, 2, 8};
constexpr std::size_t formatless = 5;

}  // namespace

std::string ends_of(const std::vector<Named>& curves, bool at_peaks) {
    const auto bands = static_cast<std::size_t>(std::ranges::count(curves, pale, &Named::colour));
    std::size_t longest = 0, longest_line = 0, lines = 0;
    std::string text = fmt::format("ends = {}\nat_peaks = {:d}\npanel_below = 0\n", curves.size(), at_peaks);
    for (const char* part : {"x", "y", "names", "wrapped", "lines", "colours", "dashes"}) {
        text += fmt::format("array end_{}[ends]\n", part);
    }
    for (std::size_t i = 1; const Named& curve : curves) {
        const std::vector<std::string> parts = wrapped(curve.name, end_width);
        longest = std::max(longest, curve.name.size());
        for (const std::string& part : parts) longest_line = std::max(longest_line, part.size());
        lines += parts.size();
        text += fmt::format(
            "end_x[{0}] = NaN; end_y[{0}] = NaN; end_names[{0}] = {1}; end_wrapped[{0}] = {2}; "
            "end_lines[{0}] = {3}; end_colours[{0}] = {4}; end_dashes[{0}] = {5}\n",
            i++, gnuplot_string(curve.name), gnuplot_lines(parts), parts.size(), rgb_of(curve.colour, false).substr(4),
            curve.dash);
    }
    const std::size_t most = at_peaks ? 3 : most_ends + bands;
    if (lines == 0 || curves.size() > most || longest > longest_end || lines > most_end_lines) return "";
    return text + fmt::format(
                      "longest_name = {}\nlongest_line = {}\nend(i, x, y) = (x == x && y == y && abs(y) < 1e300 "
                      "&& (y > 0 || !y_log){} ? (end_x[i] = x, end_y[i] = y) : 0, y)\n",
                      longest, longest_line, at_peaks ? " && !(y <= end_y[i])" : "");
}

int formatless_colour(std::size_t i) { return by_preference.at(i % formatless); }

std::vector<int> colours_of(const std::vector<std::string>& names, std::vector<int> taken) {
    constexpr std::pair<std::string_view, int> formats[] = {
        {"fp32", 8}, {"tf32", 6}, {"TF32", 6}, {"bf16", 1}, {"fp16", 2}, {"fp8", 3},  {"FP8", 3},
        {"e4m3", 3}, {"E4M3", 3}, {"e5m2", 3}, {"E5M2", 3}, {"fp4", 4},  {"e2m1", 4}, {"E2M1", 4}};
    std::vector<int> colours(names.size(), next_colour);
    const auto take = [&](std::size_t i, int colour) {
        if (std::ranges::find(taken, colour) != taken.end()) return;
        colours[i] = colour;
        taken.push_back(colour);
    };
    for (std::size_t i = 0; i < names.size(); ++i) {
        std::size_t first = std::string::npos;  // the format that is mentioned first
        int own = next_colour;
        for (const auto& [format, colour] : formats) {
            if (const std::size_t at = names[i].find(format); at < first) std::tie(first, own) = std::pair(at, colour);
        }
        if (own != next_colour) take(i, own);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        for (const int colour : by_preference) {
            if (colours[i] == next_colour) take(i, colour);
        }
        if (colours[i] == next_colour) colours[i] = static_cast<int>(i % palette_size) + 1;  // more series than colours
    }
    return colours;
}

int page_foot(const Figure& drawing) {
    const Axis& x = drawing.axes.x;
    if (drawing.plot == "pairs") return 205;  // long names, turned
    if (drawing.plot == "seeds") {            // a row each
        return static_cast<int>(26 * drawing.series.size() + 18 * wrapped(x.label, row_label).size()) - 160;
    }
    if (drawing.plot == "curves" || drawing.plot == "differences" ||
        (!x.names.empty() && x.names.size() <= 3 && !x.label.empty()))
        return 70;
    if (x.names.size() <= 3) return 30;
    const double letter = name_slant(x) == 60 ? 6.4 : 4.3;  // the height of one, turned
    return 30 + static_cast<int>(letter * static_cast<double>(longest_name(x))) - (x.label.empty() ? 20 : 0);
}

std::string axis_settings(const Figure& drawing) {
    const auto& [x, y] = drawing.axes;
    std::string text = fmt::format("x_log = {:d}\ny_log = {:d}\n", x.log_base > 1, y.log_base > 1) +
                       settings_of('x', x, drawing.plot == "seeds" ? row_label : 34) +
                       settings_of('y', y, drawing.plot == "curves" ? 14 : 20);
    if (x.room > 0 || y.room > 0) {
        text += fmt::format("set offsets {0}, {0}, graph {1}, graph {2}\n", x.room, y.room, y.from ? 0 : y.room);
    }
    if (!x.names.empty()) {
        const double label = x.label.empty() ? 2.5 : 4.5;
        text += fmt::format("set bmargin ({} + caption_lines)\nif (page) {{ set bmargin at screen {:.3f} }}\n",
                            label + 1.1 * static_cast<double>(name_lines(x) - 1),
                            (page_foot(drawing) + 5.0) / (page_foot(drawing) + 240.0));
    }
    return text;
}

std::string chart(const Figure& drawing) {
    const bool binades = std::ranges::count(drawing.looks, Mark::histogram, &Look::mark) > 0;
    const int rows = drawing.key == Key::above ? std::max(2, drawing.key_rows) : 2;
    return guides_of(drawing) + key_of(drawing.key, !drawing.panels.empty()) +
           fmt::format(
               "set tmargin {} + above + 0.7 * lesson\nset title offset 0,{} + above + 0.7 * lesson\nset clip two\nset "
               "boxwidth {}\nbars = {}\n"
               "if (page) {{ set key off; set tmargin (above > 0 ? above + 0.6 : 1); set rmargin 3 }}\n",
               3.6 + rows, rows - 0.1, binades ? 1 : drawing.bar_width,
               drawing.series.size() * drawing.axes.x.names.size()) +
           (drawing.panels.empty() ? panel_plot(drawing, 0) : panels_of(drawing));
}

}  // namespace ulp
