#include "experiments/training/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ulp {

std::vector<Point> points_of(const std::vector<double>& values, std::size_t distance, double start) {
    std::vector<Point> points;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i])) points.push_back({static_cast<double>(i * distance) + start, values[i]});
    }
    return points;
}

namespace {

double mean_from(const std::vector<double>& values, std::size_t first, std::size_t count) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(first);
    return mean_of({at, at + static_cast<std::ptrdiff_t>(count)});
}

/// Mean over windows of steps, then over the seeds.
std::vector<Point> smoothed(const std::vector<Learned>& runs, std::size_t window,
                            const std::function<double(const std::vector<double>&)>& over_seeds) {
    std::vector<double> means;
    for (std::size_t first = 0; first + window <= runs.front().losses.size(); first += window) {
        std::vector<double> of_seed;
        for (const Learned& run : runs) of_seed.push_back(mean_from(run.losses, first, window));
        means.push_back(over_seeds(of_seed));
    }
    return points_of(means, window, 0.5 * static_cast<double>(window - 1));
}

}  // namespace

std::vector<Point> window_means(const std::vector<double>& values, std::size_t window, double shift) {
    std::vector<double> means;
    for (std::size_t first = 0; first + window <= values.size(); first += window) {
        means.push_back(mean_from(values, first, window));
    }
    return points_of(means, window, shift);
}

Figure figure_of_seeds(const Comparison& comparison, std::size_t score, const Quantity& text, std::string name,
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
    figure.axes = {.y = text.name + (text.unit.empty() ? "" : ", " + text.unit)};
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
    figure.axes = {.x = "step", .y = "loss", .log_base = logarithmic ? 10 : 0};
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
    figure.axes = {.x = "step", .y = "loss scale"};
    return figure;
}

}  // namespace ulp
