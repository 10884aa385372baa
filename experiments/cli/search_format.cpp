// `ulplab search format`: recipes from the cheapest on, until one's loss is as good as the reference's.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "experiments/cli/search_parts.hpp"
#include "experiments/framework/files.hpp"

namespace ulp {
namespace {

struct FormatOptions : SearchOptions {
    std::vector<std::string> recipes;
    std::string against = "fp32";
    std::string page;
    bool all = false;
    bool json = false;
};

std::vector<Arithmetic> candidates_of(const FormatOptions& options) {
    std::vector<std::string> names = options.recipes;
    if (names.empty()) {
        for (const Recipe& recipe : recipes()) {
            if (recipe.weights != formats::fp64 && recipe.name != "fp32") {
                names.push_back(recipe.name);
            }
        }
    }
    std::vector<Arithmetic> candidates;
    for (const std::string& name : names) {
        if (name != options.against) candidates.push_back(arithmetic_of_text(name, options));
    }
    if (!candidates.empty()) return candidates;
    throw UsageError(
        fmt::format("--recipe names {} alone, which is the reference; name one more at least", options.against));
}

/// The last arm of the study.
void print_arm(const RecipeStudy& study) {
    const StudyArm& arm = study.arms.back();
    const ArmVerdict verdict = verdict_of(study, arm);
    if (study.arms.size() == 1) {
        fmt::print("{}: loss {}, mean of {} seed{}\n", arm.arithmetic.name, loss_text(verdict.loss), arm.runs.size(),
                   arm.runs.size() == 1 ? "" : "s");
        if (std::isfinite(verdict.loss)) fmt::print("  {:<22} {:>6} {:>12}\n", "recipe", "bits", "bytes");
        return;
    }
    const PairedDifference& difference = verdict.difference;
    fmt::print("  {:<22} {:>6.2f} {:>12}  {:<23} loss {}", arm.arithmetic.name, arm.cost.operand_bits, arm.cost.bytes,
               outcome_text(verdict), loss_text(verdict.loss));
    if (std::isfinite(difference.mean)) {
        fmt::print(", {:+.3g} against {}", difference.mean, study.arms.front().arithmetic.name);
        if (difference.seeds > 1) fmt::print(" (95 % interval {:+.3g} to {:+.3g})", difference.low, difference.high);
    }
    if (const std::int64_t skips = skips_of(arm); skips > 0) fmt::print("; {} steps skipped", skips);
    if (verdict.leaves_band_at >= 0) {
        fmt::print("; leaves the band at step {}{}", verdict.leaves_band_at,
                   verdict.layer.empty() ? "" : ", most in " + verdict.layer);
    }
    fmt::print("\n");
    std::fflush(stdout);
}

using Json = nlohmann::ordered_json;

/// JSON has no infinity and no NaN.
Json number_or_null(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json json_of(const RecipeStudy& study, const StudyArm& arm) {
    const ArmVerdict verdict = verdict_of(study, arm);
    Json losses = Json::array(), scores = Json::array(), parts = Json::array();
    for (const TrialResult& run : arm.runs) {
        Json curve = Json::array();
        for (const double loss : run.losses) curve.push_back(number_or_null(loss));
        losses.push_back(curve);
        scores.push_back(number_or_null(run.loss));
    }
    for (const WeightDistances& each : arm.runs.front().distances) {
        Json distances = Json::object();
        for (const auto& [name, distance] : each.parameters) distances[name] = number_or_null(distance);
        parts.push_back({{"step", each.step}, {"distance", distances}});
    }
    return {{"recipe", arm.arithmetic.name},
            {"unit", arm.arithmetic.backend},
            {"operand_bits", arm.cost.operand_bits},
            {"bytes", arm.cost.bytes},
            {"verdict", &arm == &study.arms.front() ? "reference" : outcome_text(verdict)},
            {"scores", scores},
            {"leaves_band_at", verdict.leaves_band_at},
            {"losses", losses},
            {"divergence", parts}};
}

void print_json(const RecipeStudy& study) {
    Json arms = Json::array();
    for (const StudyArm& arm : study.arms) arms.push_back(json_of(study, arm));
    const Json json = {{"verdict", verdict_sentence(study)}, {"margin", study.margin}, {"recipes", arms}};
    fmt::print("{}\n", json.dump(2));
}

ExitCode search_format(const FormatOptions& options) {
    const NetDescription net = net_of(options.net);
    const std::vector<Arithmetic> candidates = candidates_of(options);
    const Arithmetic reference = reference_arithmetic(options.against, options);
    Trials trials = trials_of(options, net);
    const auto told = [&](const RecipeStudy& study) {
        if (!options.json) print_arm(study);
    };
    const RecipeStudy study =
        study_recipes(trials, reference, candidates, {options.seeds, options.margin, options.all}, told);
    if (options.json) {
        print_json(study);
    } else {
        std::string sentence = verdict_sentence(study);
        if (sentence.starts_with("nothing")) sentence.front() = 'N';
        fmt::print("{}.\n", sentence);
    }
    if (!options.page.empty()) {
        write_output(options.page, recipe_page(study, net.name));
        fmt::print(stderr, "Page: {}\n", options.page);
    }
    return sufficient_arm(study) != nullptr ? ExitCode::good : ExitCode::claim_failed;
}

}  // namespace

Action declare_search_format(OptionParser& app) {
    const auto options = std::make_shared<FormatOptions>();
    declare_search(app, *options);
    app.add_option("--recipe", options->recipes,
                   "recipes to try, several, or with commas; RECIPE@2^N has that constant loss scale; default all of "
                   "the list below")
        .repeated()
        .delimiter(',');
    app.add_option("--against", options->against, "recipe that the others are compared with").capture_default_str();
    app.add_flag("--all", options->all, "try the dearer ones, too, once one suffices");
    app.add_option("--page", options->page, "file for one HTML page with curves, bands and verdicts");
    app.add_flag("--json", options->json, "print JSON: losses of all steps and the distances of weights, too");
    return [options] { return search_format(*options); };
}

}  // namespace ulp
