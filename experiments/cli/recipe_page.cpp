

#include "experiments/cli/search_parts.hpp"
#include "experiments/framework/figure.hpp"
#include "experiments/framework/html.hpp"

namespace ulp {
namespace {

constexpr std::size_t points = 120;  // of a curve at most: each is the mean of that many steps

/// Means over equal windows of steps; of the seeds, the least, the middle and the largest. With a reference: of the
/// differences from its losses with the same seed, since curves that coincide would hide each other.
ChartLine loss_line(const std::string& name, const std::vector<TrialResult>& runs,
                    const std::vector<TrialResult>* reference = nullptr) {
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
ChartLine distance_line(const StudyArm& arm) {
    ChartLine line{arm.arithmetic.name};
    for (const WeightDistances& each : arm.runs.front().distances) {
        line.x.push_back(static_cast<double>(each.step));
        double largest = 0;
        for (const auto& [name, distance] : each.parameters) largest = std::max(largest, distance);
        for (auto* values : {&line.low, &line.middle, &line.high}) values->push_back(largest);
    }
    return line;
}

std::string divergence_table(const StudyArm& arm) {
    const std::vector<WeightDistances>& distances = arm.runs.front().distances;
    std::vector<std::vector<std::string>> rows = {{"parameter"}};
    for (const WeightDistances& each : distances) rows[0].push_back(fmt::format("step {}", each.step));
    for (std::size_t p = 0; !distances.empty() && p < distances.front().parameters.size(); ++p) {
        rows.push_back({distances.front().parameters[p].first});
        for (const WeightDistances& each : distances) {
            rows.back().push_back(fmt::format("{:.2g}", each.parameters[p].second));
        }
    }
    return table_html(rows);
}

std::vector<std::string> row_of(const RecipeStudy& study, const StudyArm& arm) {
    const ArmVerdict verdict = verdict_of(study, arm);
    const PairedDifference& difference = verdict.difference;
    const bool is_reference = &arm == &study.arms.front();
    const bool finite = std::isfinite(difference.mean) && !is_reference;
    return {arm.arithmetic.name,
            is_reference ? "reference" : outcome_text(verdict),
            loss_text(verdict.loss),
            finite ? fmt::format("{:+.3g}", difference.mean) : "-",
            finite && difference.seeds > 1 ? fmt::format("{:+.3g} to {:+.3g}", difference.low, difference.high) : "-",
            fmt::format("{}", skips_of(arm)),
            verdict.leaves_band_at < 0 ? "-" : fmt::format("{}", verdict.leaves_band_at),
            verdict.layer.empty() ? "-" : verdict.layer};
}

}  // namespace

std::string recipe_page(const RecipeStudy& study, const std::string& net) {
    const StudyArm& reference = study.arms.front();
    std::string body =
        fmt::format("<p class=\"lead\"><strong>Verdict: {}.</strong></p>\n", prose_html(verdict_sentence(study)));
    body += fmt::format(
        "<p>{} steps, {} seeds; the reference is {}. A recipe suffices if its loss is at most {:g} % above the "
        "reference's, with the same seeds.</p>\n",
        reference.runs.front().losses.size(), reference.runs.size(), escaped(reference.arithmetic.name),
        100 * study.margin);
    std::vector<ChartLine> losses, differences, distances;
    std::vector<std::string> names;
    for (const StudyArm& each : study.arms) names.push_back(each.arithmetic.name);
    const std::vector<int> colours = colours_of(names);
    std::vector<std::vector<std::string>> rows = {{"recipe", "verdict", "loss", "minus reference", "95 % interval",
                                                   "steps skipped", "leaves the band at step",
                                                   "farthest parameter there"}};
    for (std::size_t arm = 0; arm < study.arms.size(); ++arm) {
        const StudyArm& each = study.arms[arm];
        losses.push_back(loss_line(each.arithmetic.name, each.runs));
        losses.back().colour = colours[arm];
        rows.push_back(row_of(study, each));
        if (arm == 0) continue;
        differences.push_back(loss_line(each.arithmetic.name, each.runs, &reference.runs));
        differences.back().colour = colours[arm];
        distances.push_back(distance_line(each));
        distances.back().colour = colours[arm];
    }
    body += line_chart(losses, {"Loss: median of the seeds; band: minimum to maximum", "step", "", false});
    body += line_chart(
        differences, {"Loss minus the reference's with the same seed: median, minimum and maximum", "step", "", false});
    body += table_html(rows);
    body +=
        "<h2>Where the runs part</h2>\n<p>Distance of weights from the reference's with the same seed, |w - w_ref| / "
        "|w_ref|, after each step.</p>\n";
    body += line_chart(distances, {"Largest relative distance of a parameter", "step", "", true});
    for (std::size_t arm = 1; arm < study.arms.size(); ++arm) {
        body += fmt::format(
            "<details class=\"tensor\"><summary><strong>{}</strong>, by parameter</summary>\n{}</details>\n",
            escaped(study.arms[arm].arithmetic.name), divergence_table(study.arms[arm]));
    }
    return single_page("ulplab search format", "Recipes on the net " + net, body);
}

}  // namespace ulp
