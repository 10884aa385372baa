#include "experiments/results/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

#include "experiments/framework/experiment.hpp"
#include "experiments/results/figures.hpp"

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

/// A drawing holds shapes and text; what could run or load is none of gnuplot's.
bool is_drawing(std::string_view svg) {
    const auto has = [&](std::string_view part) {
        return std::search(svg.begin(), svg.end(), part.begin(), part.end(), [](char a, char b) {
                   return std::tolower(static_cast<unsigned char>(a)) == b;
               }) != svg.end();
    };
    return !has("<script") && !has("<foreignobject") && !has("javascript:") && !has(" onload") && !has("<iframe");
}

/// The drawing without its XML prologue, scaled to the page's width, and with the page's text colour for its black.
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

/// "quoted only" as the name of a style: "quoted".
std::string style_of(Verdict verdict) {
    const std::string_view name = verdict_name(verdict);
    return std::string(name.substr(0, name.find(' ')));
}

std::string badge(Verdict verdict) {
    return fmt::format(R"(<span class="verdict {}">{}</span>)", style_of(verdict), verdict_name(verdict));
}

using Counts = std::map<Verdict, int>;

/// "20 reproduced, 3 refuted"
std::string counts_html(const Counts& counts) {
    std::string html;
    for (const auto& [verdict, count] : counts) {
        html += fmt::format("{}<span>{} {}</span>", html.empty() ? "" : ", ", count, badge(verdict));
    }
    return html;
}

Counts counts_of(const std::vector<Claim>& claims) {
    Counts counts;
    for (const Claim& claim : claims) ++counts[claim.verdict];
    return counts;
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
    html += fmt::format("<p class=\"evidence\"><strong>Evidence.</strong> {}</p>\n",
                        figure.evidence.empty() ? "No hardware model is involved: the arithmetic of the formats alone."
                                                : escaped(figure.evidence));
    html += fmt::format(
        "<p class=\"links\"><a href=\"{0}/{1}.png\">PNG</a> <a href=\"{0}/{1}.svg\">SVG</a> "
        "<a href=\"{0}/data.csv\">data</a></p>\n</figcaption>\n</figure>\n",
        result.experiment, figure.name);
    return html;
}

constexpr std::string_view table_head =
    "<table>\n<thead><tr><th>Verdict</th><th>Claim</th><th>Expected</th><th>Measured</th></tr></thead>\n<tbody>\n";

/// `note` stands below the statement.
std::string claim_row(const Claim& claim, const std::string& note) {
    return fmt::format(
        "<tr class=\"is-{0}\"><td data-label=\"Verdict\">{1}</td><td data-label=\"Claim\">{2}<br><span "
        "class=\"source\">{3}</span></td><td data-label=\"Expected\" class=\"value\">{4}</td><td "
        "data-label=\"Measured\" class=\"value\">{5}</td></tr>\n",
        style_of(claim.verdict), badge(claim.verdict), escaped(claim.statement), note, escaped(claim.expected),
        escaped(claim.measured));
}

/// The table of one experiment; it is closed, because all claims stand in the register, unless one failed.
std::string claims_html(const std::vector<Claim>& claims) {
    if (claims.empty()) return "";
    std::string html =
        fmt::format("<details class=\"claims\"{}><summary>{} claims: {}</summary>\n{}", all_hold(claims) ? "" : " open",
                    claims.size(), counts_html(counts_of(claims)), table_head);
    for (const Claim& claim : claims) {
        html += claim_row(claim, fmt::format("{} &middot; <a href=\"#{}\"><code>{}</code></a>", escaped(claim.source),
                                             escaped(claim.id), escaped(claim.id)));
    }
    return html + "</tbody>\n</table>\n</details>\n";
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
        escaped(result.version), escaped(result.mode), result.seed,
        result.backend.empty() ? "default backends" : escaped(result.backend),
        settings.empty() ? "No settings." : "Settings: " + escaped(settings) + ".", escaped(result.compiler),
        escaped(result.cpu), result.seconds, escaped(result.finished), escaped(result.digest), result.experiment,
        result.mode == "full" ? " --full" : "", result.seed, result.experiment, result.experiment);
}

std::string evidence_html(const StoredResult& result) {
    if (result.evidence.empty()) return "";
    std::string html = "<details><summary>Hardware evidence behind the models used</summary>\n<ul>\n";
    for (const std::string& line : result.evidence) html += fmt::format("<li>{}</li>\n", escaped(line));
    return html + "</ul>\n</details>\n";
}

std::string section_html(const StoredResult& result) {
    std::string html = fmt::format("<section id=\"{}\">\n<h3>{}</h3>\n<p class=\"question\">{}</p>\n",
                                   result.experiment, escaped(result.title), escaped(result.question));
    for (const StoredFigure& figure : result.figures) html += figure_html(result, figure);
    html += claims_html(result.claims) + evidence_html(result) + run_html(result);
    return html + "</section>\n";
}

/// "overflow", for the anchor "chapter-overflow".
std::string chapter_anchor(std::string name) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return "chapter-" + name;
}

std::string chapters_html(const std::vector<StoredResult>& results) {
    std::string html;
    std::string chapter;
    for (const StoredResult& result : results) {
        if (result.chapter != chapter) {
            chapter = result.chapter;
            html +=
                fmt::format("<h2 class=\"chapter\" id=\"{}\">{}</h2>\n<p class=\"lead\">{}</p>\n",
                            chapter_anchor(chapter), escaped(chapter), escaped(chapter_text(chapter_by_name(chapter))));
        }
        html += section_html(result);
    }
    return html;
}

/// The chapters in their order with the experiments of each.
std::string contents_html(const std::vector<StoredResult>& results) {
    std::string html = "<ol>\n";
    std::string chapter;
    for (const StoredResult& result : results) {
        if (result.chapter != chapter) {
            html += chapter.empty() ? "" : "</ul></li>\n";
            chapter = result.chapter;
            html += fmt::format("<li><a href=\"#{}\">{}</a>\n<ul>\n", chapter_anchor(chapter), escaped(chapter));
        }
        html += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", result.experiment, escaped(result.title));
    }
    return html +
           "</ul></li>\n<li><a href=\"#errata\">What the sources get wrong</a></li>\n<li><a href=\"#register\">The "
           "register of claims</a></li>\n</ol>\n";
}

/// The document of a source: what stands before the place in it, which is in quotes or follows the year.
std::string document_of(const std::string& source) {
    const std::size_t quote = source.find(", \"");
    if (quote != std::string::npos) return source.substr(0, quote);
    const std::size_t year = source.find("), ");
    return year == std::string::npos ? source : source.substr(0, year + 1);
}

/// What follows the document, for the rows below its heading.
std::string place_in(const std::string& source) {
    const std::size_t length = document_of(source).size();
    return source.size() > length + 2 ? escaped(source.substr(length + 2)) + " &middot; " : "";
}

/// All claims by the document that makes them, in the order in which the documents appear.
std::string register_html(const std::vector<StoredResult>& results) {
    std::vector<std::string> documents;
    std::map<std::string, std::string> rows;
    std::map<std::string, Counts> counts;
    Counts all;
    for (const StoredResult& result : results) {
        for (const Claim& claim : result.claims) {
            const std::string document = document_of(claim.source);
            if (!rows.contains(document)) documents.push_back(document);
            std::string row =
                claim_row(claim, fmt::format("{}<a href=\"#{}\"><code>{}</code></a>", place_in(claim.source),
                                             result.experiment, escaped(claim.id)));
            rows[document] += row.insert(3, fmt::format(" id=\"{}\"", escaped(claim.id)));
            ++counts[document][claim.verdict];
            ++all[claim.verdict];
        }
    }
    std::string html = "<div class=\"filter\" role=\"group\" aria-label=\"verdicts shown\">";
    for (const auto& [verdict, count] : all) {
        html += fmt::format("<label><input type=\"checkbox\" id=\"show-{}\" checked> {} {}</label> ", style_of(verdict),
                            count, badge(verdict));
    }
    html += "</div>\n";
    for (const std::string& document : documents) {
        html += fmt::format("<h3>{}</h3>\n<p class=\"counts\">{}</p>\n{}{}</tbody>\n</table>\n", escaped(document),
                            counts_html(counts[document]), table_head, rows[document]);
    }
    return html;
}

/// The claims that did not stand: refuted by a counter-example or inconsistent in themselves.
std::string errata_html(const std::vector<StoredResult>& results) {
    std::string html;
    for (const StoredResult& result : results) {
        for (const Claim& claim : result.claims) {
            if (claim.verdict != Verdict::refuted && claim.verdict != Verdict::inconsistent) continue;
            html += fmt::format(
                "<li>{} {} Measured: <span class=\"value\">{}</span>. <span class=\"source\">{} &middot; <a "
                "href=\"#{}\"><code>{}</code></a></span></li>\n",
                badge(claim.verdict), escaped(claim.statement), escaped(claim.measured), escaped(claim.source),
                escaped(claim.id), escaped(claim.id));
        }
    }
    return html.empty() ? "<p>Nothing: no claim was refuted.</p>\n" : "<ol>\n" + html + "</ol>\n";
}

Counts counts_of(const std::vector<StoredResult>& results) {
    Counts counts;
    for (const StoredResult& result : results) {
        for (const Claim& claim : result.claims) ++counts[claim.verdict];
    }
    return counts;
}

/// The template with each {{mark}} replaced by its value; marks in a value stay as they are.
std::string filled(std::string_view page, const std::map<std::string, std::string, std::less<>>& values) {
    std::string result;
    for (std::size_t mark = 0; (mark = page.find("{{")) != std::string_view::npos;) {
        const std::size_t end = page.find("}}", mark);
        result += page.substr(0, mark);
        result += values.at(std::string(page.substr(mark + 2, end - mark - 2)));
        page.remove_prefix(end + 2);
    }
    return result + std::string(page);
}

}  // namespace

std::string report_html(const std::vector<StoredResult>& results) {
    return filled(plot_template("report.html"), {{"style", plot_template("report.css")},
                                                 {"summary", counts_html(counts_of(results))},
                                                 {"contents", contents_html(results)},
                                                 {"sections", chapters_html(results)},
                                                 {"errata", errata_html(results)},
                                                 {"register", register_html(results)}});
}

}  // namespace ulp
