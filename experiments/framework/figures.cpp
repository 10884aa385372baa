#include "experiments/framework/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <variant>
#include <vector>

#include "experiments/framework/animation.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "experiments/framework/shared_files.hpp"
#include "experiments/framework/side_by_side.hpp"
#include "experiments/framework/subprocess.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

/// A gnuplot string constant: in single quotes nothing is special but the quote itself, which is doubled, and the end
/// of the line, which `drawing_from` refuses.
std::string gnuplot_string(std::string_view text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
    return result + "'";
}

/// As many characters of a caption as fit below a figure.
constexpr std::size_t caption_width = 116;

/// The text in lines, broken at spaces. Bytes that continue a UTF-8 character take no place.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    std::vector<std::string> lines(1);
    std::size_t length = 0;
    const auto length_of = [](std::string_view part) {
        return static_cast<std::size_t>(
            std::count_if(part.begin(), part.end(), [](char c) { return (c & 0xC0) != 0x80; }));
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string_view word = text.substr(at, end - at);
        if (length > 0 && length + 1 + length_of(word) > width) {
            lines.emplace_back();
            length = 0;
        }
        lines.back() += (length > 0 ? " " : "") + std::string(word);
        length += length_of(word) + (length > 0 ? 1 : 0);
        at = end + 1;
    }
    return lines;
}

/// The caption as a gnuplot expression.
std::string caption(const std::vector<std::string>& lines) {
    std::string expression;
    for (const std::string& line : lines) {
        expression += (expression.empty() ? "" : " . \"\\n\" . ") + gnuplot_string(line);
    }
    return expression;
}

/// The names as one gnuplot string for `words` and `word`, which take double-quoted parts as one word.
std::string series_list(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += fmt::format("\"{}\" ", name);
    return list;
}

/// What is drawn beside data.csv, as figures.json keeps it. Nothing in it is a command: a script is the template and
/// the text that this program makes of these values.
struct Drawing {
    std::string name, title, caption, plot;
    std::vector<std::string> series;
    Axes axes;
    std::vector<PlotVariable> variables;
    int frames = 0;
};

std::string template_of(const Result& result, const Figure& figure) {
    const auto has_no_point = [](const Series& series) { return series.points.empty(); };
    if (!figure.series.empty() && std::ranges::all_of(figure.series, has_no_point)) return "nothing_finite";
    return figure.plot.empty() ? fmt::format("{}_{}", result.experiment(), figure.name) : figure.plot;
}

Drawing drawing_of(const Result& result, const Figure& figure) {
    Drawing drawing{figure.name, figure.title, figure.caption,   template_of(result, figure),
                    {},          figure.axes,  figure.variables, figure.frames};
    for (const Series& series : figure.series) drawing.series.push_back(series.name);
    // A run that went astray may lie above the axis as a whole; then it is drawn where it lies.
    const auto is_below = [&](const Point& point) { return point.y < *drawing.axes.y_top; };
    if (drawing.axes.y_top && std::ranges::none_of(figure.series.front().points, is_below)) drawing.axes.y_top.reset();
    return drawing;
}

Json json_of(const Drawing& drawing) {
    Json variables = Json::object();
    for (const auto& [name, value] : drawing.variables) {
        std::visit([&, key = name](const auto& v) { variables[key] = v; }, value);
    }
    Json axes = {{"x", drawing.axes.x},
                 {"y", drawing.axes.y},
                 {"log_base", drawing.axes.log_base},
                 {"powers", drawing.axes.powers}};
    if (drawing.axes.y_top) axes["y_top"] = *drawing.axes.y_top;
    return {{"name", drawing.name},   {"title", drawing.title},   {"caption", drawing.caption},
            {"plot", drawing.plot},   {"series", drawing.series}, {"axes", axes},
            {"variables", variables}, {"frames", drawing.frames}};
}

/// Throws DataError for a text that would end in gnuplot's script before its end: behind a line break commands begin.
void require_no_control_characters(const Drawing& drawing) {
    std::vector<std::string> texts = {drawing.title, drawing.caption, drawing.axes.x, drawing.axes.y};
    texts.insert(texts.end(), drawing.series.begin(), drawing.series.end());
    for (const auto& [name, value] : drawing.variables) {
        if (const auto* text = std::get_if<std::string>(&value)) texts.push_back(*text);
    }
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    for (const std::string& text : texts) {
        if (std::ranges::none_of(text, is_control)) continue;
        throw DataError(fmt::format(
            "figures.json is not as ulplab writes it: a text of the figure {} has a line break or another control "
            "character; run the experiment again with --force",
            drawing.name));
    }
}

Drawing drawing_from(const Json& row) {
    Drawing drawing{plain_name(row.at("name")),
                    row.at("title"),
                    row.at("caption"),
                    plain_name(row.at("plot")),
                    row.at("series"),
                    {},
                    {},
                    row.at("frames")};
    const Json& axes = row.at("axes");
    drawing.axes = {axes.at("x"), axes.at("y"), axes.at("log_base"), axes.at("powers"), {}};
    if (axes.contains("y_top")) drawing.axes.y_top = axes.at("y_top").get<double>();
    for (const auto& [key, value] : row.at("variables").items()) {
        PlotVariable variable{plain_name(key), 0.0};
        value.is_string() ? variable.second = value.get<std::string>() : variable.second = value.get<double>();
        drawing.variables.push_back(std::move(variable));
    }
    require_no_control_characters(drawing);
    return drawing;
}

/// Those of the result in the folder; none where it has none.
std::vector<Drawing> drawings_in(const fs::path& folder) {
    const fs::path file = folder / "figures.json";
    if (!fs::exists(file)) return {};
    try {
        std::vector<Drawing> drawings;
        for (const Json& row : Json::parse(read_file(file))) drawings.push_back(drawing_from(row));
        return drawings;
    } catch (const nlohmann::json::exception& error) {
        throw DataError(
            fmt::format("{} is damaged ({}); run the experiment again with --force", file.string(), error.what()));
    }
}

/// What the script sets before the style and the template: the variables of the figure first, so that none of them can
/// take the place of the script's own (`figure` names the output, and gnuplot opens "|..." as a program).
std::string variables_of(const Drawing& drawing) {
    std::string text;
    for (const auto& [name, value] : drawing.variables) {
        const auto* number = std::get_if<double>(&value);
        text +=
            fmt::format("{} = {}\n", name,
                        number != nullptr ? fmt::format("{}", *number) : gnuplot_string(std::get<std::string>(value)));
    }
    const std::vector<std::string> lines = wrapped(drawing.caption, caption_width);
    return text + fmt::format(
                      "figure = {}\ntitle_text = {}\ncaption_text = {}\ncaption_lines = {}\nseries_names = {}\n"
                      "x_text = {}\ny_text = {}\nframes = {}\n",
                      gnuplot_string(drawing.name), gnuplot_string(drawing.title), caption(lines), lines.size(),
                      gnuplot_string(series_list(drawing.series)), gnuplot_string(drawing.axes.x),
                      gnuplot_string(drawing.axes.y), drawing.frames);
}

/// What the script sets between the style and the template.
std::string settings_of(const Drawing& drawing) {
    const Axes& axes = drawing.axes;
    std::string text;
    if (!axes.x.empty()) text += "set xlabel x_text\n";
    if (!axes.y.empty()) text += "set ylabel y_text\n";
    if (axes.log_base > 1) text += fmt::format("set logscale y {}\n", axes.log_base);
    if (axes.powers) text += fmt::format("set format y '{}^{{%L}}'\n", axes.log_base);
    if (axes.y_top) text += fmt::format("set yrange [*:{}]\n", *axes.y_top);
    return text;
}

std::string script(const Drawing& drawing) {
    return fmt::format(
        "# Draws {0}.svg and {0}.png from data.csv: gnuplot -d {0}.gp\n"
        "{1}do for [format in \"svg png\"] {{\nload 'style.gp'\n{2}{3}}}\n",
        drawing.name, variables_of(drawing), settings_of(drawing), plot_template(drawing.plot + ".gp"));
}

bool is_drawn(const fs::path& folder, const std::string& name) {
    return fs::exists(folder / (name + ".svg")) && fs::exists(folder / (name + ".png"));
}

void draw(const fs::path& folder, const Drawing& drawing) {
    // -d: without the start-up files of the machine and of the user.
    const Finished finished = run_program({"gnuplot", "-d", drawing.name + ".gp"}, folder);
    if (finished.exit_code != 0 || !is_drawn(folder, drawing.name)) {
        throw DataError(fmt::format("gnuplot cannot draw {}: {}", drawing.name, finished.output));
    }
    if (drawing.frames > 1) {
        const fs::path svg = folder / (drawing.name + ".svg");
        write_file(svg, animated(read_file(svg), drawing.frames));
    }
}

/// Puts files from one folder into another, each as a whole.
void hand_over(const fs::path& from, const fs::path& to, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        std::error_code error;
        fs::rename(from / name, to / name, error);
        if (error) throw DataError(fmt::format("cannot write {}: {}", (to / name).string(), error.message()));
    }
}

}  // namespace

std::string plot_template(std::string_view name) { return read_file(shared_file("plots") / name); }

void write_figures(const Result& result, const fs::path& folder) {
    if (result.figures().empty()) return;
    Json list = Json::array();
    for (const Figure& figure : result.figures()) list.push_back(json_of(drawing_of(result, figure)));
    write_file(folder / "figures.json", list.dump(2) + "\n");
}

std::vector<std::string> files_of_figures(const fs::path& folder) {
    std::vector<std::string> files = {"figures.json", "style.gp"};
    for (const Drawing& drawing : drawings_in(folder)) {
        for (const char* ending : {".gp", ".svg", ".png"}) files.push_back(drawing.name + ending);
    }
    return files;
}

bool lacks_drawings(const fs::path& folder) {
    const auto drawings = drawings_in(folder);
    return std::any_of(drawings.begin(), drawings.end(), [&](const Drawing& d) { return !is_drawn(folder, d.name); });
}

std::string draw_figures(const fs::path& parent, const std::string& name) {
    const fs::path place = parent / name;
    const std::vector<Drawing> drawings = drawings_in(place);
    if (drawings.empty()) return "";
    const StagedFolder work(parent, name + ".drawing");
    fs::create_symlink(fs::absolute(place / "data.csv"), work.path() / "data.csv");
    write_file(work.path() / "style.gp", plot_template("style.gp"));
    std::vector<std::string> scripts = {"style.gp"};
    for (const Drawing& drawing : drawings) {
        scripts.push_back(drawing.name + ".gp");
        write_file(work.path() / scripts.back(), script(drawing));
    }
    if (!find_program("gnuplot")) {
        hand_over(work.path(), place, scripts);
        return fmt::format(
            "gnuplot is not installed, so no figure was drawn; apt-get install gnuplot-nox, then: ulplab "
            "draw {} --out {}",
            name, parent.string());
    }
    run_side_by_side(drawings.size(), true, [&](std::size_t i) {
        draw(work.path(), drawings[i]);
        hand_over(work.path(), place, {drawings[i].name + ".svg", drawings[i].name + ".png"});
    });
    hand_over(work.path(), place, scripts);
    return "";
}

}  // namespace ulp
