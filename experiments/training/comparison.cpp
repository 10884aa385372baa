#include "experiments/training/comparison.hpp"

#include "experiments/framework/long_work.hpp"
#include "experiments/shared/matrix_units.hpp"

namespace ulp {
namespace {

std::string evidence_of(const std::vector<Arithmetic>& arithmetics, Result& result) {
    std::vector<std::string> seen;
    std::string text;
    for (const Arithmetic& arithmetic : arithmetics) {
        const ProductTypes types = arithmetic.recipe.product_types();
        if (types.input == formats::fp32) continue;
        const std::string& backend = arithmetic.backend;
        const std::string key = backend + (backend == "soft:ieee" ? "" : name_of(types));  // its sentence has no types
        if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
        seen.push_back(key);
        const MatrixUnit unit{backend, backend, make_backend(backend)};
        text += (text.empty() ? "" : " ") + evidence_of({unit}, {types}, result);
    }
    return text;
}

}  // namespace

Scores Comparison::scores(std::size_t arithmetic, std::size_t score) const {
    Scores values;
    for (const Learned& run : runs.at(arithmetic)) {
        values.push_back(run.scores.at(score));
        values.examples = run.examples;
    }
    return values;
}

Spread Comparison::spread(std::size_t arithmetic, std::size_t score) const {
    return spread_of(scores(arithmetic, score));
}

double Comparison::mean(std::size_t arithmetic, std::size_t score) const { return spread(arithmetic, score).mean; }

Comparison compare(const RunContext& context, Result& result, std::vector<Arithmetic> arithmetics,
                   const std::function<Learned(std::size_t, std::uint64_t)>& run, std::int64_t seeds,
                   ProgressPart part) {
    Comparison comparison{std::move(arithmetics), {}};
    const auto each = static_cast<std::size_t>(seeds);
    comparison.runs.assign(comparison.arithmetics.size(), std::vector<Learned>(each));
    const bool parallel = std::ranges::all_of(comparison.arithmetics,
                                              [](const Arithmetic& a) { return may_run_side_by_side(a.backend); });
    run_side_by_side(
        comparison.arithmetics.size() * each, parallel,
        [&](std::size_t i) { comparison.runs[i / each][i % each] = run(i / each, context.seed + i % each); },
        [&](double done) { context.progress(part.from + (part.to - part.from) * done); });
    comparison.evidence = evidence_of(comparison.arithmetics, result);
    for (const std::vector<Learned>& arm : comparison.runs) {
        if (!context.trained) break;
        for (const Learned& learned : arm) {
            context.trained(learned.parameters, static_cast<std::int64_t>(learned.losses.size()));
        }
    }
    return comparison;
}

Comparison compare(const RunContext& context, Result& result, std::vector<Training> arms, std::int64_t seeds,
                   ProgressPart part) {
    std::vector<Arithmetic> arithmetics;
    for (Training& arm : arms) {
        leave_out(context, arm.arithmetic.recipe);
        arithmetics.push_back(arm.arithmetic);
    }
    const auto run = [&](std::size_t arm, std::uint64_t seed) { return train(arms[arm], seed); };
    return compare(context, result, std::move(arithmetics), run, seeds, part);
}

Comparison compare(const RunContext& context, Result& result, const std::vector<Arithmetic>& arithmetics,
                   const Training& training, std::int64_t seeds, ProgressPart part) {
    std::vector<Training> arms;
    for (const Arithmetic& arithmetic : arithmetics) {
        arms.push_back(training);
        arms.back().arithmetic = arithmetic;
    }
    return compare(context, result, std::move(arms), seeds, part);
}

void claim_parity(Result& result, const Comparison& comparison, std::size_t score, const Quantity& quantity,
                  const Margin& margin, const std::string& id, const std::string& source, const std::string& statement,
                  std::size_t only) {
    const Scores reference = comparison.scores(0, score);
    for (std::size_t a = 1; a < comparison.arithmetics.size(); ++a) {
        if (only != 0 && a != only) continue;
        Check check = as_good(comparison.scores(a, score), reference, margin, quantity);
        result.measured(only == 0 ? fmt::format("{}_{}", id, a) : id, source,
                        fmt::format("{} Here: {}.", statement, comparison.arithmetics[a].name), std::move(check));
    }
}

}  // namespace ulp
