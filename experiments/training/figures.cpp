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

}  // namespace

std::vector<Point> window_means(const std::vector<double>& values, std::size_t window, double shift) {
    std::vector<double> means;
    for (std::size_t first = 0; first + window <= values.size(); first += window) {
        means.push_back(mean_from(values, first, window));
    }
    return points_of(means, window, shift);
}

Figure figure_of_seeds(const Comparison& comparison, std::size_t score, const Quantity& text, std::string name,
                       std::string title, std::string meaning) {
    const std::string& reference = comparison.arithmetics.front().name;
    const std::vector<Learned>& pairs = comparison.runs.front();
    const Spread spread = comparison.spread(0, score);
    Figure figure{
        std::move(name), std::move(title),
        fmt::format("A mark is a run, minus {0} with the same seed: {1}. {2}", reference, counted(pairs.size(), "seed"),
                    pairs.size() > 1
                        ? fmt::format("The band, from the runs of {}, is what another seed changes; their "
                                      "mean is {}.",
                                      reference, text.text(spread.mean))
                        : fmt::format("One seed makes no band; {} is at {}.", reference, text.text(spread.mean))),
        std::move(meaning), comparison.evidence};
    if (!figure.meaning.empty()) figure.meaning += ' ';
    figure.meaning +=
        pairs.size() > 1
            ? fmt::format("The seeds of {} span {}; the largest differences with the same seed:", reference,
                          text.text(spread.width()))
            : fmt::format("The differences from {}:", reference);
    for (std::size_t a = 0; a < comparison.arithmetics.size(); ++a) {
        Series series{comparison.arithmetics[a].name, formats::fp64, {}};
        const std::vector<Learned>& runs = comparison.runs[a];
        double largest = 0;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const double value =
                text.factor * (runs[i].scores.at(score) - (a == 0 ? spread.mean : pairs[i].scores.at(score)));
            // Side by side, so that equal scores stay apart.
            const double place = static_cast<double>(i) - 0.5 * static_cast<double>(runs.size() - 1);
            largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : value;
            if (std::isfinite(value)) series.points.push_back({static_cast<double>(a) + 0.0625 * place, value});
        }
        if (a > 0)
            figure.meaning += fmt::format("{} {} {}", a > 1 ? "," : "", series.name, text.text(largest / text.factor));
        figure.series.push_back(std::move(series));
    }
    figure.meaning += ".";
    figure.plot = "seeds";
    figure.axes.y.label =
        fmt::format("{}{}, minus {}", text.name, text.unit.empty() ? "" : ", " + text.unit, reference);
    return figure;
}

Figure figure_of_cases(const std::vector<ScoredCase>& cases, const std::vector<std::string>& arms, double factor,
                       const std::string& unit, FigureText text) {
    Figure figure{
        std::move(text.name), std::move(text.title),
        fmt::format("A mark is a run, minus {0} with the same seed. Grey: the seeds of {0} about their mean, cut "
                    "off at the panel's edge.",
                    arms.front()),
        std::move(text.meaning), std::move(text.evidence)};
    Series band{fmt::format("seeds of {}", arms.front()), formats::fp64, {}};
    std::vector<Series> series;
    for (std::size_t a = 1; a < arms.size(); ++a) series.push_back({arms[a], formats::fp64, {}});
    std::vector<double> largest(arms.size());
    for (std::size_t c = 0; c < cases.size(); ++c) {
        const std::vector<double>& reference = cases[c].scores.front();
        const Spread spread = spread_of(reference);
        for (const double edge : {spread.least, spread.largest}) {
            if (!std::isfinite(edge - spread.mean)) continue;
            band.points.push_back({static_cast<double>(c), factor * (edge - spread.mean)});
            largest.front() = std::max(largest.front(), std::fabs(band.points.back().y));
        }
        for (std::size_t a = 1; a < arms.size(); ++a) {
            const std::vector<double>& scores = cases[c].scores[a];
            for (std::size_t i = 0; i < scores.size(); ++i) {
                const double value = factor * (scores[i] - reference[i]);
                const double place = static_cast<double>(a) - 0.5 * static_cast<double>(arms.size()) +
                                     0.2 * (static_cast<double>(i) - 0.5 * static_cast<double>(scores.size() - 1));
                if (!std::isfinite(value)) continue;
                series[a - 1].points.push_back({static_cast<double>(c) + 0.2 * place, value});
                largest[a] = std::max(largest[a], std::fabs(value));
            }
        }
    }
    figure.meaning += fmt::format("{}Largest differences, {}:", figure.meaning.empty() ? "" : " ", unit);
    for (std::size_t a = 1; a < arms.size(); ++a)
        figure.meaning += fmt::format(" {} {},", arms[a], size_text(largest[a]));
    figure.meaning += fmt::format(" a seed of {} from their mean {}.", arms.front(), size_text(largest.front()));
    std::string names;
    for (const ScoredCase& one : cases) names += fmt::format("\"{}\" ", one.name);
    const double reach = 1.15 * *std::max_element(largest.begin() + 1, largest.end());
    figure.series.push_back(std::move(band));
    figure.series.insert(figure.series.end(), series.begin(), series.end());
    figure.plot = "differences";
    figure.axes.y.label = fmt::format("{}, minus {}", unit, arms.front());
    figure.variables = {{"names", names}, {"reach", reach > 0 ? reach : 1}};
    return figure;
}

Figure figure_of_losses(const Comparison& comparison, std::size_t window, std::string name, std::string title,
                        bool logarithmic, std::string meaning) {
    return figure_of_curves(
        losses_of(comparison),
        {.window = window, .logarithmic = logarithmic, .what = "Loss of a batch before the step", .label = "loss"},
        {std::move(name), std::move(title), std::move(meaning), comparison.evidence});
}

void draw_scales(Figure& figure) {
    figure.axes = {step_axis(), power_axis("loss scale", 2, 0.1)};
    figure.looks = {{.mark = Mark::steps}};
}

Figure figure_of_scales(const Comparison& comparison, std::string name, std::string title, std::string meaning) {
    Figure figure{std::move(name), std::move(title), "The scale of each step, first seed. A drop is a skipped step.",
                  std::move(meaning), comparison.evidence};
    const bool any = std::any_of(comparison.arithmetics.begin(), comparison.arithmetics.end(),
                                 [](const Arithmetic& a) { return a.recipe.loss_scale.dynamic; });
    for (std::size_t a = any ? 0 : 1; a < comparison.arithmetics.size(); ++a) {
        if (any && !comparison.arithmetics[a].recipe.loss_scale.dynamic) continue;
        Series series{comparison.arithmetics[a].name, formats::fp64, {}};
        const std::vector<double>& scales = comparison.runs[a].front().scales;
        for (std::size_t i = 0; i < scales.size(); ++i) series.points.push_back({static_cast<double>(i), scales[i]});
        figure.series.push_back(std::move(series));
    }
    draw_scales(figure);
    return figure;
}

}  // namespace ulp
