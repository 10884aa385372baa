#include "experiments/framework/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

#include "experiments/framework/experiment.hpp"
#include "experiments/framework/html.hpp"

namespace ulp {
namespace {

/// "quoted only" as the name of a style: "quoted".
std::string style_of(Verdict verdict) {
    const std::string_view name = verdict_name(verdict);
    return std::string(name.substr(0, name.find(' ')));
}

std::string badge(Verdict verdict, std::string_view text) {
    return fmt::format(R"(<span class="verdict {}">{}</span>)", style_of(verdict), text);
}

using Counts = std::map<Verdict, int>;

/// "20 reproduced, 3 refuted"
std::string counts_html(const Counts& counts) {
    std::string html;
    for (const auto& [verdict, count] : counts) {
        html += fmt::format("{}<span>{} {}</span>", html.empty() ? "" : ", ", count, verdict_html(verdict));
    }
    return html;
}

Counts counts_of(const std::vector<Claim>& claims) {
    Counts counts;
    for (const Claim& claim : claims) ++counts[claim.verdict];
    return counts;
}

constexpr std::string_view table_head =
    "<table class=\"claims\">\n<thead><tr><th>Verdict</th><th>Claim</th><th>Expected</th><th>Measured</th></tr></thead>"
    "\n<tbody>\n";

std::string link_to_claim(const Claim& claim) {
    return fmt::format("<a href=\"{}#{}\"><code>{}</code></a>", register_page, escaped(claim.id), escaped(claim.id));
}

/// `note` stands below the statement.
std::string claim_row(const StoredResult& result, const Claim& claim, const std::string& note) {
    return fmt::format(
        "<tr class=\"is-{0}\"><td data-label=\"Verdict\">{1}</td><td data-label=\"Claim\">{2}<br><span "
        "class=\"source\">{3}</span></td><td data-label=\"Expected\" class=\"value\">{4}</td><td "
        "data-label=\"Measured\" class=\"value\">{5}</td></tr>\n",
        style_of(claim.verdict),
        badge(
            claim.verdict,
            shown_verdict(claim, result.mode == "full" || result.mode == "published" ? RunSize::full : RunSize::quick)),
        prose_html(claim.statement), note, escaped(claim.expected), escaped(claim.measured));
}

/// The document of a source: what stands before the place in it, which is in quotes or follows the year.
std::string document_of(const std::string& source) {
    const std::size_t quote = source.find(", \"");
    if (quote != std::string::npos) return source.substr(0, quote);
    const std::size_t year = source.find("), ");
    return year == std::string::npos ? source : source.substr(0, year + 1);
}

/// What follows the document: the statement, in the source's own words, or the place.
std::string place_in(const std::string& source) {
    const std::size_t length = document_of(source).size();
    return source.size() > length + 2 ? source.substr(length + 2) : "";
}

/// A statement of a source, and the claims that did not stand: refuted by a counter-example, or inconsistent.
struct Erratum {
    std::string source;
    std::vector<const Claim*> claims;
};

bool is_own(const Erratum& erratum) { return erratum.source.starts_with(sources::own_prediction); }

/// The statements with the most counter-examples first, and this laboratory's own behind the sources'.
std::vector<Erratum> errata_of(const std::vector<StoredResult>& results) {
    std::vector<Erratum> errata;
    for (const StoredResult& result : results) {
        for (const Claim& claim : result.claims) {
            if (claim.verdict != Verdict::refuted && claim.verdict != Verdict::inconsistent) continue;
            auto found = std::ranges::find(errata, claim.source, &Erratum::source);
            if (found == errata.end()) found = errata.insert(found, {claim.source, {}});
            found->claims.push_back(&claim);
        }
    }
    std::ranges::stable_sort(errata, std::greater<>(), [](const Erratum& e) { return e.claims.size(); });
    std::stable_partition(errata.begin(), errata.end(), std::not_fn(is_own));  // clang 14: not that of ranges
    return errata;
}

/// "wrong-3", of the third erratum.
std::string erratum_anchor(std::size_t number) { return fmt::format("wrong-{}", number + 1); }

std::string statement_of(const Erratum& erratum) {
    const std::string place = place_in(erratum.source);
    const bool is_quote = std::ranges::count(place, ' ') >= 2;  // and not the name of a place: "matrixMul"
    return prose_html(is_quote ? place : erratum.claims.front()->statement);
}

constexpr std::string_view nothing_wrong = "<p>Nothing: no claim was refuted.</p>\n";

}  // namespace

std::string verdict_html(Verdict verdict) { return badge(verdict, verdict_name(verdict)); }
std::string counts_html(const std::vector<Claim>& claims) { return counts_html(counts_of(claims)); }

std::string chapter_page(std::string_view chapter) {
    std::string name = "report-";
    for (const char c : chapter) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return name + ".html";
}

std::string counts_table(const std::vector<StoredResult>& results) {
    std::map<ClaimKind, Counts> kinds;
    Counts all;
    for (const StoredResult& result : results) {
        for (const Claim& claim : result.claims) {
            ++kinds[claim.kind][claim.verdict];
            ++all[claim.verdict];
        }
    }
    std::string html = "<table class=\"counts\">\n<thead><tr><td></td>";
    for (const auto& [kind, counts] : kinds) html += fmt::format("<th>{}</th>", name_of(kind));
    html += "<th>all</th></tr></thead>\n<tbody>\n";
    for (const auto& [verdict, count] : all) {
        html += fmt::format("<tr><th>{}</th>", verdict_html(verdict));
        for (const auto& [kind, counts] : kinds) {
            const auto found = counts.find(verdict);
            html += found == counts.end() ? "<td></td>" : fmt::format("<td>{}</td>", found->second);
        }
        html += fmt::format("<td>{}</td></tr>\n", count);
    }
    return html + "</tbody>\n</table>\n";
}

std::string counts_line(const std::vector<StoredResult>& results) {
    Counts counts;
    std::size_t all = 0;
    for (const StoredResult& result : results) {
        for (const auto& [verdict, count] : counts_of(result.claims)) counts[verdict] += count;
        all += result.claims.size();
    }
    return fmt::format("<p class=\"counts\"><a href=\"{}\">{} claims</a>: {}</p>\n", register_page, all,
                       counts_html(counts));
}

std::string claims_html(const StoredResult& result) {
    const std::vector<Claim>& claims = result.claims;
    if (claims.empty()) return "";
    std::string html = fmt::format("<details class=\"claims\"{}><summary>{} claims of the {} run: {}</summary>\n{}",
                                   all_hold(claims) ? "" : " open", claims.size(), escaped(result.mode),
                                   counts_html(claims), table_head);
    for (const Claim& claim : claims) {
        html += claim_row(result, claim, fmt::format("{} &middot; {}", escaped(claim.source), link_to_claim(claim)));
    }
    return html + "</tbody>\n</table>\n</details>\n";
}

std::string register_html(const std::vector<StoredResult>& results) {
    std::vector<std::string> documents;
    std::map<std::string, std::string> rows;
    std::map<std::string, Counts> counts;
    Counts all;
    for (const StoredResult& result : results) {
        const std::string experiment = chapter_page(result.chapter) + "#" + result.experiment;
        for (const Claim& claim : result.claims) {
            const std::string document = document_of(claim.source);
            if (!rows.contains(document)) documents.push_back(document);
            const std::string place = place_in(claim.source);
            std::string row =
                claim_row(result, claim,
                          fmt::format("{}{}<a href=\"{}\"><code>{}</code></a>", escaped(place),
                                      place.empty() ? "" : " &middot; ", escaped(experiment), escaped(claim.id)));
            rows[document] += row.insert(3, fmt::format(" id=\"{}\"", escaped(claim.id)));
            ++counts[document][claim.verdict];
            ++all[claim.verdict];
        }
    }
    std::string html = "<div class=\"filter\" role=\"group\" aria-label=\"verdicts shown\">";
    for (const auto& [verdict, count] : all) {
        html += fmt::format("<label><input type=\"checkbox\" id=\"show-{}\" checked> {} {}</label> ", style_of(verdict),
                            count, verdict_html(verdict));
    }
    html += "</div>\n";
    for (const std::string& document : documents) {
        html += fmt::format(
            "<details><summary>{} <span class=\"counts\">{}</span></summary>\n{}{}</tbody>\n</table>\n</details>\n",
            escaped(document), counts_html(counts[document]), table_head, rows[document]);
    }
    return html;
}

std::string errata_lines(const std::vector<StoredResult>& results) {
    constexpr std::size_t shown = 5;
    std::vector<Erratum> errata = errata_of(results);
    std::erase_if(errata, is_own);
    if (errata.empty()) return std::string(nothing_wrong);
    std::string html = "<ol class=\"errata\">\n";
    for (std::size_t i = 0; i < std::min(shown, errata.size()); ++i) {
        const Claim& claim = *errata[i].claims.front();
        const std::string said = statement_of(errata[i]), found = prose_html(claim.statement);
        html += fmt::format(
            "<li><strong>{}</strong> <span class=\"source\">{}</span><br>{} Measured: <span "
            "class=\"value\">{}</span>. <a href=\"{}#{}\">{}</a></li>\n",
            said, escaped(said != found ? document_of(errata[i].source) : errata[i].source), said == found ? "" : found,
            escaped(claim.measured), errata_page, erratum_anchor(i),
            errata[i].claims.size() == 1 ? "the counter-example"
                                         : fmt::format("all {} counter-examples", errata[i].claims.size()));
    }
    html += "</ol>\n";
    if (errata.size() > shown) html += fmt::format("<p><a href=\"{}\">All {}</a></p>\n", errata_page, errata.size());
    return html;
}

std::string errata_html(const std::vector<StoredResult>& results) {
    const std::vector<Erratum> errata = errata_of(results);
    if (errata.empty()) return std::string(nothing_wrong);
    std::string html;
    for (std::size_t i = 0; i < errata.size(); ++i) {
        html += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"source\">{}</p>\n<ul>\n", erratum_anchor(i),
                            statement_of(errata[i]), escaped(document_of(errata[i].source)));
        for (const Claim* claim : errata[i].claims) {
            html += fmt::format(
                "<li>{} {} Measured: <span class=\"value\">{}</span>. <span class=\"source\">{}</span></li>\n",
                verdict_html(claim->verdict), prose_html(claim->statement), escaped(claim->measured),
                link_to_claim(*claim));
        }
        html += "</ul>\n</section>\n";
    }
    return html;
}

}  // namespace ulp
