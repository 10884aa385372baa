
#include <charconv>

#include "experiments/cli/search_parts.hpp"

namespace ulp {
namespace {

double bits_of(const OperandRule& rule, const Recipe& recipe) {
    if (!rule.how) return recipe.product_types().input.storage_bits();
    const Quantization& how = *rule.how;
    const double shared = static_cast<double>(how.block.lines) * how.block.k;  // 0: too many to count
    return how.element.code_bits() + (shared == 0 ? 0 : how.scale.format.storage_bits() / shared);
}

RecipeCost cost_of(const Trials& trials, const Arithmetic& arithmetic) {
    const ProductRule& operands = arithmetic.recipe.products.fprop;
    return {std::max(bits_of(operands.a, arithmetic.recipe), bits_of(operands.b, arithmetic.recipe)),
            trials.bytes_of_step(arithmetic)};
}

/// The runs of an arm; that of the first seed is trained in step with the reference.
std::vector<Trial> runs_of(const Trials& trials, const Arithmetic& arithmetic, const Arithmetic* reference,
                           std::int64_t seeds) {
    std::vector<Trial> runs = trials.over_seeds({arithmetic}, seeds);
    if (reference != nullptr) runs.front().beside = *reference;
    return runs;
}

/// The first step from which on the mean loss lies outside the reference's band, widened by the margin; -1: it comes
/// back.
std::int64_t leaves_band(const RecipeStudy& study, const StudyArm& arm) {
    std::int64_t at = -1;
    for (std::size_t step = 0; step < arm.runs.front().losses.size(); ++step) {
        double low = INFINITY, high = -INFINITY, middle = 0;
        for (const TrialResult& run : study.arms.front().runs) {
            low = std::min(low, run.losses[step]);
            high = std::max(high, run.losses[step]);
        }
        for (const TrialResult& run : arm.runs) middle += run.losses[step] / static_cast<double>(arm.runs.size());
        const double room = study.margin * std::fabs(high);
        const bool inside = middle >= low - room && middle <= high + room;
        if (inside) at = -1;
        if (!inside && at < 0) at = static_cast<std::int64_t>(step);
    }
    return at;
}

/// The parameter that lies farthest from the reference at the first comparison after `step`.
std::string farthest_parameter(const StudyArm& arm, std::int64_t step) {
    const std::vector<WeightDistances>& distances = arm.runs.front().distances;
    const auto now = std::ranges::find_if(distances, [&](const WeightDistances& each) { return each.step > step; });
    if (now == distances.end()) return "";
    const auto farthest = std::ranges::max_element(now->parameters, {}, [](const auto& parameter) {
        return std::isnan(parameter.second) ? INFINITY : parameter.second;
    });
    return farthest == now->parameters.end() ? "" : farthest->first;
}

/// "mixed_fp16 with 2^12": the scale at the end of the first run, where the recipe has one.
std::string described(const StudyArm& arm) {
    const LossScaleOptions& scaling = arm.arithmetic.recipe.loss_scale;
    if (!scaling.dynamic && scaling.initial == 1) return arm.arithmetic.recipe.name;
    const double scale = arm.runs.front().scale;
    const int exponent = std::ilogb(scale);
    return std::ldexp(1.0, exponent) == scale ? fmt::format("{} with 2^{}", arm.arithmetic.recipe.name, exponent)
                                              : fmt::format("{} with {:g}", arm.arithmetic.recipe.name, scale);
}

std::string seeds_text(std::int64_t more) {
    return more > 0 ? fmt::format("{} more seed{}", more, more == 1 ? "" : "s") : "more seeds";
}

bool is_finite(const std::vector<double>& losses) {
    return std::ranges::all_of(losses, [](double loss) { return std::isfinite(loss); });
}

}  // namespace

Arithmetic arithmetic_of_text(const std::string& text, const NetOptions& options) {
    const std::size_t at = text.find('@');
    Recipe recipe = recipe_by_name(text.substr(0, at));
    if (recipe.weights == formats::fp64) {
        throw UsageError(fmt::format("recipe {} is for gradient checks; compare others with fp32", recipe.name));
    }
    if (at != std::string::npos) {
        const std::string scale = text.substr(at + 1);
        int exponent = 0;
        const char* const end = scale.data() + scale.size();
        const auto [stop, error] =
            std::from_chars(scale.data() + std::min<std::size_t>(2, scale.size()), end, exponent);
        if (!scale.starts_with("2^") || error != std::errc() || stop != end || exponent < -126 || exponent > 127) {
            throw UsageError(fmt::format("'{}' is no loss scale; write RECIPE@2^N with N from -126 to 127", scale));
        }
        recipe.loss_scale = constant_loss_scale(std::ldexp(1.0, exponent));
        require_scalable(recipe, text);
    }
    const std::string backend = backend_for(options, recipe);
    return {text, std::move(recipe), backend};
}

Arithmetic reference_arithmetic(const std::string& text, const NetOptions& options) {
    NetOptions own = options;
    const ProductTypes types = recipe_by_name(text.substr(0, text.find('@'))).product_types();
    if (!own.backend.empty() && !make_backend(own.backend)->has_product(types)) own.backend.clear();
    return arithmetic_of_text(text, own);
}

RecipeStudy study_recipes(Trials& trials, const Arithmetic& reference, const std::vector<Arithmetic>& others,
                          const StudyOptions& options, const std::function<void(const RecipeStudy&)>& told) {
    std::vector<StudyArm> candidates;
    for (const Arithmetic& each : others) candidates.push_back({each, cost_of(trials, each)});
    std::ranges::stable_sort(candidates, {}, &StudyArm::cost);
    RecipeStudy study{options.margin, {{reference, cost_of(trials, reference)}}};
    study.arms.front().runs = trials.results(runs_of(trials, reference, nullptr, options.seeds));
    told(study);
    if (!is_finite(losses_of(study.arms.front().runs))) return study;
    if (options.all) {  // side by side
        std::vector<Trial> runs;
        for (const StudyArm& each : candidates) {
            std::ranges::copy(runs_of(trials, each.arithmetic, &reference, options.seeds), std::back_inserter(runs));
        }
        (void)trials.results(runs);
    }
    for (StudyArm& each : candidates) {
        if (!options.all && sufficient_arm(study) != nullptr) break;
        each.runs = trials.results(runs_of(trials, each.arithmetic, &reference, options.seeds));
        study.arms.push_back(std::move(each));
        told(study);
    }
    return study;
}

Margin margin_of(const std::vector<double>& reference_losses, double share) {
    return {share * std::fabs(mean_of(reference_losses)), fmt::format("{:g} % of the reference's loss", 100 * share),
            Margin::Side::not_above};
}

ArmVerdict verdict_of(const RecipeStudy& study, const StudyArm& arm) {
    const std::vector<double> reference = losses_of(study.arms.front().runs);
    const std::vector<double> losses = losses_of(arm.runs);
    const Margin margin = margin_of(reference, study.margin);
    ArmVerdict verdict{as_good(losses, reference, margin, {"loss"}).outcome};
    verdict.loss = mean_of(losses);
    verdict.difference = paired_difference(losses, reference);
    if (&arm == &study.arms.front()) {
        verdict.outcome = Outcome::holds;
        return verdict;
    }
    if (verdict.outcome == Outcome::undecided && verdict.difference.seeds > 1) {
        verdict.more_seeds =
            std::max<std::int64_t>(0, seeds_needed(verdict.difference, margin) - verdict.difference.seeds);
    }
    verdict.leaves_band_at = leaves_band(study, arm);
    if (verdict.leaves_band_at >= 0) verdict.layer = farthest_parameter(arm, verdict.leaves_band_at);
    return verdict;
}

const StudyArm* sufficient_arm(const RecipeStudy& study) {
    for (std::size_t arm = 1; arm < study.arms.size(); ++arm) {
        if (verdict_of(study, study.arms[arm]).outcome == Outcome::holds) return &study.arms[arm];
    }
    return nullptr;
}

std::string verdict_sentence(const RecipeStudy& study) {
    const StudyArm& reference = study.arms.front();
    if (!is_finite(losses_of(reference.runs))) {
        return fmt::format(
            "nothing found: {} itself ends with a loss that is infinite or NaN, so there is nothing to compare with; "
            "try a smaller --learning-rate",
            reference.arithmetic.name);
    }
    const StudyArm* found = sufficient_arm(study);
    const std::string limit =
        fmt::format("at most {:g} % above {}'s ({} paired seed{}, 95 %)", 100 * study.margin, reference.arithmetic.name,
                    reference.runs.size(), reference.runs.size() == 1 ? "" : "s");
    std::string sentence =
        found != nullptr
            ? fmt::format("{} suffices: it is the cheapest whose loss is {}", described(*found), limit)
            : fmt::format("nothing found: no loss is shown to be {}; keep {}", limit, described(reference));
    std::string worse, open;
    for (std::size_t arm = 1; arm < study.arms.size() && &study.arms[arm] != found; ++arm) {
        const ArmVerdict verdict = verdict_of(study, study.arms[arm]);
        std::string& list = verdict.outcome == Outcome::refuted ? worse : open;
        list += (list.empty() ? "" : ", ") + described(study.arms[arm]);
        if (verdict.outcome == Outcome::undecided) list += fmt::format(" ({})", seeds_text(verdict.more_seeds));
    }
    const char* cheaper = found != nullptr ? "cheaper, but " : "";
    if (!open.empty()) sentence += fmt::format("; {}undecided: {}", cheaper, open);
    if (!worse.empty()) sentence += fmt::format("; {}too high: {}", cheaper, worse);
    return sentence;
}

std::string loss_text(double loss) { return std::isfinite(loss) ? fmt::format("{:.4g}", loss) : "not finite"; }

std::string outcome_text(const ArmVerdict& verdict) {
    if (verdict.outcome == Outcome::holds) return "suffices";
    return verdict.outcome == Outcome::refuted ? "too high" : "undecided: " + seeds_text(verdict.more_seeds);
}

std::int64_t skips_of(const StudyArm& arm) {
    std::int64_t skips = 0;
    for (const TrialResult& run : arm.runs) skips += run.skipped;
    return skips;
}

}  // namespace ulp
