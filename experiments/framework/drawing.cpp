#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/framework/figures.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"

/// A value that may be open is null there.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
    static void to_json(nlohmann::json& json, const std::optional<T>& value) { value ? json = *value : json = nullptr; }
    static void from_json(const nlohmann::json& json, std::optional<T>& value) {
        if (!json.is_null()) value = json.get<T>();
    }
};

namespace ulp {

NLOHMANN_JSON_SERIALIZE_ENUM(Numbers,
                             {{Numbers::plain, "plain"}, {Numbers::percent, "percent"}, {Numbers::powers, "powers"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Mark, {{Mark::lines, "lines"},
                                    {Mark::points, "points"},
                                    {Mark::linespoints, "linespoints"},
                                    {Mark::steps, "steps"},
                                    {Mark::boxes, "boxes"},
                                    {Mark::histogram, "histogram"},
                                    {Mark::stems, "stems"},
                                    {Mark::ranges, "ranges"},
                                    {Mark::spans, "spans"},
                                    {Mark::none, "none"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Key, {{Key::above, "above"},
                                   {Key::top_left, "top left"},
                                   {Key::bottom_right, "bottom right"},
                                   {Key::beside, "beside"},
                                   {Key::none, "none"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Axis, label, log_base, numbers, from, to, room, step, names)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Axes, x, y)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Look, mark, colour, width, dash, point, size, title, shift, panel, number, beyond)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Guide, left, right, bottom, top, text, strength, colour, dash, opposite)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Note, x, y, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Panel, title, from, to)

namespace {

void require_no_control_characters(const Figure& drawing) {
    std::vector<std::string> texts = {drawing.title, drawing.caption, drawing.axes.x.label, drawing.axes.y.label};
    for (const Series& series : drawing.series) texts.push_back(series.name);
    for (const Axis& axis : {drawing.axes.x, drawing.axes.y}) {
        for (const auto& [at, name] : axis.names) texts.push_back(name);
    }
    for (const Look& look : drawing.looks) texts.push_back(look.title.value_or(""));
    for (const Guide& guide : drawing.guides) texts.push_back(guide.text);
    for (const Note& note : drawing.notes) texts.push_back(note.text);
    for (const Panel& panel : drawing.panels) texts.push_back(panel.title);
    for (const auto& [name, value] : drawing.variables) {
        if (const auto* text = std::get_if<std::string>(&value)) texts.push_back(*text);
    }
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    for (const std::string& text : texts) {
        if (std::ranges::none_of(text, is_control)) continue;
        throw DataError(
            fmt::format("figures.json is not as ulplab writes it: a text of the figure {} has a line break or another "
                        "control character; run the experiment again with --force",
                        drawing.name));
    }
}

}  // namespace

Figure drawing_of(Figure figure) {
    // A run that went astray may lie above the axis as a whole; then it is drawn where it lies.
    auto& top = figure.axes.y.to;
    const auto is_below = [&](const Point& point) { return point.y < *top; };
    if (figure.plot == "curves" && top && std::ranges::none_of(figure.series.front().points, is_below)) top.reset();
    const auto has_no_point = [](const Series& series) { return series.points.empty(); };
    if (!figure.series.empty() && std::ranges::all_of(figure.series, has_no_point)) figure.plot = "nothing_finite";
    return figure;
}

nlohmann::json json_of(const Figure& drawing) {
    std::vector<std::string> series;
    for (const Series& each : drawing.series) series.push_back(each.name);
    nlohmann::json variables = nlohmann::json::object();
    for (const auto& [name, value] : drawing.variables) {
        std::visit([&, key = name](const auto& v) { variables[key] = v; }, value);
    }
    return {{"name", drawing.name},           {"title", drawing.title},   {"caption", drawing.caption},
            {"plot", drawing.plot},           {"series", series},         {"axes", drawing.axes},
            {"looks", drawing.looks},         {"guides", drawing.guides}, {"notes", drawing.notes},
            {"panels", drawing.panels},       {"key", drawing.key},       {"key_rows", drawing.key_rows},
            {"bar_width", drawing.bar_width}, {"variables", variables},   {"frames", drawing.frames}};
}

Figure drawing_from(const nlohmann::json& row) {
    Figure drawing{.name = plain_name(row.at("name")),
                   .title = row.at("title"),
                   .caption = row.at("caption"),
                   .meaning = "",
                   .evidence = "",
                   .plot = row.at("plot").empty() || row.at("plot") == "" ? "" : plain_name(row.at("plot")),
                   .axes = row.at("axes"),
                   .looks = row.at("looks"),
                   .guides = row.at("guides"),
                   .notes = row.at("notes"),
                   .panels = row.at("panels"),
                   .key = row.at("key"),
                   .key_rows = row.at("key_rows"),
                   .bar_width = row.at("bar_width"),
                   .frames = row.at("frames")};
    for (const std::string name : row.at("series")) drawing.series.push_back({name});
    for (const auto& [key, value] : row.at("variables").items()) {
        PlotVariable variable{plain_name(key), 0.0};
        value.is_string() ? variable.second = value.get<std::string>() : variable.second = value.get<double>();
        drawing.variables.push_back(std::move(variable));
    }
    require_no_control_characters(drawing);
    return drawing;
}

std::string gnuplot_string(std::string_view text) {
    // In single quotes nothing is special but the quote itself, which is doubled, and the end of the line.
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
    return result + "'";
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    std::vector<std::string> lines(1);
    std::size_t length = 0;
    const auto length_of = [](std::string_view part) {  // bytes that continue a UTF-8 character take no place
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

std::string gnuplot_lines(const std::vector<std::string>& lines) {
    std::string expression;
    for (const std::string& line : lines) {
        expression += (expression.empty() ? "" : " . \"\\n\" . ") + gnuplot_string(line);
    }
    return expression;
}

}  // namespace ulp
