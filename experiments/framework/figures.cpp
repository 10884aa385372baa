#include "experiments/framework/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>
#include <variant>
#include <vector>

#include "experiments/framework/files.hpp"
#include "experiments/framework/long_work.hpp"
#include "experiments/framework/machine.hpp"
#include "experiments/framework/record.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

namespace fs = std::filesystem;
namespace {

/// As many characters of a caption as fit below a figure.
constexpr std::size_t caption_width = 116;
/// Of a figure's files: the whole sheet, the one for a phone, which the page gives title, caption and key, and pixels.
constexpr const char* drawing_endings[] = {".svg", ".page.svg", ".png"};

/// The names as one gnuplot string for `words` and `word`, which take double-quoted parts as one word.
std::string series_list(const std::vector<Series>& all) {
    std::string list;
    for (const Series& series : all) list += fmt::format("\"{}\" ", series.name);
    return list;
}

/// Those of the result in the folder; none where it has none.
std::vector<Figure> drawings_in(const fs::path& folder) {
    const fs::path file = folder / "figures.json";
    if (!fs::exists(file)) return {};
    try {
        std::vector<Figure> drawings;
        for (const nlohmann::json& row : nlohmann::json::parse(MappedFile(file).bytes()))
            drawings.push_back(drawing_from(row));
        return drawings;
    } catch (const nlohmann::json::exception& error) {
        throw DataError(
            fmt::format("{} is damaged ({}); run the experiment again with --force", file.string(), error.what()));
    }
}

/// Of a page's sheet: as many as the template's "set multiplot layout N,1" says, or as there are panels.
std::size_t panel_rows(const Figure& drawing) {
    constexpr std::string_view mark = "if (page) { set multiplot layout ";
    const std::string text = drawing.plot.empty() ? "" : plot_template(drawing.plot + ".gp");
    const std::size_t at = text.find(mark);
    if (at != std::string::npos) return static_cast<std::size_t>(std::atoi(text.c_str() + at + mark.size()));
    return std::max<std::size_t>(1, drawing.panels.size());
}

/// What the script sets before the style and the template: the variables of the figure first, so that none of them can
/// take the place of the script's own (`figure` names the output, and gnuplot opens "|..." as a program).
std::string variables_of(const Figure& drawing) {
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
                      "frames = {}\npanel_rows = {}\npage_foot = {}\n",
                      gnuplot_string(drawing.name), gnuplot_string(drawing.title), gnuplot_lines(lines), lines.size(),
                      gnuplot_string(series_list(drawing.series)), drawing.frames, panel_rows(drawing),
                      page_foot(drawing));
}

/// A template draws its arms, which follow the series of their reference, with the line types from 1 on.
std::string recoloured(const Figure& drawing) {
    if (drawing.plot != "curves" && drawing.plot != "seeds" && drawing.plot != "differences") return "";
    std::vector<std::string> arms;
    for (std::size_t i = drawing.plot == "seeds" ? 0 : 1; i < drawing.series.size(); ++i) {
        if (drawing.plot != "curves" || i <= (drawing.series.size() - 1) / 2) arms.push_back(drawing.series[i].name);
    }
    std::string text;
    const std::vector<int> colours = colours_of(arms);
    for (std::size_t i = 0; i < std::min<std::size_t>(palette_size, colours.size()); ++i) {
        text += fmt::format("set linetype {} linecolor rgb colours[{}]\n", i + 1, colours[i]);
    }
    text += fmt::format("reference_colour = colours[{}]\n", colours.empty() ? 8 : colours.front());
    if (drawing.plot != "curves") return text;
    std::vector<Named> named;
    for (std::size_t i = 0; i < arms.size(); ++i) named.push_back({arms[i], colours[i]});
    if (std::ranges::count(drawing.variables, "one_seed", &PlotVariable::first) == 0) {
        named.push_back({drawing.series.front().name, pale});
    }
    return text + "ends = 0\n" + ends_of(named);
}

std::string script(const Figure& drawing) {
    std::string how = drawing.plot.empty() ? chart(drawing) : plot_template(drawing.plot + ".gp");
    for (std::size_t at = 0; (at = how.find("@ends@", at)) != std::string::npos;) {
        how.replace(at, 6, plot_template("ends.gp"));
    }
    return fmt::format(
        "# Draws {0}.svg, {0}.page.svg and {0}.png from data.csv: gnuplot -d {0}.gp\n"
        "{1}do for [format in \"svg page.svg png\"] {{\nload 'style.gp'\n{2}{3}{4}}}\n",
        drawing.name, variables_of(drawing), recoloured(drawing), axis_settings(drawing), how);
}

bool is_drawn(const fs::path& folder, const std::string& name) {
    return std::ranges::all_of(drawing_endings,
                               [&](const char* ending) { return is_recorded_drawing(folder, name + ending); });
}

/// On a full disk gnuplot ends well, and its files are cut short.
bool is_whole(const fs::path& folder, const std::string& name) {
    const auto ends = [&](const char* ending, std::string_view last) {
        const fs::path file = folder / (name + ending);
        return fs::exists(file) && read_file(file).ends_with(last);
    };
    return ends(".svg", "</svg>\n\n") && ends(".page.svg", "</svg>\n\n") && ends(".png", "IEND\xAE\x42\x60\x82");
}

void draw(const fs::path& folder, const Figure& drawing) {
    // -d: without the start-up files of the machine and of the user.
    const Finished finished = run_program({"gnuplot", "-d", drawing.name + ".gp"}, folder);
    if (finished.exit_code != 0 || !is_whole(folder, drawing.name)) {
        throw DataError(
            fmt::format("gnuplot cannot draw {}: {}", drawing.name,
                        finished.output.empty() ? "its files are cut short; is the disk full?" : finished.output));
    }
    for (const char* ending : {".svg", ".page.svg"}) {
        const fs::path svg = folder / (drawing.name + ending);
        if (drawing.frames > 1) write_file(svg, animated(read_file(svg), drawing.frames));
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
    nlohmann::json list = nlohmann::json::array();
    for (const Figure& figure : result.figures()) list.push_back(json_of(drawing_of(figure)));
    write_file(folder / "figures.json", list.dump(2) + "\n");
}

std::vector<std::string> files_of_figures(const fs::path& folder) {
    std::vector<std::string> files = {"figures.json", "style.gp"};
    for (const Figure& drawing : drawings_in(folder)) {
        files.push_back(drawing.name + ".gp");
        for (const char* ending : drawing_endings) files.push_back(drawing.name + ending);
    }
    return files;
}

bool lacks_drawings(const fs::path& folder) {
    const auto drawings = drawings_in(folder);
    return std::any_of(drawings.begin(), drawings.end(), [&](const Figure& d) { return !is_drawn(folder, d.name); });
}

std::string draw_figures(const fs::path& parent, const std::string& name) {
    const fs::path place = parent / name;
    const std::vector<Figure> drawings = drawings_in(place);
    if (drawings.empty()) return "";
    const StagedFolder work(parent, name + ".drawing");
    fs::create_symlink(fs::absolute(place / "data.csv"), work.path() / "data.csv");
    write_file(work.path() / "style.gp", plot_template("style.gp"));
    std::vector<std::string> scripts = {"style.gp"};
    for (const Figure& drawing : drawings) {
        scripts.push_back(drawing.name + ".gp");
        write_file(work.path() / scripts.back(), script(drawing));
    }
    if (!find_program("gnuplot")) {
        hand_over(work.path(), place, scripts);
        return fmt::format(
            "gnuplot is not installed, so no figure was drawn; apt-get install gnuplot-nox, then: ulplab report --draw "
            "{} --out {}",
            name, parent.string());
    }
    const auto files_of = [](const Figure& drawing) {
        std::vector<std::string> files;
        for (const char* ending : drawing_endings) files.push_back(drawing.name + ending);
        return files;
    };
    run_side_by_side(drawings.size(), true, [&](std::size_t i) {
        draw(work.path(), drawings[i]);
        hand_over(work.path(), place, files_of(drawings[i]));
    });
    hand_over(work.path(), place, scripts);
    std::vector<std::string> drawn;
    for (const Figure& drawing : drawings) {
        const std::vector<std::string> files = files_of(drawing);
        drawn.insert(drawn.end(), files.begin(), files.end());
    }
    record_drawings(place, drawn);
    return "";
}

std::string animated(std::string svg, int frames, double seconds) {
    constexpr std::string_view start = "<g id=\"gnuplot_plot_";
    const double total = seconds * frames + 1;
    for (std::size_t at = svg.find(start); at != std::string::npos; at = svg.find(start, at)) {
        const std::size_t number = at + start.size();
        const int frame = (std::atoi(svg.c_str() + number) - 1) % frames;
        const double from = seconds * frame / total;
        const double to = frame == frames - 1 ? 1 : seconds * (frame + 1) / total;
        std::string values = "visible;hidden";
        std::string times = fmt::format("0;{:.4f}", to);
        if (frame > 0) {
            values = frame == frames - 1 ? "hidden;visible" : "hidden;visible;hidden";
            times = fmt::format("0;{:.4f}", from) + (frame == frames - 1 ? "" : fmt::format(";{:.4f}", to));
        }
        const std::size_t close = svg.find('>', at);
        svg.insert(close + 1, fmt::format("<animate attributeName=\"visibility\" calcMode=\"discrete\" values=\"{}\" "
                                          "keyTimes=\"{}\" dur=\"{:.1f}s\" repeatCount=\"indefinite\"/>",
                                          values, times, total));
        if (frame != frames - 1) svg.insert(close, " visibility=\"hidden\"");
        at = close;
    }
    return svg;
}

}  // namespace ulp
