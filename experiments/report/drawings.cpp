#include "experiments/report/drawings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "experiments/report/html.hpp"

namespace ulp {
namespace {

/// A drawing holds shapes and text; what could run or load is none of gnuplot's.
bool is_drawing(std::string_view svg) {
    const auto has = [&](std::string_view part) {
        return std::search(svg.begin(), svg.end(), part.begin(), part.end(), [](char a, char b) {
                   return std::tolower(static_cast<unsigned char>(a)) == b;
               }) != svg.end();
    };
    return !has("<script") && !has("<foreignobject") && !has("javascript:") && !has(" onload") && !has("<iframe");
}

std::string inline_svg(std::string svg, const std::string& name, const std::string& title) {
    const std::size_t start = svg.find("<svg");
    const std::size_t end = svg.find("</svg>", start);
    if (end == std::string::npos || !is_drawing(svg)) return "<p class=\"missing\">This file holds no drawing.</p>";
    svg = svg.substr(start, end + 6 - start);
    const std::size_t end_of_tag = svg.find('>');
    std::string tag = svg.substr(0, end_of_tag);
    const std::size_t box = tag.find("viewBox=\"");
    const std::string view_box = box == std::string::npos ? "" : tag.substr(box, tag.find('"', box + 9) - box + 1);
    svg.erase(0, end_of_tag);
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
    for (const char* reference : {"id='gp", "#gp", "id=\"gp"}) {
        std::string own = reference;
        own.insert(own.size() - 2, name + "_");
        replace_all(svg, reference, own);
    }
    replace_all(svg, "id=\"gnuplot_", "id=\"" + name + "_gnuplot_");
    return fmt::format(R"(<svg {} xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{}")", view_box,
                       escaped(title)) +
           svg;
}

}  // namespace

std::string drawing_html(const StoredResult& result, const StoredFigure& figure) {
    if (!figure.svg.empty()) {
        return inline_svg(figure.svg, fmt::format("{}_{}", result.experiment, figure.name), figure.title);
    }
    return fmt::format(
        "<p class=\"missing\">Not drawn: gnuplot was not installed. To draw it: <code>cd {}; gnuplot {}.gp</code></p>",
        result.experiment, figure.name);
}

std::string figure_html(const StoredResult& result, const StoredFigure& figure) {
    constexpr std::size_t characters_shown = 240;  // a longer text is folded
    const std::string evidence = figure.evidence.empty()
                                     ? "No hardware model is involved: the arithmetic of the formats alone."
                                     : escaped(figure.evidence);
    const bool fold = evidence.size() > characters_shown;
    return fmt::format(
        "<figure id=\"{0}-{1}\" class=\"answers\">\n<div class=\"drawing\">{2}</div>\n<figcaption>\n"
        "<p><strong>What to see.</strong> {3}</p>\n{4}{5}{6}\n"
        "<p class=\"links\"><a href=\"{0}/{1}.png\">PNG</a> <a href=\"{0}/{1}.svg\">SVG</a> "
        "<a href=\"{0}/data.csv\">data</a></p>\n</figcaption>\n</figure>\n",
        result.experiment, figure.name, drawing_html(result, figure), escaped(figure.meaning),
        fold ? "<details class=\"evidence\"><summary>Evidence</summary>"
             : "<p class=\"evidence\"><strong>Evidence.</strong> ",
        evidence, fold ? "</details>" : "</p>");
}

}  // namespace ulp
