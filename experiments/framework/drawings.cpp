#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "experiments/framework/card_evidence.hpp"
#include "experiments/framework/figures.hpp"
#include "experiments/framework/html.hpp"

namespace ulp {
namespace {

/// Whether a list of words with spaces around each has the name.
bool is_in(std::string_view list, std::string_view name) {
    return name.find(' ') == std::string_view::npos && list.find(fmt::format(" {} ", name)) != std::string_view::npos;
}

/// The elements that gnuplot and our animations write.
constexpr std::string_view shapes =
    " animate circle defs desc feComposite feFlood filter g image path polygon rect text title tspan use ";
/// What they say of a shape: where and how it is drawn.
constexpr std::string_view looks =
    " calcMode class color cx cy d dur dy fill fill-opacity filter filterUnits flood-color flood-opacity font-family "
    "font-size font-style font-weight height id in in2 keyTimes operator points preserveAspectRatio r repeatCount "
    "result shape-rendering stroke stroke-dasharray stroke-linecap stroke-linejoin stroke-width text-anchor transform "
    "values visibility width x xml:space y ";

bool is_look(std::string_view name, std::string_view value) {
    if (name == "xlink:href") return value.starts_with('#') || value.starts_with("data:image/png;base64,");
    if (name == "attributeName") return value == "visibility";
    return is_in(looks, name) && (value.find("url(") == std::string_view::npos || value.starts_with("url(#"));
}

/// Whether a tag, without its brackets, is one of a drawing: `rect x='0' y="0"/`.
bool is_drawing_tag(std::string_view tag) {
    constexpr std::string_view spaces = " \t\r\n";
    const auto cut = [&tag](std::size_t length) {
        const std::string_view part = tag.substr(0, length);
        tag.remove_prefix(std::min(length, tag.size()));
        return part;
    };
    if (tag.starts_with('/')) return is_in(shapes, tag.substr(1));
    if (!is_in(shapes, cut(tag.find_first_of(" \t\r\n/")))) return false;
    for (;;) {
        cut(tag.find_first_not_of(spaces));
        if (tag.empty() || tag == "/") return true;
        const std::string_view name = cut(tag.find_first_of(" =\t\r\n"));
        cut(tag.find_first_not_of(spaces));
        if (cut(1) != "=") return false;
        cut(tag.find_first_not_of(spaces));
        if (!tag.starts_with('"') && !tag.starts_with('\'')) return false;
        const std::size_t end = tag.find(tag.front(), 1);
        if (end == std::string_view::npos || !is_look(name, tag.substr(1, end - 1))) return false;
        cut(end + 1);
    }
}

/// Whether what is in an <svg> element holds shapes and text and nothing else: nothing runs, nothing is loaded or
/// followed from elsewhere, and nothing is left of SVG for HTML.
bool is_drawing(std::string_view inside) {
    for (std::size_t at = 0; (at = inside.find('<', at)) != std::string_view::npos;) {
        const std::size_t end = inside.find('>', at);
        if (end == std::string_view::npos || !is_drawing_tag(inside.substr(at + 1, end - at - 1))) return false;
        at = end;
    }
    return true;
}

}  // namespace

std::string svg_html(std::string svg, const std::string& name, const std::string& title) {
    const std::size_t start = svg.find("<svg");
    if (start == std::string::npos) return "";
    const std::size_t end = svg.find("</svg>", start);
    const std::size_t end_of_tag = svg.find('>', start);
    if (end == std::string::npos || !is_drawing(std::string_view(svg).substr(end_of_tag, end - end_of_tag))) {
        return "";
    }
    const std::string tag = svg.substr(start, end_of_tag - start);
    const std::size_t box = tag.find("viewBox=\"");
    const std::string view_box = box == std::string::npos ? "" : tag.substr(box, tag.find('"', box + 9) - box + 1);
    svg = svg.substr(end_of_tag, end + 6 - end_of_tag);
    // The page's colours for gnuplot's: text and axes in the page's text colour, and no white sheet behind. Tick labels
    // have a colour of their own (plots/style.gp), which becomes the class that the page's script looks for.
    const std::pair<std::string_view, std::string_view> colours[] = {
        {"\"black\"", "\"currentColor\""},
        {"'black'", "'currentColor'"},
        {"\"rgb(0,0,1)\"", "\"currentColor\" class=\"tick\""},
        {"\"rgb(102,102,102)\"", "\"currentColor\""},
        {"\"rgb(119,119,119)\"", "\"currentColor\""},
        {"fill=\"#ffffff\"", "fill=\"none\""},
        {" color=\"#FFFFFF\"", ""},
    };
    for (const auto& [from, to] : colours) replace_all(svg, from, to);
    // gnuplot gives marks and curves the same ids in every drawing; in one page each drawing needs its own.
    for (const char* reference : {"id='gp", "#gp", "id=\"gp", "id='te", "#te", "id='gr", "#gr"}) {
        std::string own = reference;
        own.insert(own.size() - 2, name + "_");
        replace_all(svg, reference, own);
    }
    replace_all(svg, "id=\"gnuplot_", "id=\"" + name + "_gnuplot_");
    return fmt::format(R"(<svg {} xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{}")", view_box,
                       escaped(title)) +
           svg;
}

namespace {

/// The names of a drawing's curves, each once, with their colours: gnuplot's groups gnuplot_plot_<n>, of which each has
/// a title; one that says as much itself has no name.
std::string key_html(std::string_view svg) {
    constexpr std::string_view mark = "<title>", stroke = "'rgb(";
    std::string html;
    for (std::size_t at = svg.find("gnuplot_plot_"); at != std::string_view::npos;) {
        const std::size_t title = svg.find(mark, at), end = svg.find("</title>", at);
        if (end == std::string_view::npos) break;
        const std::string name(svg.substr(title + mark.size(), end - title - mark.size()));
        at = svg.find("\"gnuplot_plot_", end);
        const std::size_t colour = svg.find(stroke, end);
        if (name.starts_with("gnuplot_plot_") || name.find('<') != std::string::npos ||
            colour >= std::min(at, svg.size()))
            continue;
        const std::string whole = name.substr(0, name.find(" minus "));  // has the colour of its difference
        const auto is_written = [svg](const std::string& part) {
            return svg.find("<text>" + part + "</text>") != std::string_view::npos ||
                   svg.find(">" + part + "</tspan>") != std::string_view::npos;  // of an axis
        };
        if (is_written(whole) || std::ranges::all_of(wrapped(whole, end_width), is_written)) continue;  // at its curve
        if (html.find(">" + name + "<") != std::string::npos || html.find(">" + whole + "<") != std::string::npos)
            continue;
        html += fmt::format("<span style=\"border-color:{}\">{}</span>\n",
                            escaped(svg.substr(colour + 1, svg.find(')', colour) - colour)), name);
    }
    return html.empty() ? "" : "<span class=\"key\">\n" + html + "</span>\n";
}

/// Up to three sentences, and the others.
std::pair<std::string_view, std::string_view> first_three(std::string_view text) {
    std::size_t end = 0;
    for (int sentence = 0; sentence < 3 && end != std::string_view::npos; ++sentence) end = text.find(". ", end + 1);
    if (end == std::string_view::npos) return {text, ""};
    return {text.substr(0, end + 1), text.substr(end + 2)};
}

}  // namespace

std::string drawing_html(const StoredResult& result, const StoredFigure& figure) {
    if (!figure.svg.empty()) {
        const std::string name = fmt::format("{}_{}", result.experiment, figure.name);
        const std::string_view seen = figure.headline.empty() ? first_three(figure.meaning).first : figure.headline;
        const std::string title = fmt::format("{}. {}", figure.title, seen);
        const std::string drawing = svg_html(figure.svg, name, title);
        if (drawing.empty()) return "<p class=\"missing\">This file holds no drawing.</p>";
        return fmt::format("<span class=\"drawing\"><strong>{}</strong>{}{}</span>", prose_html(figure.title), drawing,
                           key_html(figure.svg));
    }
    return fmt::format(
        "<p class=\"missing\">Not drawn: gnuplot was not there or found nothing to draw. To draw it: <code>ulplab "
        "report --draw {}</code>, with the --out of this report.</p>",
        result.experiment);
}

namespace {

/// The weakest thing that the figure's evidence rests on, in a word or three.
std::string badge_of(const StoredResult& result, const StoredFigure& figure) {
    static const std::vector<CardEvidence> cards = committed_card_evidence();
    if (figure.evidence.empty()) return "arithmetic alone";
    const bool seen = !result.products.empty() && std::ranges::all_of(result.products, [&](const UnitProducts& row) {
        return is_seen_on_card(cards, result.experiment, row);
    });
    if (seen) return "all its products seen on a card";
    constexpr std::pair<std::string_view, std::string_view> words[] = {{": specified", "units as specified"},
                                                                       {": published", "units as published"},
                                                                       {": recorded", "units as recorded"},
                                                                       {": verified live", "units verified live"}};
    for (const auto& [mark, word] : words) {
        if (figure.evidence.find(mark) != std::string::npos) return std::string(word);
    }
    return "models of matrix units";
}

/// The units behind a figure; what stands behind each the chapter says once.
std::string units_html(const StoredResult& result, const StoredFigure& figure) {
    std::string names;
    for (const std::string& line : result.evidence) {
        const std::string unit = line.substr(0, line.find("): ") + 1);
        if (figure.evidence.find(unit) != std::string::npos) names += (names.empty() ? "" : "; ") + escaped(unit);
    }
    if (names.empty()) return figure.evidence.empty() ? "" : "<p>" + prose_html(figure.evidence) + "</p>\n";
    return fmt::format("<p class=\"source\">Units: {}. <a href=\"#evidence\">What stands behind them</a></p>\n", names);
}

}  // namespace

std::string figure_html(const StoredResult& result, const StoredFigure& figure) {
    const auto& [seen, more] = first_three(figure.meaning);
    std::string folded;
    for (const std::string_view text : {more, std::string_view(figure.caption)}) {
        if (!text.empty()) folded += "<p>" + prose_html(text) + "</p>\n";
    }
    folded += units_html(result, figure);
    return fmt::format(
        "<figure id=\"{0}-{1}\" class=\"answers\">\n{2}\n<figcaption>\n"
        "<p>{3}</p>\n<details class=\"evidence\"><summary><span class=\"badge\">{4}</span></summary>\n{5}"
        "<p class=\"links\"><a href=\"{0}/{1}.png\">PNG</a> <a href=\"{0}/{1}.svg\">SVG</a> "
        "<a href=\"{0}/data.csv\">data</a></p>\n</details>\n</figcaption>\n</figure>\n",
        result.experiment, figure.name, drawing_html(result, figure), prose_html(seen), badge_of(result, figure),
        folded);
}

}  // namespace ulp
