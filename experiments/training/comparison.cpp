#include "experiments/training/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/framework/side_by_side.hpp"
#include "experiments/shared/matrix_units.hpp"

namespace ulp {
namespace {

/// Mean over the seeds, then over windows of steps.
std::vector<Point> smoothed(const std::vector<Learned>& runs, std::size_t window,
                            const std::function<double(const std::vector<double>&)>& over_seeds) {
    std::vector<Point> points;
    const std::size_t steps = runs.front().losses.size();
    for (std::size_t first = 0; first + window <= steps; first += window) {
        std::vector<double> of_seed;
        for (const Learned& run : runs) {
            const auto at = run.losses.begin() + static_cast<std::ptrdiff_t>(first);
            of_seed.push_back(std::accumulate(at, at + static_cast<std::ptrdiff_t>(window), 0.0) /
                              static_cast<double>(window));
        }
        const double value = over_seeds(of_seed);
        if (std::isfinite(value)) {
            points.push_back({static_cast<double>(first) + 0.5 * static_cast<double>(window - 1), value});
        }
    }
    return points;
}

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::string mixed_backend(const RunContext& context) { return context.backend.empty() ? "soft:h100" : context.backend; }

Arithmetic fp32_arithmetic() { return {"fp32", recipe_by_name("fp32"), "soft:ieee"}; }

Arithmetic mixed_arithmetic(const RunContext& context, std::string name, LossScaleOptions loss_scale) {
    Arithmetic arithmetic{std::move(name), recipe_by_name("mixed_fp16"), mixed_backend(context)};
    arithmetic.recipe.loss_scale = std::move(loss_scale);
    return arithmetic;
}

LossScaleOptions dynamic_loss_scale(std::int64_t window, double initial) {
    LossScaleOptions options = loss_scale_dialect("pytorch");
    options.window = window;
    options.initial = initial;
    return options;
}

Setting pure_fp16_control() { return control_setting("pure_fp16 trains without masters and scaling", {"pure_fp16"}); }

std::vector<Arithmetic> under_control(const RunContext& context, std::vector<Arithmetic> arithmetics) {
    if (!has_control(context, "pure_fp16")) return arithmetics;
    for (std::size_t i = 1; i < arithmetics.size(); ++i) {
        arithmetics[i].recipe = recipe_by_name("fp16");
    }
    return arithmetics;
}

double Comparison::mean(std::size_t arithmetic, std::size_t score) const {
    double sum = 0;
    for (const Learned& run : runs.at(arithmetic)) sum += run.scores.at(score);
    return sum / static_cast<double>(runs.at(arithmetic).size());
}

double Comparison::spread(std::size_t arithmetic, std::size_t score) const {
    double low = runs.at(arithmetic).front().scores.at(score);
    double high = low;
    for (const Learned& run : runs.at(arithmetic)) {
        low = std::min(low, run.scores.at(score));
        high = std::max(high, run.scores.at(score));
    }
    return high - low;
}

Comparison compare(const RunContext& context, std::vector<Arithmetic> arithmetics, std::int64_t seeds,
                   const TrainOnce& train, double from, double to) {
    Comparison comparison{std::move(arithmetics), {}};
    const auto each = static_cast<std::size_t>(seeds);
    comparison.runs.assign(comparison.arithmetics.size(), std::vector<Learned>(each));
    const bool parallel = std::all_of(comparison.arithmetics.begin(), comparison.arithmetics.end(),
                                      [](const Arithmetic& a) { return may_run_side_by_side(a.backend); });
    run_side_by_side(
        comparison.arithmetics.size() * each, parallel,
        [&](std::size_t i) {
            const std::size_t arithmetic = i / each;
            comparison.runs[arithmetic][i % each] = train(comparison.arithmetics[arithmetic], context.seed + i % each);
        },
        [&](double done) { context.progress(from + (to - from) * done); });
    return comparison;
}

std::string ScoreText::text(double value) const {
    if (std::isnan(value)) return "NaN";
    return fmt::format("{:.{}f}{}", factor * value, decimals, unit.empty() ? "" : " " + unit);
}

void claim_parity(Result& result, const Comparison& comparison, std::size_t score, const ScoreText& text, double floor,
                  const std::string& id, const std::string& source, const std::string& statement, std::size_t only) {
    const double reference = comparison.mean(0, score);
    const double allowed = std::max(comparison.spread(0, score), floor);
    for (std::size_t a = 1; a < comparison.arithmetics.size(); ++a) {
        if (only != 0 && a != only) continue;
        const double mean = comparison.mean(a, score);
        result.claim_if(
            std::fabs(mean - reference) <= allowed, only == 0 ? fmt::format("{}_{}", id, a) : id, source,
            fmt::format("{} Here: {}, mean of {} seeds; it may differ from fp32 by fp32's own spread over "
                        "the seeds, or {}.",
                        statement, comparison.arithmetics[a].name, comparison.runs[a].size(), text.text(floor)),
            fmt::format("{} within {}", text.text(reference), text.text(allowed)), text.text(mean));
    }
}

Figure figure_of_seeds(const Comparison& comparison, std::size_t score, const ScoreText& text, std::string name,
                       std::string title, std::string meaning, std::string evidence) {
    Figure figure{std::move(name), std::move(title),
                  fmt::format("A mark is a run: {} seeds each. The band is what chance alone does in fp32.",
                              comparison.runs.front().size()),
                  std::move(meaning), std::move(evidence)};
    for (std::size_t a = 0; a < comparison.arithmetics.size(); ++a) {
        Series series{comparison.arithmetics[a].name, formats::fp64, {}};
        const std::vector<Learned>& runs = comparison.runs[a];
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const double value = text.factor * runs[i].scores.at(score);
            // Side by side, so that equal scores stay apart.
            const double place = static_cast<double>(i) - 0.5 * static_cast<double>(runs.size() - 1);
            if (std::isfinite(value)) series.points.push_back({static_cast<double>(a) + 0.0625 * place, value});
        }
        figure.series.push_back(std::move(series));
    }
    figure.plot = "seeds";
    figure.axes = fmt::format("set ylabel '{}{}'", text.name, text.unit.empty() ? "" : ", " + text.unit);
    return figure;
}

Figure figure_of_losses(const Comparison& comparison, std::size_t window, std::string name, std::string title,
                        std::string meaning, std::string evidence, bool logarithmic) {
    window = std::max<std::size_t>(1, std::min(window, comparison.runs.front().front().losses.size()));
    Figure figure{
        std::move(name), std::move(title),
        fmt::format("Loss of a batch before the step, mean of {} steps. Same data, order and hyperparameters; "
                    "{} seeds.",
                    window, comparison.runs.front().size()),
        std::move(meaning), std::move(evidence)};
    const auto low = [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); };
    const auto high = [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); };
    // The band as one outline: along the highest losses, back along the lowest.
    Series band{"fp32 of all seeds", formats::fp64, smoothed(comparison.runs[0], window, high)};
    const std::vector<Point> lowest = smoothed(comparison.runs[0], window, low);
    band.points.insert(band.points.end(), lowest.rbegin(), lowest.rend());
    figure.series.push_back(std::move(band));
    for (std::size_t a = 0; a < comparison.arithmetics.size(); ++a) {
        figure.series.push_back(
            {comparison.arithmetics[a].name, formats::fp64, smoothed(comparison.runs[a], window, mean_of)});
    }
    figure.plot = "losses";
    figure.axes = std::string("set xlabel 'step'\nset ylabel 'loss'") + (logarithmic ? "\nset logscale y 10" : "");
    return figure;
}

Figure figure_of_scales(const Comparison& comparison, std::string name, std::string title, std::string meaning,
                        std::string evidence) {
    Figure figure{std::move(name), std::move(title), "The scale of each step, first seed. A drop is a skipped step.",
                  std::move(meaning), std::move(evidence)};
    const bool any = std::any_of(comparison.arithmetics.begin(), comparison.arithmetics.end(),
                                 [](const Arithmetic& a) { return a.recipe.loss_scale.dynamic; });
    for (std::size_t a = any ? 0 : 1; a < comparison.arithmetics.size(); ++a) {
        if (any && !comparison.arithmetics[a].recipe.loss_scale.dynamic) continue;
        Series series{comparison.arithmetics[a].name, formats::fp64, {}};
        const std::vector<double>& scales = comparison.runs[a].front().scales;
        for (std::size_t i = 0; i < scales.size(); ++i) series.points.push_back({static_cast<double>(i), scales[i]});
        figure.series.push_back(std::move(series));
    }
    figure.plot = "scales";
    figure.axes = "set xlabel 'step'\nset ylabel 'loss scale'";
    return figure;
}

std::string evidence_of(const Comparison& comparison, Result& result) {
    std::vector<std::string> seen;
    std::string text;
    for (const Arithmetic& arithmetic : comparison.arithmetics) {
        const Recipe& recipe = arithmetic.recipe;
        if (recipe.operand == formats::fp32 && recipe.low == formats::fp32) continue;
        const std::string& backend = arithmetic.backend;
        const ProductTypes types{recipe.operand == formats::fp32 ? recipe.low : recipe.operand, recipe.accumulator};
        const std::string key = backend + name_of(types);
        if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
        seen.push_back(key);
        const MatrixUnit unit{backend, backend, make_backend(backend)};
        text += (text.empty() ? "" : " ") + evidence_of({unit}, {types}, result);
    }
    return text;
}

}  // namespace ulp
