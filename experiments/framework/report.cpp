#include <fmt/format.h>

#include <algorithm>

#include "experiments/framework/card_evidence.hpp"
#include "experiments/framework/claims.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/figures.hpp"
#include "experiments/framework/html.hpp"

namespace ulp {
namespace {

using Results = std::vector<StoredResult>;

/// The opening shows as many figures, or one a chapter.
constexpr std::size_t headlines_shown = 10;
/// A chapter with more figures shows the first of each experiment and folds the others.
constexpr std::size_t figures_unfolded = 20;

/// The command that makes the result again: of its settings those that are not the experiment's own.
std::string command_of(const StoredResult& result) {
    std::string command = fmt::format("ulplab run {}", result.experiment);
    if (result.mode != "quick") command += " --" + result.mode;
    command += fmt::format(" --seed {}", result.seed);
    if (!result.backend.empty()) command += " --unit " + result.backend;
    for (const auto& [key, value] : result.changed_settings) command += fmt::format(" --set {}={}", key, value);
    return command;
}

std::string run_html(const StoredResult& result) {
    std::string settings;
    for (const auto& [key, value] : result.settings) settings += fmt::format("{} = {}, ", key, value);
    if (settings.size() >= 2) settings.resize(settings.size() - 2);
    return fmt::format(
        "<details><summary>How it was run</summary>\n<p>ulplab {}, {}, seed {}, {}. {} Compiled with {}; on {}; {:.1f} "
        "s; finished {}. Digest of the results: <code>{}</code>. Again: <code>{}</code>. <a "
        "href=\"{}/result.json\">record</a> <a href=\"{}/manifest.json\">manifest</a></p>\n</details>\n",
        escaped(result.version), escaped(result.mode), result.seed,
        result.backend.empty() ? "default backends" : escaped(result.backend),
        settings.empty() ? "No settings." : "Settings: " + escaped(settings) + ".", escaped(result.compiler),
        escaped(result.cpu), result.seconds, escaped(result.finished), escaped(result.digest),
        escaped(command_of(result)), result.experiment, result.experiment);
}

std::string evidence_html(const StoredResult& result) {
    if (result.evidence.empty()) return "";
    std::string html = "<details><summary>Hardware evidence behind the models used</summary>\n<ul>\n";
    for (const std::string& line : result.evidence) html += fmt::format("<li>{}</li>\n", escaped(line));
    return html + "</ul>\n</details>\n";
}

/// What a real card computed of this result: it holds for all its claims and figures.
std::string seen_html(const StoredResult& result) {
    if (result.products.empty()) {
        return fmt::format("<p>Seen on a Tensor Core: {}.</p>\n", escaped(card_mark({}, result.experiment, {})));
    }
    static const std::vector<CardEvidence> evidence = committed_card_evidence();
    std::size_t seen = 0;
    std::string lines;
    for (const UnitProducts& row : result.products) {
        seen += is_seen_on_card(evidence, result.experiment, row) ? 1 : 0;
        lines += fmt::format("<li>{}</li>\n", escaped(seen_on_card(evidence, result.experiment, row)));
    }
    return fmt::format(
        "<details><summary>Seen on a Tensor Core: the products of {} of {} matrix units</summary>\n<ul>\n{}</ul>\n"
        "</details>\n",
        seen, result.products.size(), lines);
}

std::string figures_html(const StoredResult& result, bool fold) {
    std::string html;
    for (std::size_t i = 0; i < result.figures.size(); ++i) {
        if (fold && i == 1) {
            std::string titles;
            for (std::size_t more = 1; more < result.figures.size(); ++more) {
                titles += (more == 1 ? "" : "; ") + escaped(result.figures[more].title);
            }
            html += fmt::format("<details><summary>{} more: {}</summary>\n", result.figures.size() - 1, titles);
        }
        html += figure_html(result, result.figures[i]);
    }
    return html + (fold && result.figures.size() > 1 ? "</details>\n" : "");
}

/// Whether the failure is natural, and where in the report it is shown the other way.
std::string origin_html(const std::string& name, const Results& reported) {
    const auto experiment = std::ranges::find(experiments(), name, &Experiment::name);
    if (experiment == experiments().end() || !experiment->effect) return "";
    std::string links;
    for (const Experiment* other : counterparts_of(*experiment)) {
        if (std::ranges::find(reported, other->name, &StoredResult::experiment) == reported.end()) continue;
        links +=
            fmt::format("{}<a href=\"{}#{}\">{}</a>", links.empty() ? "" : "; ",
                        escaped(chapter_page(chapter_name(other->place.chapter))), other->name, escaped(other->title));
    }
    const char* relation =
        experiment->effect->inserted.empty() ? "The same with something inserted" : "The same by itself";
    return fmt::format("<p class=\"origin\">{}{}</p>\n", escaped(origin_text(*experiment->effect)),
                       links.empty() ? "" : fmt::format(" {}: {}.", relation, links));
}

std::string section_html(const StoredResult& result, bool fold, const Results& reported) {
    return fmt::format(
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"question\">{}</p>\n{}{}<div "
        "class=\"folded\">{}{}{}{}</div>\n</section>\n",
        result.experiment, escaped(result.title), escaped(result.question), origin_html(result.experiment, reported),
        figures_html(result, fold), claims_html(result), seen_html(result), evidence_html(result), run_html(result));
}

std::string chapter_html(const Results& results, const std::string& chapter, const Results& reported) {
    std::size_t figures = 0;
    std::string contents;
    for (const StoredResult& result : results) {
        figures += result.figures.size();
        contents += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", result.experiment, escaped(result.title));
    }
    std::string html = fmt::format("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", escaped(chapter),
                                   escaped(chapter_text(chapter_by_name(chapter))));
    if (results.size() > 1) html += "<ul class=\"contents\">\n" + contents + "</ul>\n";
    for (const StoredResult& result : results) html += section_html(result, figures > figures_unfolded, reported);
    return html;
}

struct Link {
    std::string file, text;
};

/// All pages as links; the one that is shown is none.
std::string navigation(const std::vector<Link>& links, std::string_view shown) {
    std::string html;
    for (const Link& link : links) {
        html += link.file == shown ? fmt::format("<strong aria-current=\"page\">{}</strong>\n", escaped(link.text))
                                   : fmt::format("<a href=\"{}\">{}</a>\n", escaped(link.file), escaped(link.text));
    }
    return html;
}

struct Headline {
    const StoredResult* result;
    const StoredFigure* figure;
};

/// The first figure with a sentence of each chapter, and of the others the first ones, in the order of the results.
std::vector<Headline> headlines_of(const Results& results) {
    std::vector<Headline> all;
    for (const StoredResult& result : results) {
        for (const StoredFigure& figure : result.figures) {
            if (!figure.headline.empty()) all.push_back({&result, &figure});
        }
    }
    const auto is_first = [&](const Headline& one) {
        return &one ==
               &*std::ranges::find(all, one.result->chapter, [](const Headline& h) { return h.result->chapter; });
    };
    const auto chapters = static_cast<std::size_t>(std::ranges::count_if(all, is_first));
    std::size_t others = headlines_shown - std::min(chapters, headlines_shown);
    std::vector<Headline> shown;
    for (const Headline& one : all) {
        if (!is_first(one) && others == 0) continue;
        if (!is_first(one)) --others;
        shown.push_back(one);
    }
    return shown;
}

/// The figures with a sentence for the opening: drawing, sentence, and the way to the whole figure.
std::string headlines_html(const Results& results) {
    std::string html;
    for (const auto& [result, figure] : headlines_of(results)) {
        html += fmt::format("<a class=\"headline\" href=\"{}#{}-{}\"><span class=\"drawing\">{}</span>{}</a>\n",
                            escaped(chapter_page(result->chapter)), result->experiment, figure->name,
                            drawing_html(*result, *figure), escaped(figure->headline));
    }
    return html;
}

std::string opening_html(const Results& results) {
    std::size_t claims = 0;
    for (const StoredResult& result : results) claims += result.claims.size();
    return filled(plot_template("report_opening.html"), {{"experiments", fmt::format("{}", results.size())},
                                                         {"claims", fmt::format("{}", claims)},
                                                         {"counts", counts_table(results)},
                                                         {"errata", errata_lines(results)},
                                                         {"headlines", headlines_html(results)}});
}

}  // namespace

std::vector<ReportPage> report_pages(const Results& results) {
    std::vector<Link> links = {{"report.html", "Report"}};
    std::vector<std::pair<std::string, Results>> chapters;
    for (const StoredResult& result : results) {
        if (chapters.empty() || chapters.back().first != result.chapter) {
            chapters.emplace_back(result.chapter, Results{});
            links.push_back({chapter_page(result.chapter), result.chapter});
        }
        chapters.back().second.push_back(result);
    }
    links.push_back({std::string(errata_page), "What the sources get wrong"});
    links.push_back({std::string(register_page), "Register of claims"});

    const std::string script = plot_template("report.js");
    std::vector<ReportPage> pages;
    const auto add = [&](const std::string& file, const std::string& title, const std::string& body) {
        pages.push_back({file, filled(plot_template("report.html"), {{"title", escaped(title)},
                                                                     {"style", plot_template("report.css")},
                                                                     {"navigation", navigation(links, file)},
                                                                     {"body", body},
                                                                     {"script", script},
                                                                     {"script_hash", script_hash(script)}})});
    };
    add("report.html", "results", opening_html(results));
    for (const auto& [chapter, own] : chapters)
        add(chapter_page(chapter), chapter, chapter_html(own, chapter, results));
    add(std::string(errata_page), "what the sources get wrong",
        filled(plot_template("report_sources.html"), {{"errata", errata_html(results)}}));
    add(std::string(register_page), "register of claims",
        filled(plot_template("report_register.html"), {{"register", register_html(results)}}));
    return pages;
}

}  // namespace ulp
