// ulplab recipes: the recipes, and one net trained in several of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "experiments/cli/command.hpp"
#include "experiments/cli/recipe_page.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct CompareOptions : NetOptions {
    std::vector<std::string> recipes{"fp32", "mixed_fp16", "bf16", "fp8"};
    std::string page;
    std::string output = "console";
    double margin = 0.02;
    std::int64_t seeds = 3;
};

void require_comparable(const CompareOptions& options) {
    require_sensible(options);
    if (options.recipes.size() < 2) {
        throw UsageError(fmt::format("--recipes names {}; name the reference and one more at least",
                                     fmt::join(options.recipes, ", ")));
    }
    if (options.seeds < 1) throw UsageError(fmt::format("--seeds is {}; give at least 1", options.seeds));
    if (!(options.margin > 0) || !(options.margin < 1)) {
        throw UsageError(
            fmt::format("--margin is {}; give a share of the loss between 0 and 1, as 0.02", options.margin));
    }
}

RecipeStudyOptions study_options(const CompareOptions& options) {
    RecipeStudyOptions study{.training = options, .seeds = options.seeds, .margin = options.margin};
    for (const std::string& recipe : options.recipes) study.arithmetics.push_back(arithmetic_of_text(recipe, options));
    return study;
}

nlohmann::ordered_json json_of(const RecipeStudy& study, const std::vector<ArmVerdict>& judged) {
    using Json = nlohmann::ordered_json;
    const auto number = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
    Json arms = Json::array();
    for (std::size_t arm = 0; arm < judged.size(); ++arm) {
        Json losses = Json::array(), scores = Json::array(), parts = Json::array();
        for (const Learned& run : study.comparison.runs[arm]) {
            Json curve = Json::array();
            for (const double loss : run.losses) curve.push_back(number(loss));
            losses.push_back(curve);
            scores.push_back(number(run.scores.at(0)));
        }
        for (const Divergence& each : study.divergence) {
            Json distances = Json::object();
            for (std::size_t p = 0; p < study.parameters.size(); ++p) {
                distances[study.parameters[p]] = number(each.parameters[arm][p]);
            }
            parts.push_back({{"step", each.step}, {"distance", distances}});
        }
        arms.push_back({{"recipe", study.options.arithmetics[arm].name},
                        {"backend", study.options.arithmetics[arm].backend},
                        {"verdict", arm == 0 ? "reference" : outcome_text(judged[arm])},
                        {"scores", scores},
                        {"leaves_band_at", judged[arm].leaves_band_at},
                        {"losses", losses},
                        {"divergence", parts}});
    }
    return {{"verdict", verdict_sentence(study, judged)}, {"margin", study.options.margin}, {"recipes", arms}};
}

void print_study(const RecipeStudy& study, const std::vector<ArmVerdict>& judged) {
    for (std::size_t arm = 0; arm < judged.size(); ++arm) {
        const ArmVerdict& verdict = judged[arm];
        const PairedDifference& difference = verdict.difference;
        std::string beside;
        if (arm > 0 && std::isfinite(difference.mean)) {
            beside = fmt::format(", {:+.3g} beside the reference", difference.mean);
            if (difference.seeds > 1) {
                beside += fmt::format(" (95 % interval {:+.3g} to {:+.3g})", difference.low, difference.high);
            }
        }
        fmt::print("{:<22} loss {}{}\n", study.options.arithmetics[arm].name, loss_text(verdict.loss), beside);
        if (arm == 0) continue;
        std::int64_t skips = 0;
        for (const Learned& run : study.comparison.runs[arm]) skips += run.skips();
        fmt::print("{:<22} {}{}{}\n", "", outcome_text(verdict),
                   skips > 0 ? fmt::format("; {} steps skipped", skips) : "",
                   verdict.leaves_band_at < 0
                       ? ""
                       : fmt::format("; leaves the reference's band at step {}{}", verdict.leaves_band_at,
                                     verdict.layer.empty() ? "" : ", most in " + verdict.layer));
    }
    fmt::print("Verdict: {}.\n", verdict_sentence(study, judged));
}

ExitCode compare_recipes(const CompareOptions& options) {
    require_comparable(options);
    const NetDescription net = net_of(options.net);
    const RecipeStudy study = study_recipes(net, study_options(options), [](double) {});
    const std::vector<ArmVerdict> judged = verdicts_of(study);
    if (options.output == "json") {
        fmt::print("{}\n", json_of(study, judged).dump(2));
    } else {
        print_study(study, judged);
    }
    if (!options.page.empty()) {
        write_file(options.page, recipe_page(study, judged, net.name));
        fmt::print(stderr, "Page: {}\n", options.page);
    }
    return ExitCode::good;
}

Action declare_recipe_comparison(OptionParser& app) {
    const auto o = std::make_shared<CompareOptions>();
    app.add_option("--recipes", o->recipes,
                   "recipes with commas between, the reference first; RECIPE@2^N has that constant loss scale")
        .delimiter(',')
        .capture_default_str();
    app.add_option("--seeds", o->seeds, "number of runs per recipe, with paired seeds").capture_default_str();
    app.add_option("--margin", o->margin, "share of the reference's loss by which a recipe's may lie above it")
        .capture_default_str();
    declare_net(app, *o);
    declare_backend(app, *o);
    app.add_option("--page", o->page, "file for one HTML page with curves, bands and verdicts");
    app.add_option("--output", o->output, "form of the output: console or json")
        .one_of({"console", "json"})
        .capture_default_str();
    app.footer(recipe_lines());
    return [o] { return compare_recipes(*o); };
}

constexpr Command kinds[] = {{"compare", "train a net in several recipes: which suffices", declare_recipe_comparison}};

Action declare_recipes(OptionParser& app) { return declare_subcommands(app, kinds); }

}  // namespace

Command recipes_command() {
    return {"recipes", "one net in several recipes: which is the cheapest that suffices", declare_recipes};
}

}  // namespace ulp
