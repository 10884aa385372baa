#include "experiments/framework/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <stdexcept>
#include <vector>

#include "experiments/framework/embedded.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
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

/// The names as one gnuplot string for `words` and `word`, which take double-quoted parts as one word.
std::string series_list(const Figure& figure) {
    std::string list;
    for (const Series& series : figure.series) list += fmt::format("\"{}\" ", series.name);
    return list;
}

std::string script(const Result& result, const Figure& figure) {
    return fmt::format(
        "# Draws {0}.svg and {0}.png from data.csv: gnuplot {0}.gp\n"
        "figure = {1}\ntitle_text = {2}\ncaption_text = {3}\nseries_names = {4}\ndo for [format in \"svg png\"] "
        "{{\nload 'style.gp'\n{5}}}\n",
        figure.name, gnuplot_string(figure.name), gnuplot_string(figure.title), gnuplot_string(figure.caption),
        gnuplot_string(series_list(figure)), plot_template(fmt::format("{}_{}.gp", result.experiment(), figure.name)));
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

void draw(const fs::path& folder, const std::string& name) {
    const Finished finished = run_program({"gnuplot", name + ".gp"}, folder);
    if (finished.exit_code != 0 || !is_drawn(folder, name)) {
        throw DataError(fmt::format("gnuplot cannot draw {}: {}", name, finished.output));
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
    // Each drawing is a process of its own, so two at a time keep two processors busy.
    for (std::size_t i = 0; i < names.size(); i += 2) {
        std::future<void> other;
        if (i + 1 < names.size()) {
            other = std::async(std::launch::async, [&, name = names[i + 1]] { draw(folder, name); });
        }
        draw(folder, names[i]);
        if (other.valid()) other.get();
    }
    return "";
}

}  // namespace ulp
