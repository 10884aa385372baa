#include "experiments/framework/report.hpp"

#include <fmt/format.h>

#include <map>

#include "experiments/framework/figures.hpp"

namespace ulp {
namespace {

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '&': result += "&amp;"; break;
            case '<': result += "&lt;"; break;
            case '>': result += "&gt;"; break;
            case '"': result += "&quot;"; break;
            default: result += c;
        }
    }
    return result;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
}

/// The drawing without its XML prologue, scaled to the page's width, and with the page's text colour for its black.
std::string inline_svg(std::string svg, const std::string& name, const std::string& title) {
    const std::size_t start = svg.find("<svg");
    if (start == std::string::npos) return "";
    svg.erase(0, start);
    const std::size_t end_of_tag = svg.find('>');
    std::string tag = svg.substr(0, end_of_tag);
    const std::size_t box = tag.find("viewBox=\"");
    const std::string view_box = box == std::string::npos ? "" : tag.substr(box, tag.find('"', box + 9) - box + 1);
    svg.erase(0, end_of_tag);
    // The page's colours for gnuplot's: text and axes in the page's text colour, and no white sheet behind.
    const std::pair<std::string_view, std::string_view> colours[] = {
        {"\"black\"", "\"currentColor\""},
        {"'black'", "'currentColor'"},
        {"\"rgb(102,102,102)\"", "\"currentColor\""},
        {"\"rgb(119,119,119)\"", "\"currentColor\""},
        {"fill=\"#ffffff\"", "fill=\"none\""},
        {" color=\"#FFFFFF\"", ""},
    };
    for (const auto& [from, to] : colours) replace_all(svg, from, to);
    // gnuplot gives its marks the same ids in every drawing; in one page each drawing needs its own.
    for (const char* reference : {"id='gp", "#gp", "id=\"gp"}) {
        std::string own = reference;
        own.insert(own.size() - 2, name + "_");
        replace_all(svg, reference, own);
    }
    return fmt::format(R"(<svg {} xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{}")", view_box,
                       escaped(title)) +
           svg;
}

std::string badge(Verdict verdict) {
    return fmt::format(R"(<span class="verdict {0}">{0}</span>)", verdict_name(verdict));
}

std::string figure_html(const StoredResult& result, const StoredFigure& figure) {
    const std::string drawing =
        figure.svg.empty() ? fmt::format(
                                 "<p class=\"missing\">Not drawn: gnuplot was not installed. To draw it: <code>cd "
                                 "{}; gnuplot {}.gp</code></p>",
                                 result.experiment, figure.name)
                           : inline_svg(figure.svg, fmt::format("{}_{}", result.experiment, figure.name), figure.title);
    std::string html = fmt::format(
        "<figure id=\"{0}-{1}\">\n<div class=\"drawing\">{2}</div>\n<figcaption>\n"
        "<p><strong>What to see.</strong> {3}</p>\n",
        result.experiment, figure.name, drawing, escaped(figure.meaning));
    html += fmt::format("<p><strong>Evidence.</strong> {}</p>\n",
                        figure.evidence.empty() ? "No hardware model is involved: the arithmetic of the formats alone."
                                                : escaped(figure.evidence));
    html += fmt::format(
        "<p class=\"links\"><a href=\"{0}/{1}.png\">PNG</a> <a href=\"{0}/{1}.svg\">SVG</a> "
        "<a href=\"{0}/data.csv\">data</a></p>\n</figcaption>\n</figure>\n",
        result.experiment, figure.name);
    return html;
}

std::string claims_html(const std::vector<Claim>& claims) {
    std::string html =
        "<table>\n<thead><tr><th>Verdict</th><th>Claim</th><th>Expected</th><th>Measured</th></tr></thead>\n<tbody>\n";
    for (const Claim& claim : claims) {
        html += fmt::format(
            "<tr id=\"{0}\"><td data-label=\"Verdict\">{1}</td><td data-label=\"Claim\">{2}<br><span "
            "class=\"source\">{3} "
            "&middot; <code>{0}</code></span></td><td data-label=\"Expected\" class=\"value\">{4}</td><td "
            "data-label=\"Measured\" class=\"value\">{5}</td></tr>\n",
            escaped(claim.id), badge(claim.verdict), escaped(claim.statement), escaped(claim.source),
            escaped(claim.expected), escaped(claim.measured));
    }
    return html + "</tbody>\n</table>\n";
}

std::string run_html(const StoredResult& result) {
    std::string settings;
    for (const auto& [key, value] : result.settings) settings += fmt::format("{} = {}, ", key, value);
    if (settings.size() >= 2) settings.resize(settings.size() - 2);
    return fmt::format(
        "<details><summary>How it was run</summary>\n<p>ulplab {}, {}, seed {}, {}. {} Compiled with {}; on {}; {:.1f} "
        "s; "
        "finished {}. Digest of the results: <code>{}</code>. Again: <code>ulplab run {}{} --seed {}</code>. "
        "<a href=\"{}/result.json\">record</a> <a href=\"{}/manifest.json\">manifest</a></p>\n</details>\n",
        result.version, result.mode, result.seed, result.backend.empty() ? "default backends" : escaped(result.backend),
        settings.empty() ? "No settings." : "Settings: " + escaped(settings) + ".", escaped(result.compiler),
        escaped(result.cpu), result.seconds, result.finished, result.digest, result.experiment,
        result.mode == "full" ? " --full" : "", result.seed, result.experiment, result.experiment);
}

std::string evidence_html(const StoredResult& result) {
    if (result.evidence.empty()) return "";
    std::string html = "<details open><summary>Hardware evidence behind the models used</summary>\n<ul>\n";
    for (const std::string& line : result.evidence) html += fmt::format("<li>{}</li>\n", escaped(line));
    return html + "</ul>\n</details>\n";
}

std::string section_html(const StoredResult& result) {
    std::string html = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"question\">{}</p>\n",
                                   result.experiment, escaped(result.title), escaped(result.question));
    for (const StoredFigure& figure : result.figures) html += figure_html(result, figure);
    html += "<h3>Claims</h3>\n" + claims_html(result.claims) + evidence_html(result) + run_html(result);
    return html + "</section>\n";
}

std::string summary_html(const std::vector<StoredResult>& results) {
    std::map<Verdict, int> counts;
    for (const StoredResult& result : results) {
        for (const Claim& claim : result.claims) ++counts[claim.verdict];
    }
    std::string html = "<p class=\"counts\">";
    for (const auto& [verdict, count] : counts) html += fmt::format("<span>{} {}</span> ", count, badge(verdict));
    return html + "</p>\n";
}

/// The chapters in their order with the experiments of each.
std::string contents_html(const std::vector<StoredResult>& results) {
    std::string html = "<ul>\n";
    for (const StoredResult& result : results) {
        html += fmt::format("<li><a href=\"#{}\">{}</a>: {}</li>\n", result.experiment, escaped(result.title),
                            escaped(result.question));
    }
    return html + "</ul>\n";
}

}  // namespace

std::string report_html(const std::vector<StoredResult>& results) {
    std::string sections;
    std::string chapter;
    for (const StoredResult& result : results) {
        if (result.chapter != chapter)
            sections += fmt::format("<p class=\"chapter\">{}</p>\n", escaped(result.chapter));
        chapter = result.chapter;
        sections += section_html(result);
    }
    std::string page(plot_template("report.html"));
    replace_all(page, "{{style}}", plot_template("report.css"));
    replace_all(page, "{{summary}}", summary_html(results));
    replace_all(page, "{{contents}}", contents_html(results));
    replace_all(page, "{{sections}}", sections);
    return page;
}

}  // namespace ulp
