#include "experiments/framework/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "experiments/framework/animation.hpp"
#include "experiments/framework/embedded.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "experiments/framework/side_by_side.hpp"
#include "experiments/framework/subprocess.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace fs = std::filesystem;
namespace {

/// A gnuplot string constant: in single quotes nothing is special but the quote itself, which is doubled.
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
std::string series_list(const Figure& figure) {
    std::string list;
    for (const Series& series : figure.series) list += fmt::format("\"{}\" ", series.name);
    return list;
}

std::string template_of(const Result& result, const Figure& figure) {
    return figure.plot.empty() ? fmt::format("{}_{}.gp", result.experiment(), figure.name) : figure.plot + ".gp";
}

std::string script(const Result& result, const Figure& figure) {
    const std::vector<std::string> lines = wrapped(figure.caption, caption_width);
    return fmt::format(
        "# Draws {0}.svg and {0}.png from data.csv: gnuplot {0}.gp\n"
        "figure = {1}\ntitle_text = {2}\ncaption_text = {3}\ncaption_lines = {6}\nseries_names = {4}\nframes = {7}\ndo "
        "for "
        "[format in \"svg png\"] "
        "{{\nload 'style.gp'\n{8}{5}}}\n",
        figure.name, gnuplot_string(figure.name), gnuplot_string(figure.title), caption(lines),
        gnuplot_string(series_list(figure)), plot_template(template_of(result, figure)), lines.size(), figure.frames,
        figure.axes.empty() ? "" : figure.axes + "\n");
}

/// The names of the figures whose scripts stand in the folder, in alphabetical order.
std::vector<std::string> scripts_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const fs::path& file = entry.path();
        if (file.extension() == ".gp" && file.stem() != "style") names.push_back(file.stem().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

bool is_drawn(const fs::path& folder, const std::string& name) {
    return fs::exists(folder / (name + ".svg")) && fs::exists(folder / (name + ".png"));
}

/// The number of frames that a script states, 0 where the drawing stands still.
int frames_of(std::string_view text) {
    constexpr std::string_view start = "\nframes = ";
    const std::size_t at = text.find(start);
    return at == std::string_view::npos ? 0 : std::atoi(text.substr(at + start.size()).data());
}

void draw(const fs::path& folder, const std::string& name) {
    const Finished finished = run_program({"gnuplot", name + ".gp"}, folder);
    if (finished.exit_code != 0 || !is_drawn(folder, name)) {
        throw DataError(fmt::format("gnuplot cannot draw {}: {}", name, finished.output));
    }
    const int frames = frames_of(read_file(folder / (name + ".gp")));
    if (frames > 1) {
        const fs::path svg = folder / (name + ".svg");
        write_file(svg, animated(read_file(svg), frames));
    }
}

}  // namespace

std::string_view plot_template(std::string_view name) {
    for (const auto& file : embedded_plots) {
        if (file.name == name) return file.content;
    }
    throw std::logic_error(fmt::format("plots/ has no {}", name));
}

void write_scripts(const Result& result, const fs::path& folder) {
    if (result.figures().empty()) return;
    write_file(folder / "style.gp", plot_template("style.gp"));
    for (const Figure& figure : result.figures()) write_file(folder / (figure.name + ".gp"), script(result, figure));
}

bool lacks_drawings(const fs::path& folder) {
    const auto names = scripts_in(folder);
    return !std::all_of(names.begin(), names.end(), [&](const auto& name) { return is_drawn(folder, name); }) &&
           find_program("gnuplot");
}

std::string draw_figures(const fs::path& folder, const fs::path& place) {
    const std::vector<std::string> names = scripts_in(folder);
    if (names.empty()) return "";
    if (!find_program("gnuplot")) {
        return fmt::format(
            "gnuplot is not installed, so no figure was drawn; apt-get install gnuplot-nox, then: cd {} && gnuplot "
            "{}.gp",
            place.string(), fmt::join(names, ".gp "));
    }
    run_side_by_side(names.size(), true, [&](std::size_t i) { draw(folder, names[i]); });
    return "";
}

}  // namespace ulp
