#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "engine/files/whole_file.hpp"
#include "experiments/framework/card_evidence.hpp"
#include "experiments/framework/claims.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/figures.hpp"
#include "experiments/framework/html.hpp"
#include "experiments/framework/machine.hpp"
#include "experiments/framework/runner.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

using Results = std::vector<StoredResult>;

/// The opening shows as many figures.
constexpr std::size_t headlines_shown = 5;

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

/// What stands behind the units of a chapter, each once.
/// Captions that several figures share become links to here.
std::string with_evidence(std::string html, const Results& results) {
    constexpr int times_said = 3;
    std::set<std::string> lines;
    std::map<std::string, int> captions;
    for (const StoredResult& result : results) {
        for (const std::string& line : result.evidence) lines.insert(escaped(line));
        for (const StoredFigure& figure : result.figures) ++captions[prose_html(figure.caption)];
    }
    for (const auto& [caption, times] : captions) {
        if (times <= times_said || caption.empty()) continue;
        lines.insert(fmt::format("{} figures: {}", times, caption));
        replace_all(html, "<p>" + caption + "</p>\n", "<p><a href=\"#evidence\">Setting and units</a></p>\n");
    }
    if (lines.empty()) return html;
    html += "<details id=\"evidence\"><summary>What stands behind the figures of this chapter</summary>\n<ul>\n";
    for (const std::string& line : lines) html += fmt::format("<li>{}</li>\n", line);
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

/// The sentence of the first figure that has one.
std::string headline_of(const StoredResult& result) {
    const auto figure = std::ranges::find_if(result.figures, [](const auto& f) { return !f.headline.empty(); });
    return figure == result.figures.end() ? "" : figure->headline;
}

/// What the experiment found, as its heading: the sentence of a figure unless it is said `above`, else of the claim
/// that answers its question.
std::string finding_html(const StoredResult& result, bool above = false) {
    const std::string headline = headline_of(result);
    if (!headline.empty() && !above) return prose_html(headline);
    const auto experiment = std::ranges::find(experiments(), result.experiment, &Experiment::name);
    if (experiment == experiments().end()) return prose_html(result.title);
    const std::optional<Claim> claim = answering_claim(*experiment, result.claims);
    if (!claim) return prose_html(result.title);
    const std::string& measured = claim->measured;
    return fmt::format("{}{} <span class=\"value\">{}</span>",
                       claim->verdict == Verdict::reproduced ? "" : verdict_html(claim->verdict) + ": ",
                       prose_html(claim->statement), prose_html(measured.substr(0, measured.find(": difference"))));
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

/// The finding, its first figure, and in a fold all else. `above`: its sentence is the chapter's title.
std::string section_html(const StoredResult& result, bool above, const Results& reported) {
    std::string more;
    for (std::size_t i = 1; i < result.figures.size(); ++i) more += figure_html(result, result.figures[i]);
    const std::string others = more.empty() ? "" : counted(result.figures.size() - 1, "more figure") + ", ";
    return fmt::format(
        "<section id=\"{}\" class=\"finding\">\n<p class=\"topic\">{}</p>\n<h2>{}</h2>\n{}<details "
        "class=\"more\"{}><summary>{}{}: {}</summary>\n<p class=\"question\">{}</p>\n{}{}<div "
        "class=\"folded\">{}{}{}</div>\n</details>\n</section>\n",
        result.experiment, prose_html(result.title), finding_html(result, above),
        result.figures.empty() ? "" : figure_html(result, result.figures.front()),
        all_hold(result.claims) ? "" : " open", others, counted(result.claims.size(), "claim"),
        counts_html(result.claims), prose_html(result.question), origin_html(result.experiment, reported), more,
        claims_html(result), seen_html(result), run_html(result));
}

std::string chapter_html(const Results& results, const std::string& chapter, const Results& reported) {
    std::string contents;
    for (const StoredResult& result : results) {
        contents += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", result.experiment, escaped(result.title));
    }
    // The first experiment with a sentence decides the chapter.
    auto decides = std::ranges::find_if(results, [](const auto& r) { return !headline_of(r).empty(); });
    if (decides == results.end()) decides = results.begin();
    std::string html =
        fmt::format("<p class=\"topic\">{}</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", escaped(chapter),
                    finding_html(*decides), escaped(chapter_text(chapter_by_name(chapter))));
    if (results.size() > 1) html += "<ul class=\"contents\">\n" + contents + "</ul>\n";
    html += "<div class=\"findings\">\n";
    for (const StoredResult& result : results) html += section_html(result, &result == &*decides, reported);
    return with_evidence(html + "</div>\n", results);
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

/// The first figure with a sentence of each chapter, then the second ones, in the order of the results.
std::vector<Headline> headlines_of(const Results& results) {
    std::map<std::string, std::size_t> before;  // in the chapter
    std::vector<std::pair<std::size_t, Headline>> all;
    for (const StoredResult& result : results) {
        for (const StoredFigure& figure : result.figures) {
            if (!figure.headline.empty()) all.push_back({before[result.chapter]++, {&result, &figure}});
        }
    }
    std::ranges::stable_sort(all, {}, &std::pair<std::size_t, Headline>::first);
    std::vector<Headline> shown;
    for (const auto& [rank, one] : all) {
        if (shown.size() < headlines_shown) shown.push_back(one);
    }
    return shown;
}

/// The figures with a sentence for the opening: drawing, sentence, and the way to the whole figure.
std::string headlines_html(const Results& results) {
    std::string html;
    for (const auto& [result, figure] : headlines_of(results)) {
        html += fmt::format("<a class=\"headline\" href=\"{}#{}-{}\">{}<span>{}</span></a>\n",
                            escaped(chapter_page(result->chapter)), result->experiment, figure->name,
                            drawing_html(*result, *figure), prose_html(figure->headline));
    }
    return html;
}

/// What the comparisons of training runs with fp32 show, in a sentence.
std::string answer_html(const Results& results) {
    std::map<Verdict, int> counts;
    int all = 0;
    for (const StoredResult& result : results) {
        for (const Claim& claim : result.claims) {
            if (!claim.parity) continue;
            ++counts[claim.verdict];
            ++all;
        }
    }
    std::string answer = "Low precision overflows, swamps and underflows";
    if (all == 0) return answer + ".";
    const int worse = all - counts[Verdict::reproduced] - counts[Verdict::undecided];
    answer += fmt::format(". Yet in {} of {} comparisons training learns as well as in fp32",
                          counts[Verdict::reproduced], all);
    if (worse > 0) answer += fmt::format(", in {} it does not", worse);
    if (counts[Verdict::undecided] > 0)
        answer += fmt::format(", in {} the seeds do not decide", counts[Verdict::undecided]);
    return answer + ".";
}

/// The gradients of one experiment by exponent, for the figure with a loss scale to drag; "" where it has not been run.
std::string gradients_json(const Results& results) {
    const auto result = std::ranges::find(results, "gradient_histogram", &StoredResult::experiment);
    if (result == results.end()) return "";
    std::map<int, double> shares;
    std::istringstream rows(read_whole_file(result->folder / "data.csv"));
    for (std::string row; std::getline(rows, row);) {
        if (!row.starts_with("by_layer,") || row.find("_gradient ") == std::string::npos) continue;
        const std::size_t x = row.find(',', row.find(',') + 1) + 1;  // figure,series,x,x_bits,y
        const std::size_t y = row.find(',', row.find(',', x) + 1) + 1;
        shares[std::stoi(row.substr(x))] += std::stod(row.substr(y));
    }
    nlohmann::json formats = nlohmann::json::array();
    for (const char* name : {"fp16", "bf16", "e5m2", "e4m3", "e2m1"}) {
        const FloatFormat format = format_by_name(name);
        formats.push_back({name, format.smallest_exponent(), format.emin(), format.emax()});
    }
    return nlohmann::json{{"shares", nlohmann::json(std::vector<std::pair<int, double>>(shares.begin(), shares.end()))},
                          {"formats", formats}}
        .dump();
}

/// Which experiments have no result here, or one of another version, and how to get them; "" where all are there.
std::string gaps_html(const Results& results) {
    std::vector<std::string> missing, old;
    for (const Experiment& experiment : experiments()) {
        const auto found = std::ranges::find(results, experiment.name, &StoredResult::experiment);
        if (found == results.end()) missing.emplace_back(experiment.name);
        if (found != results.end() && found->version != program_version()) old.emplace_back(experiment.name);
    }
    std::string html;
    for (const auto& [what, names] :
         {std::pair("Not run here", &missing), std::pair("Of another version of ulplab", &old)}) {
        if (names->empty()) continue;
        html += fmt::format(
            "<details class=\"gaps\"><summary>{}: {} of {} experiments</summary><p>{}. To run them: "
            "<code>ulplab run {}</code></p></details>\n",
            what, names->size(), experiments().size(), fmt::join(*names, ", "), fmt::join(*names, " "));
    }
    return html;
}

/// "45 quick and 2 full runs".
std::string runs_text(const Results& results) {
    std::map<std::string, int> modes;
    for (const StoredResult& result : results) ++modes[result.mode];
    std::vector<std::string> parts;
    for (const auto& [mode, count] : modes) parts.push_back(fmt::format("{} {}", count, escaped(mode)));
    return fmt::format("{} run{}", fmt::join(parts, " and "), results.size() == 1 ? "" : "s");
}

std::string opening_html(const Results& results, std::string_view site) {
    const std::string gradients = gradients_json(results);
    return filled(
        plot_template("report_opening.html"),
        {{"answer", answer_html(results)},
         {"runs", runs_text(results)},
         {"gaps", gaps_html(results)},
         {"live", gradients.empty() ? "" : filled(plot_template("live_histogram.html"), {{"data", gradients}})},
         {"doors", site.empty() ? "<p><code>ulplab site</code> writes lessons, playground and guides beside "
                                  "this report.</p>\n"
                                : filled(plot_template("doors.html"), {{"site", std::string(site)}})},
         {"counts", counts_line(results)},
         {"errata", errata_lines(results)},
         {"headlines", headlines_html(results)}});
}

}  // namespace

std::vector<ReportPage> report_pages(const Results& results, std::string_view site) {
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

    std::vector<ReportPage> pages;
    const auto add = [&](const std::string& file, const std::string& title, const std::string& body) {
        const bool live = body.find("id=\"gradients\"") != std::string::npos;
        const std::string script = plot_template("report.js") + (live ? plot_template("live_histogram.js") : "");
        pages.push_back({file, filled(plot_template("report.html"), {{"title", escaped(title)},
                                                                     {"style", plot_template("report.css")},
                                                                     {"navigation", navigation(links, file)},
                                                                     {"body", body},
                                                                     {"script", script},
                                                                     {"script_hash", script_hash(script)}})});
    };
    add("report.html", "what low precision does to training", opening_html(results, site));
    for (const auto& [chapter, own] : chapters)
        add(chapter_page(chapter), chapter, chapter_html(own, chapter, results));
    add(std::string(errata_page), "what the sources get wrong",
        filled(plot_template("report_sources.html"), {{"errata", errata_html(results)}}));
    add(std::string(register_page), "register of claims",
        filled(plot_template("report_register.html"),
               {{"counts", counts_table(results)}, {"register", register_html(results)}}));
    return pages;
}

}  // namespace ulp
