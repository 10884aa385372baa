#include "experiments/training/comparison.hpp"

#include <nlohmann/json.hpp>

#include "experiments/framework/long_work.hpp"
#include "experiments/framework/run_parts.hpp"
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

/// Hexadecimal digits of the numbers: infinite ones and NaNs among them.
std::string bits_of(const std::vector<double>& numbers) {
    std::string text;
    for (const double number : numbers) text += fmt::format("{:016x}", std::bit_cast<std::uint64_t>(number));
    return text;
}

std::vector<double> numbers_of(const std::string& bits) {
    std::vector<double> numbers;
    for (std::size_t at = 0; at < bits.size(); at += 16) {
        numbers.push_back(std::bit_cast<double>(std::stoull(bits.substr(at, 16), nullptr, 16)));
    }
    return numbers;
}

/// Empty where the task has kept what only it knows.
std::string text_of(const Learned& learned) {
    if (learned.more.has_value()) return {};
    return nlohmann::ordered_json{{"losses", bits_of(learned.losses)}, {"scales", bits_of(learned.scales)},
                                  {"skipped", learned.skipped},        {"scores", bits_of(learned.scores)},
                                  {"parameters", learned.parameters},  {"examples", learned.examples}}
        .dump();
}

Learned learned_from(const std::string& text) {
    const auto kept = nlohmann::ordered_json::parse(text);
    return {.losses = numbers_of(kept.at("losses")),
            .scales = numbers_of(kept.at("scales")),
            .skipped = kept.at("skipped").get<std::vector<bool>>(),
            .scores = numbers_of(kept.at("scores")),
            .parameters = kept.at("parameters"),
            .examples = kept.at("examples")};
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
    // A published net takes gigabytes, and an interrupted run keeps more when one arm follows the other.
    const bool parallel = context.size != RunSize::published &&
                          std::ranges::all_of(comparison.arithmetics,
                                              [](const Arithmetic& a) { return may_run_side_by_side(a.backend); });
    const int group = context.parts != nullptr ? context.parts->begin_group() : 0;
    const auto run_or_resume = [&](std::size_t arm, std::uint64_t seed) {
        if (context.parts == nullptr) return run(arm, seed);
        std::optional<Learned> made;
        const std::string text = context.parts->part(fmt::format("{} {} {}", group, arm, seed), [&] {
            made = run(arm, seed);
            return text_of(*made);
        });
        return made ? std::move(*made) : learned_from(text);
    };
    run_side_by_side(
        comparison.arithmetics.size() * each, parallel,
        [&](std::size_t i) { comparison.runs[i / each][i % each] = run_or_resume(i / each, context.seed + i % each); },
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
