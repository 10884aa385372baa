// `ulplab search format`: recipes from the cheapest on, until one's loss is as good as fp32's.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <tuple>

#include "experiments/cli/search_parts.hpp"
#include "experiments/training/parity.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct FormatOptions : SearchOptions {
    std::vector<std::string> recipes;
    bool all = false;
};

/// What a recipe costs: bits of an operand of the forward products with their share of a scale, then stored bytes.
struct RecipeCost {
    double operand_bits;
    std::int64_t bytes;
};

double bits_of(const OperandRule& rule, const Recipe& recipe) {
    if (!rule.how) return recipe.product_types().input.storage_bits();
    const Quantization& how = *rule.how;
    const double shared = static_cast<double>(how.block.lines) * how.block.k;  // 0: too many to count
    return how.element.code_bits() + (shared == 0 ? 0 : how.scale.format.storage_bits() / shared);
}

struct Candidate {
    Recipe recipe;
    std::string backend;
    RecipeCost cost;
};

std::vector<Recipe> candidate_recipes(const FormatOptions& options) {
    std::vector<Recipe> recipes_to_try;
    if (options.recipes.empty()) {
        for (const Recipe& recipe : recipes()) {
            const bool trains = recipe.weights != formats::fp64 && recipe.name != "fp32";
            const bool is_second_name = recipe.what.find("under another name") != std::string::npos;
            if (trains && !is_second_name) recipes_to_try.push_back(recipe);
        }
    }
    for (const std::string& name : options.recipes) {
        NetOptions own = options;
        own.recipe = name;
        recipes_to_try.push_back(recipe_of(own));
    }
    return recipes_to_try;
}

std::vector<Candidate> candidates_of(const FormatOptions& options, const Trials& trials) {
    std::vector<Candidate> candidates;
    for (const Recipe& recipe : candidate_recipes(options)) {
        const std::string backend = backend_for(options, recipe);
        const double bits =
            std::max(bits_of(recipe.products.fprop.a, recipe), bits_of(recipe.products.fprop.b, recipe));
        candidates.push_back({recipe, backend, {bits, trials.bytes_of_step(recipe, backend)}});
    }
    std::ranges::stable_sort(candidates, {}, [](const Candidate& candidate) {
        return std::tuple(candidate.cost.operand_bits, candidate.cost.bytes);
    });
    return candidates;
}

const char* word_of(Outcome outcome) {
    return outcome == Outcome::holds ? "as good" : outcome == Outcome::undecided ? "undecided" : "worse";
}

struct JudgedRecipe {
    std::string name;
    Check check;
    std::int64_t more_seeds;  // of an undecided one; 0: unknown
};

JudgedRecipe judged(Trials& trials, const FormatOptions& options, const Candidate& candidate,
                    const SearchReference& reference) {
    const Trial trial{candidate.recipe.name, candidate.recipe, candidate.backend};
    const std::vector<double> losses = losses_of(trials.results(trials.over_seeds(trial, options.seeds)));
    const Margin margin{options.margin, "--margin", Margin::Side::not_above};
    const PairedDifference difference = paired_difference(losses, reference.losses);
    JudgedRecipe found{candidate.recipe.name, as_good(losses, reference.losses, margin, {"loss", "", 1, 4}), 0};
    if (found.check.outcome == Outcome::undecided && difference.seeds > 1) {
        found.more_seeds = std::max<std::int64_t>(0, seeds_needed(difference, margin) - options.seeds);
    }
    fmt::print("  {:<22} {:>6.2f} {:>12}  {:<10} loss - fp32 {}", found.name, candidate.cost.operand_bits,
               candidate.cost.bytes, word_of(found.check.outcome), difference_text(difference.mean));
    if (difference.seeds > 1 && std::isfinite(difference.mean)) {
        fmt::print(", 95 % between {:+.4f} and {:+.4f}", difference.low, difference.high);
    }
    fmt::print("\n");
    std::fflush(stdout);
    return found;
}

std::string undecided_text(std::span<const JudgedRecipe> tried) {
    std::string text;
    for (const JudgedRecipe& recipe : tried) {
        if (recipe.check.outcome != Outcome::undecided) continue;
        text += fmt::format("{}{}", text.empty() ? "" : ", ", recipe.name);
        text += recipe.more_seeds > 0 ? fmt::format(" ({} more seeds)", recipe.more_seeds) : " (more seeds)";
    }
    return text;
}

ExitCode search_format(const FormatOptions& options) {
    Trials trials = trials_of(options, net_of(options.net));
    const std::vector<Candidate> candidates = candidates_of(options, trials);
    const auto reference = reference_of(trials, options, false);
    if (!reference) return ExitCode::claim_failed;
    fmt::print("  {:<22} {:>6} {:>12}\n", "recipe", "bits", "bytes");
    std::vector<JudgedRecipe> tried;
    tried.reserve(candidates.size());  // `found` points into it
    const JudgedRecipe* found = nullptr;
    for (const Candidate& candidate : candidates) {
        if (found != nullptr && !options.all) break;
        tried.push_back(judged(trials, options, candidate, *reference));
        if (found == nullptr && tried.back().check.outcome == Outcome::holds) found = &tried.back();
    }
    const std::string undecided = undecided_text(
        std::span(tried).first(found == nullptr ? tried.size() : static_cast<std::size_t>(found - tried.data())));
    if (found != nullptr) {
        fmt::print("{} suffices: it is the cheapest whose loss is within {} of fp32's ({} paired seeds, 95 %).\n",
                   found->name, options.margin, options.seeds);
        if (!undecided.empty()) fmt::print("Cheaper but undecided: {}.\n", undecided);
        return ExitCode::good;
    }
    if (!undecided.empty()) {
        fmt::print("Undecided: {}. No recipe is shown to be within {} of fp32's loss; raise --seeds.\n", undecided,
                   options.margin);
    } else {
        fmt::print("Nothing found: none of {} recipes keeps the loss within {} of fp32's.\n", tried.size(),
                   options.margin);
    }
    return ExitCode::claim_failed;
}

}  // namespace

Action declare_search_format(OptionParser& app) {
    const auto options = std::make_shared<FormatOptions>();
    declare_search(app, *options);
    options->seeds = 5;
    app.add_option("--recipes", options->recipes,
                   "recipes to try, several, or with commas; default all of the list below")
        .repeated()
        .delimiter(',');
    app.add_flag("--all", options->all, "try the dearer ones, too, once one suffices");
    return [options] { return search_format(*options); };
}

}  // namespace ulp
