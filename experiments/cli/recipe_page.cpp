#include "experiments/cli/recipe_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/framework/charts.hpp"
#include "experiments/framework/html.hpp"
#include "experiments/framework/single_page.hpp"

namespace ulp {
namespace {

constexpr std::size_t points = 120;  // of a curve at most: each is the mean of so many steps

/// Means over equal windows of steps; of the seeds, the least, the middle and the largest. With a reference: of the
/// differences from its losses with the same seed, since curves that coincide would hide each other.
ChartLine loss_line(const std::string& name, const std::vector<Learned>& runs,
                    const std::vector<Learned>* reference = nullptr) {
    ChartLine line{name};
    const std::size_t steps = runs.front().losses.size();
    const std::size_t window = (steps + points - 1) / points;
    for (std::size_t first = 0; first + window <= steps; first += window) {
        std::vector<double> means;
        for (std::size_t seed = 0; seed < runs.size(); ++seed) {
            double sum = 0;
            for (std::size_t s = first; s < first + window; ++s) {
                sum += runs[seed].losses[s] - (reference != nullptr ? (*reference)[seed].losses[s] : 0);
            }
            means.push_back(sum / static_cast<double>(window));
        }
        const Spread spread = spread_of(means);
        line.x.push_back(static_cast<double>(first) + static_cast<double>(window) / 2);
        line.low.push_back(spread.least);
        line.middle.push_back(spread.middle);
        line.high.push_back(spread.largest);
    }
    return line;
}

/// The largest relative distance of any parameter.
ChartLine distance_line(const RecipeStudy& study, std::size_t arm) {
    ChartLine line{study.options.arithmetics[arm].name};
    for (const Divergence& each : study.divergence) {
        line.x.push_back(static_cast<double>(each.step));
        const double largest = *std::ranges::max_element(each.parameters[arm]);
        for (auto* values : {&line.low, &line.middle, &line.high}) values->push_back(largest);
    }
    return line;
}

std::string divergence_table(const RecipeStudy& study, std::size_t arm) {
    std::vector<std::vector<std::string>> rows = {{"parameter"}};
    for (const Divergence& each : study.divergence) rows[0].push_back(fmt::format("step {}", each.step));
    for (std::size_t p = 0; p < study.parameters.size(); ++p) {
        rows.push_back({study.parameters[p]});
        for (const Divergence& each : study.divergence)
            rows.back().push_back(fmt::format("{:.2g}", each.parameters[arm][p]));
    }
    return table_html(rows);
}

}  // namespace

std::string outcome_text(const ArmVerdict& verdict) {
    if (verdict.outcome == Outcome::holds) return "suffices";
    if (verdict.outcome == Outcome::refuted) return "too high";
    return verdict.more_seeds > 0
               ? fmt::format("undecided: {} more seed{}", verdict.more_seeds, verdict.more_seeds == 1 ? "" : "s")
               : "undecided: more seeds";
}

std::string recipe_page(const RecipeStudy& study, const std::vector<ArmVerdict>& judged, const std::string& net) {
    std::string body =
        fmt::format("<p class=\"lead\"><strong>Verdict: {}.</strong></p>\n", escaped(verdict_sentence(study, judged)));
    body += fmt::format(
        "<p>{} steps, {} seeds; the reference is {}. A recipe suffices if its loss is at most {:g} % above the "
        "reference's, with the same seeds.</p>\n",
        study.options.training.steps, study.options.seeds, escaped(study.options.arithmetics.front().name),
        100 * study.options.margin);
    std::vector<ChartLine> losses, differences, distances;
    std::vector<std::vector<std::string>> rows = {{"recipe", "verdict", "loss", "minus reference", "95 % interval",
                                                   "steps skipped", "leaves the band at step",
                                                   "farthest parameter there"}};
    for (std::size_t arm = 0; arm < judged.size(); ++arm) {
        const std::string& name = study.options.arithmetics[arm].name;
        losses.push_back(loss_line(name, study.comparison.runs[arm]));
        losses.back().colour = arm;
        if (arm > 0) {
            differences.push_back(loss_line(name, study.comparison.runs[arm], &study.comparison.runs.front()));
            differences.back().colour = arm;
            distances.push_back(distance_line(study, arm));
            distances.back().colour = arm;
        }
        std::int64_t skips = 0;
        for (const Learned& run : study.comparison.runs[arm]) skips += run.skips();
        const ArmVerdict& verdict = judged[arm];
        const PairedDifference& difference = verdict.difference;
        const bool finite = std::isfinite(difference.mean) && arm > 0;
        rows.push_back(
            {name, arm == 0 ? "reference" : outcome_text(verdict), loss_text(verdict.loss),
             finite ? fmt::format("{:+.3g}", difference.mean) : "-",
             finite && difference.seeds > 1 ? fmt::format("{:+.3g} to {:+.3g}", difference.low, difference.high) : "-",
             fmt::format("{}", skips), verdict.leaves_band_at < 0 ? "-" : fmt::format("{}", verdict.leaves_band_at),
             verdict.layer.empty() ? "-" : verdict.layer});
    }
    body += line_chart(losses, {"Loss: median of the seeds, band from least to largest", "step", "", false});
    body += line_chart(differences,
                       {"Loss minus the reference's with the same seed: median, least and largest", "step", "", false});
    body += table_html(rows);
    body +=
        "<h2>Where the runs part</h2>\n<p>Distance of weights from the reference's with the same seed, |w - w_ref| / "
        "|w_ref|, after each step.</p>\n";
    body += line_chart(distances, {"Largest relative distance of a parameter", "step", "", true});
    for (std::size_t arm = 1; arm < judged.size(); ++arm) {
        body += fmt::format(
            "<details class=\"tensor\"><summary><strong>{}</strong>, by parameter</summary>\n{}</details>\n",
            escaped(study.options.arithmetics[arm].name), divergence_table(study, arm));
    }
    return single_page("ulplab recipes compare", "Recipes on the net " + net, body);
}

}  // namespace ulp
