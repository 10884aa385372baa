#include "experiments/cli/recipe_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "engine/training/weights.hpp"
#include "experiments/framework/side_by_side.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

constexpr std::int64_t scored_batches = 8;  // the last ones: their loss is the score

/// Steps after which runs are compared: 1, 2, 4 ... and the last.
bool is_compared(std::int64_t done, std::int64_t steps) { return done == steps || (done & (done - 1)) == 0; }

double relative_distance(const Tensor& weights, const Tensor& reference) {
    double squares = 0;
    double size = 0;
    for (Index i = 0; i < weights.size(); ++i) {
        const double difference = static_cast<double>(weights[i]) - static_cast<double>(reference[i]);
        squares += difference * difference;
        size += static_cast<double>(reference[i]) * static_cast<double>(reference[i]);
    }
    return size > 0 ? std::sqrt(squares / size) : squares > 0 ? INFINITY : 0;
}

/// A net under one arithmetic, with what is needed to judge it.
class Arm {
  public:
    Arm(const NetDescription& net, const NetOptions& options, const Arithmetic& arithmetic, std::uint64_t seed)
        : options_(options),
          run_(Training{.arithmetic = arithmetic,
                        .task = [&](Model& model, std::uint64_t) { return built(net, model, seed); },
                        .optimizer = optimizer_of(options),
                        .steps = options.steps},
               seed) {
        if (!options.weights.empty()) (void)load_weights(options.weights, trainer().model());
    }

    void step() { run_.step(); }
    [[nodiscard]] Trainer& trainer() { return run_.trainer(); }
    /// The score is the loss of the last batches with the weights as they are, in fp32, so that a recipe's rounding of
    /// the loss does not judge it.
    Learned learned() {
        Learned learned = run_.measured();
        const std::int64_t first = std::max<std::int64_t>(0, options_.steps - scored_batches);
        double sum = 0;
        for (std::int64_t step = first; step < options_.steps; ++step) {
            Evaluation evaluation = trainer().evaluation({.fp32 = true});
            Tape tape(evaluation);
            sum += static_cast<double>(loss_(tape, step).value()[0]);
        }
        learned.scores = {sum / static_cast<double>(options_.steps - first)};
        return learned;
    }

  private:
    Task built(const NetDescription& net, Model& model, std::uint64_t seed) {
        model.initialise_by(Initialisation(options_.init));
        const auto task = std::make_shared<const NetTask>(task_of(net, options_, seed));
        const auto layers = std::make_shared<const Net>(model, net.layers, net.input.shape, net.outputs);
        loss_ = [=](Tape& tape, std::int64_t step) { return task->loss(tape, *layers, step); };
        return Task{.loss = loss_, .after_step = [=](Trainer& trainer, const StepResult& done) {
                        follow_step(trainer, *task, *layers, done);
                    }};
    }

    const NetOptions& options_;
    std::function<Var(Tape&, std::int64_t)> loss_;
    TrainingRun run_;
};

/// All arms of the first seed, in step, so that their weights can be compared on the way.
void run_in_step(const NetDescription& net, RecipeStudy& study) {
    const NetOptions& options = study.options.training;
    std::vector<std::unique_ptr<Arm>> arms;
    for (const Arithmetic& each : study.options.arithmetics) {
        arms.push_back(std::make_unique<Arm>(net, options, each, options.seed));
    }
    for (const auto& parameter : arms.front()->trainer().model().parameters()) {
        study.parameters.push_back(parameter.name);
    }
    for (std::int64_t done = 1; done <= options.steps; ++done) {
        for (const auto& arm : arms) arm->step();
        if (!is_compared(done, options.steps)) continue;
        const auto& reference = arms.front()->trainer().model().parameters();
        Divergence now{done, {}};
        for (const auto& arm : arms) {
            std::vector<double> distances;
            const auto& parameters = arm->trainer().model().parameters();
            for (std::size_t p = 0; p < parameters.size(); ++p) {
                distances.push_back(relative_distance(parameters[p].updated(), reference[p].updated()));
            }
            now.parameters.push_back(std::move(distances));
        }
        study.divergence.push_back(std::move(now));
    }
    for (std::size_t a = 0; a < arms.size(); ++a) study.comparison.runs[a][0] = arms[a]->learned();
}

/// The first step from which on a loss lies outside the reference's band, widened by the margin; -1: it comes back.
std::int64_t leaves_band(const RecipeStudy& study, std::size_t arm) {
    const auto& runs = study.comparison.runs;
    std::int64_t at = -1;
    for (std::int64_t step = 0; step < study.options.training.steps; ++step) {
        const auto s = static_cast<std::size_t>(step);
        double low = INFINITY, high = -INFINITY;
        for (const Learned& run : runs[0]) {
            low = std::min(low, run.losses[s]);
            high = std::max(high, run.losses[s]);
        }
        const double room = study.options.margin * std::fabs(high);
        double middle = 0;
        for (const Learned& run : runs[arm]) middle += run.losses[s] / static_cast<double>(runs[arm].size());
        const bool inside = middle >= low - room && middle <= high + room;
        if (inside) at = -1;
        if (!inside && at < 0) at = step;
    }
    return at;
}

/// The parameter that lies farthest from the reference at the first comparison after `step`.
std::string farthest_parameter(const RecipeStudy& study, std::size_t arm, std::int64_t step) {
    const auto now = std::ranges::find_if(study.divergence, [&](const Divergence& each) { return each.step > step; });
    if (now == study.divergence.end()) return "";
    const std::vector<double>& distances = now->parameters[arm];
    const auto farthest =
        std::ranges::max_element(distances, {}, [](double x) { return std::isnan(x) ? INFINITY : x; });
    return farthest == distances.end() ? "" : study.parameters[static_cast<std::size_t>(farthest - distances.begin())];
}

/// How many more seeds would probably bring the interval to one side of the margin; 0: unknown, from one seed.
std::int64_t more_seeds(const PairedDifference& difference, double margin) {
    constexpr std::int64_t most = 1000;
    const double room = std::fabs(margin - difference.mean);
    if (difference.seeds < 2 || !(room > 0)) return 0;
    std::int64_t seeds = difference.seeds + 1;
    while (seeds < most &&
           t_quantile(seeds - 1) * difference.deviation > room * std::sqrt(static_cast<double>(seeds))) {
        ++seeds;
    }
    return seeds - difference.seeds;
}

/// "mixed_fp16 with 2^12": the scale at the end of the first run, where the recipe has one.
std::string described(const RecipeStudy& study, std::size_t arm) {
    const Arithmetic& arithmetic = study.options.arithmetics[arm];
    const std::vector<double>& scales = study.comparison.runs[arm][0].scales;
    const bool scaled = arithmetic.recipe.loss_scale.dynamic || arithmetic.recipe.loss_scale.initial != 1;
    if (!scaled || scales.empty()) return arithmetic.recipe.name;
    const double scale = scales.back();
    const int exponent = std::ilogb(scale);
    return std::ldexp(1.0, exponent) == scale ? fmt::format("{} with 2^{}", arithmetic.recipe.name, exponent)
                                              : fmt::format("{} with {:g}", arithmetic.recipe.name, scale);
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

int cost_of(const Recipe& recipe) {
    const OperandRule& operand = recipe.products.fprop.a;
    const int product = operand.how ? operand.how->element.code_bits() : recipe.product_types().input.code_bits();
    return product * 64 + recipe.low.code_bits();
}

RecipeStudy study_recipes(const NetDescription& net, const RecipeStudyOptions& options,
                          const std::function<void(double)>& progress) {
    RecipeStudy study{options, {options.arithmetics, {}}, {}, {}};
    const auto others = static_cast<std::size_t>(options.seeds - 1);
    study.comparison.runs.assign(options.arithmetics.size(),
                                 std::vector<Learned>(static_cast<std::size_t>(options.seeds)));
    const bool parallel =
        std::ranges::all_of(options.arithmetics, [](const Arithmetic& a) { return may_run_side_by_side(a.backend); });
    run_side_by_side(
        1 + options.arithmetics.size() * others, parallel,
        [&](std::size_t i) {
            if (i == 0) return run_in_step(net, study);
            const std::size_t arm = (i - 1) / others;
            const std::size_t seed = 1 + (i - 1) % others;
            Arm one(net, study.options.training, options.arithmetics[arm], options.training.seed + seed);
            for (std::int64_t step = 0; step < options.training.steps; ++step) one.step();
            study.comparison.runs[arm][seed] = one.learned();
        },
        progress);
    return study;
}

std::string loss_text(double loss) { return std::isfinite(loss) ? fmt::format("{:.4g}", loss) : "not finite"; }

std::vector<ArmVerdict> verdicts_of(const RecipeStudy& study) {
    const std::vector<double> reference = study.comparison.scores(0);
    const double size = study.options.margin * std::fabs(mean_of(reference));
    const Margin margin{size, fmt::format("{:g} % of the reference's loss", 100 * study.options.margin),
                        Margin::Side::not_above};
    std::vector<ArmVerdict> judged;
    for (std::size_t arm = 0; arm < study.options.arithmetics.size(); ++arm) {
        const std::vector<double> scores = study.comparison.scores(arm);
        ArmVerdict verdict{as_good(scores, reference, margin, {"loss"}).outcome};
        verdict.loss = mean_of(scores);
        verdict.difference = paired_difference(scores, reference);
        if (arm == 0) {
            verdict.outcome = Outcome::holds;
            judged.push_back(std::move(verdict));
            continue;
        }
        if (verdict.outcome == Outcome::undecided) verdict.more_seeds = more_seeds(verdict.difference, size);
        verdict.leaves_band_at = leaves_band(study, arm);
        if (verdict.leaves_band_at >= 0) verdict.layer = farthest_parameter(study, arm, verdict.leaves_band_at);
        judged.push_back(std::move(verdict));
    }
    return judged;
}

std::string verdict_sentence(const RecipeStudy& study, const std::vector<ArmVerdict>& judged) {
    std::vector<std::size_t> order;
    for (std::size_t arm = 0; arm < judged.size(); ++arm) order.push_back(arm);
    std::ranges::stable_sort(order, {}, [&](std::size_t a) { return cost_of(study.options.arithmetics[a].recipe); });
    std::string worse, open;
    std::int64_t more = 0;
    for (const std::size_t arm : order) {
        const std::string name = described(study, arm);
        if (judged[arm].outcome == Outcome::refuted) worse += (worse.empty() ? "" : ", ") + name;
        if (judged[arm].outcome == Outcome::undecided) {
            open += (open.empty() ? "" : ", ") + name;
            more = std::max(more, judged[arm].more_seeds);
        }
        if (judged[arm].outcome != Outcome::holds) continue;
        const std::string until = arm == 0 ? name + ", the reference" : name;
        if (!open.empty()) {
            const std::string seeds =
                more > 0 ? fmt::format("{} more seed{}", more, more == 1 ? "" : "s") : "more seeds";
            return fmt::format("undecided: {} for {}; until then keep {}", seeds, open, until);
        }
        if (worse.empty())
            return arm == 0 ? fmt::format("keep {}: nothing cheaper was tried", until) : name + " suffices";
        return fmt::format("keep {}: the loss is too high with {}", until, worse);
    }
    return "keep the reference";
}

}  // namespace ulp
