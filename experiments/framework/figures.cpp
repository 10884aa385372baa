#include "experiments/framework/figures.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "experiments/framework/animation.hpp"
#include "experiments/framework/embedded.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "experiments/framework/subprocess.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

/// A gnuplot string constant: in single quotes nothing is special but the quote itself, which is doubled.
std::string gnuplot_string(std::string_view text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
    return result + "'";
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
    return fmt::format(
        "# Draws {0}.svg and {0}.png from data.csv: gnuplot {0}.gp\n"
        "figure = {1}\ntitle_text = {2}\ncaption_text = {3}\nseries_names = {4}\ndo for [format in \"svg png\"] "
        "{{\nload 'style.gp'\n{5}{6}}}\n",
        figure.name, gnuplot_string(figure.name), gnuplot_string(figure.title), gnuplot_string(figure.caption),
        gnuplot_string(series_list(figure)), figure.axes.empty() ? "" : figure.axes + "\n",
        plot_template(template_of(result, figure)));
}

}  // namespace

std::string_view plot_template(std::string_view name) {
    for (const auto& file : embedded_plots) {
        if (file.name == name) return file.content;
    }
    throw std::logic_error(fmt::format("plots/ has no {}", name));
}

void write_scripts(const Result& result, const std::filesystem::path& folder) {
    if (result.figures().empty()) return;
    write_file(folder / "style.gp", plot_template("style.gp"));
    for (const Figure& figure : result.figures()) write_file(folder / (figure.name + ".gp"), script(result, figure));
}

std::string draw_figures(const Result& result, const std::filesystem::path& folder,
                         const std::filesystem::path& place) {
    if (!find_program("gnuplot")) {
        std::string commands;
        for (const Figure& figure : result.figures()) commands += fmt::format(" {}.gp", figure.name);
        return fmt::format(
            "gnuplot is not installed, so no figure was drawn; apt-get install gnuplot-nox, then: cd {} && gnuplot{}",
            place.string(), commands);
    }
    for (const Figure& figure : result.figures()) {
        const Finished finished = run_program({"gnuplot", figure.name + ".gp"}, folder);
        const bool drawn = std::filesystem::exists(folder / (figure.name + ".svg")) &&
                           std::filesystem::exists(folder / (figure.name + ".png"));
        if (finished.exit_code != 0 || !drawn) {
            throw DataError(fmt::format("gnuplot cannot draw {}: {}", figure.name, finished.output));
        }
        if (figure.frames > 1) {
            const std::filesystem::path svg = folder / (figure.name + ".svg");
            write_file(svg, animated(read_file(svg), figure.frames));
        }
    }
    return "";
}

}  // namespace ulp
