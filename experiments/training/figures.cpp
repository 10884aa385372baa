#include "experiments/training/figures.hpp"

namespace ulp {
namespace {

/// The values of an arm's first `seeds` seeds at a step.
std::vector<double> at_step(const std::vector<std::vector<double>>& arm, std::size_t step, std::size_t seeds) {
    std::vector<double> values;
    for (std::size_t seed = 0; seed < seeds; ++seed) values.push_back(arm[seed][step]);
    return values;
}

/// Of one arm's seeds at each step.
struct Band {
    std::vector<double> low, high, mean;
};
Band band_of(const std::vector<std::vector<double>>& arm, std::size_t steps) {
    Band band;
    for (std::size_t step = 0; step < steps; ++step) {
        const std::vector<double> seeds = at_step(arm, step, arm.size());
        band.low.push_back(*std::ranges::min_element(seeds));
        band.high.push_back(*std::ranges::max_element(seeds));
        band.mean.push_back(mean_of(seeds));
    }
    return band;
}

std::size_t steps_of(const Curves& curves) { return curves.values.front().front().size(); }

double largest_of(const std::vector<double>& values) {
    double largest = 0;
    for (const double value : values) {
        if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    }
    return largest;
}

/// Takes out the arms but the first that have no finite value, and tells their names.
std::vector<std::string> leave_out_infinite(Curves& curves) {
    std::vector<std::string> names;
    for (std::size_t a = 1; a < curves.names.size();) {
        const auto finite = [](const std::vector<double>& run) {
            return std::ranges::any_of(run, [](double v) { return std::isfinite(v); });
        };
        if (std::ranges::any_of(curves.values[a], finite)) {
            ++a;
            continue;
        }
        names.push_back(curves.names[a]);
        curves.names.erase(curves.names.begin() + static_cast<std::ptrdiff_t>(a));
        curves.values.erase(curves.values.begin() + static_cast<std::ptrdiff_t>(a));
    }
    return names;
}

/// Half the height of the lower panel: it holds the whole band, and differences up to three times the band.
double reach_of(const Differences& differences) {
    const double band = std::max(largest_of(differences.low), largest_of(differences.high));
    double arms = 0;
    for (const auto& arm : differences.arms) arms = std::max(arms, largest_of(arm));
    const double reach = 1.1 * std::max(band, band > 0 ? std::min(arms, 3 * band) : arms);
    return reach > 0 ? reach : 1;
}

bool leaves(const Differences& differences, double reach) {
    return std::ranges::any_of(differences.arms, [&](const std::vector<double>& arm) {
        return std::ranges::any_of(arm, [&](double d) { return !(std::fabs(d) <= reach); });
    });
}

struct Placed {
    std::size_t distance;
    double start;
    [[nodiscard]] std::vector<Point> operator()(const std::vector<double>& values) const {
        return points_of(values, distance, start);
    }
    /// Along the upper edge and back along the lower one.
    [[nodiscard]] Series band(std::string name, const std::vector<double>& low, const std::vector<double>& high) const {
        Series outline{std::move(name), formats::fp64, (*this)(high)};
        const std::vector<Point> back = (*this)(low);
        outline.points.insert(outline.points.end(), back.rbegin(), back.rend());
        return outline;
    }
};

/// What follows the quantity's name in the caption.
std::string caption_end(const Curves& curves, std::size_t window, bool leaves_panel,
                        const std::vector<std::string>& left_out) {
    std::string end = window > 1 ? fmt::format(", mean of {} steps", window) : "";
    end += fmt::format("; mean of {}. Below: minus {} with the same data and seed.",
                       counted(curves.values.front().size(), "seed"), curves.names.front());
    if (leaves_panel) end += " What leaves the lower panel differs by more.";
    if (!left_out.empty()) end += fmt::format(" Not shown, as never finite: {}.", fmt::join(left_out, ", "));
    return end;
}

/// The reference's band, and the mean of each arm over the seeds that all arms have.
void add_upper_panel(Figure& figure, const Curves& curves, const Placed& placed) {
    const std::size_t paired = std::ranges::min(curves.values, {}, &std::vector<std::vector<double>>::size).size();
    const Band band = band_of(curves.values.front(), steps_of(curves));
    figure.series.push_back(placed.band(fmt::format("all seeds of {}", curves.names.front()), band.low, band.high));
    for (std::size_t a = 0; a < curves.names.size(); ++a) {
        std::vector<double> means;
        for (std::size_t step = 0; step < steps_of(curves); ++step) {
            means.push_back(mean_of(at_step(curves.values[a], step, paired)));
        }
        figure.series.push_back({curves.names[a], formats::fp64, placed(means)});
    }
}

/// The band and the other arms minus the reference.
void add_lower_panel(Figure& figure, const Curves& curves, const Differences& differences, const Placed& placed) {
    const std::string& reference = curves.names.front();
    figure.series.push_back(
        placed.band(fmt::format("all seeds of {} minus their mean", reference), differences.low, differences.high));
    for (std::size_t a = 1; a < curves.names.size(); ++a) {
        figure.series.push_back(
            {fmt::format("{} minus {}", curves.names[a], reference), formats::fp64, placed(differences.arms[a - 1])});
    }
}

}  // namespace

Curves losses_of(const Comparison& comparison, double factor) {
    Curves curves;
    for (std::size_t a = 0; a < comparison.arithmetics.size(); ++a) {
        curves.names.push_back(comparison.arithmetics[a].name);
        curves.values.emplace_back();
        for (const Learned& run : comparison.runs[a]) {
            curves.values.back().push_back(run.losses);
            for (double& loss : curves.values.back().back()) loss *= factor;
        }
    }
    return curves;
}

Curves window_means(Curves curves, std::size_t window) {
    for (auto& arm : curves.values) {
        for (std::vector<double>& run : arm) {
            std::vector<double> means;
            for (auto from = run.cbegin(); static_cast<std::size_t>(run.cend() - from) >= window;) {
                const auto to = from + static_cast<std::ptrdiff_t>(window);
                means.push_back(mean_of({from, to}));
                from = to;
            }
            run = std::move(means);
        }
    }
    return curves;
}

Differences differences_of(const Curves& curves, bool relative) {
    Differences differences{{}, {}, std::vector<std::vector<double>>(curves.values.size() - 1)};
    const auto& reference = curves.values.front();
    const Band band = band_of(reference, steps_of(curves));
    for (std::size_t step = 0; step < steps_of(curves); ++step) {
        const double unit = relative ? band.mean[step] / 100 : 1;
        differences.low.push_back((band.low[step] - band.mean[step]) / unit);
        differences.high.push_back((band.high[step] - band.mean[step]) / unit);
        for (std::size_t a = 1; a < curves.values.size(); ++a) {
            const auto& arm = curves.values[a];
            const double paired =
                mean_of(at_step(arm, step, arm.size())) - mean_of(at_step(reference, step, arm.size()));
            differences.arms[a - 1].push_back(paired / unit);
        }
    }
    return differences;
}

std::string size_text(double size) { return size < 99.5 ? fmt::format("{:.2g}", size) : fmt::format("{:.0f}", size); }

std::string closeness(const Curves& curves, const Differences& differences, const std::string& unit) {
    const std::string& reference = curves.names.front();
    const std::size_t seeds = curves.values.front().size();
    std::string text =
        seeds > 1
            ? fmt::format("Points inside the band of the {} seeds of {}, and largest difference:", seeds, reference)
            : fmt::format("One seed makes no band; largest difference from {}:", reference);
    for (std::size_t a = 0; a < differences.arms.size(); ++a) {
        const std::vector<double>& arm = differences.arms[a];
        std::size_t inside = 0;
        for (std::size_t i = 0; i < arm.size(); ++i) {
            inside += differences.low[i] <= arm[i] && arm[i] <= differences.high[i] ? 1 : 0;
        }
        text += fmt::format("{} {} ", a == 0 ? "" : ";", curves.names[a + 1]);
        if (seeds > 1) text += fmt::format("{} of {}, ", inside, arm.size());
        text += fmt::format("{} {}", size_text(largest_of(arm)), unit);
    }
    return text + ".";
}

Figure figure_of_curves(const Curves& all, const CurveOptions& options, FigureText text) {
    const std::size_t window = std::clamp<std::size_t>(options.window, 1, std::max<std::size_t>(1, steps_of(all)));
    Curves curves = window_means(all, window);
    const std::vector<std::string> left_out = leave_out_infinite(curves);
    const Differences differences = differences_of(curves, options.relative);
    const double reach = reach_of(differences);
    const std::string& reference = curves.names.front();
    const Placed placed{window, 0.5 * static_cast<double>(window - 1)};
    Figure figure{std::move(text.name), std::move(text.title),
                  options.what + caption_end(curves, window, leaves(differences, reach), left_out),
                  std::move(text.meaning), std::move(text.evidence)};
    figure.meaning += (figure.meaning.empty() ? "" : " ") + closeness(curves, differences, options.unit);
    add_upper_panel(figure, curves, placed);
    add_lower_panel(figure, curves, differences, placed);
    figure.plot = "curves";
    figure.axes = {{.label = "step"}, {.label = options.label, .log_base = options.logarithmic ? 10 : 0}};
    figure.variables = {
        {"reach", reach},
        {"difference_label", fmt::format("minus {}{}{}", reference, options.unit.empty() ? "" : ", ", options.unit)}};
    if (curves.values.front().size() == 1) figure.variables.emplace_back("one_seed", 1.0);  // no band
    return figure;
}

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

std::string seed_clause(const Comparison& comparison, std::size_t score, const Quantity& text) {
    if (comparison.runs.front().size() < 2) return "";
    return "; another seed changes " + text.text(comparison.spread(0, score).width());
}

Figure figure_of_seeds(const Comparison& comparison, std::size_t score, const Quantity& text, std::string name,
                       std::string title, std::string meaning) {
    const std::string& reference = comparison.arithmetics.front().name;
    const std::vector<Learned>& pairs = comparison.runs.front();
    const Spread spread = comparison.spread(0, score);
    Figure figure{
        std::move(name), std::move(title),
        fmt::format(
            "A mark is a run, minus {0} with the same seed: {1}. {2}", reference, counted(pairs.size(), "seed"),
            pairs.size() > 1 && spread.least == spread.largest
                ? fmt::format("The runs of {} are equal, at {}: they make no band.", reference, text.text(spread.mean))
            : pairs.size() > 1
                ? fmt::format("The band, from the runs of {}, is what another seed changes; their mean is {}.",
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
    figure.axes.x.label =
        fmt::format("{}{}, minus {}", text.name, text.unit.empty() ? "" : ", " + text.unit, reference);
    return figure;
}

Figure figure_of_cases(const std::vector<ScoredCase>& cases, const std::vector<std::string>& arms, double factor,
                       const std::string& unit, FigureText text) {
    Figure figure{std::move(text.name), std::move(text.title),
                  fmt::format("A mark is a run, minus {0} with the same seed. Grey: the seeds of {0} about their mean, "
                              "cut off at the panel's edge.",
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

Series colour_sheet(std::string name, std::span<const std::uint8_t> pictures, Index side) {
    Series series{std::move(name), formats::fp64, {}};
    const Index plane = side * side;
    const Index width = static_cast<Index>(pictures.size()) / (3 * plane) * side;
    for (Index i = 0; i < width * side; ++i) {
        const Index picture = i % width / side;
        const auto place = static_cast<std::size_t>(picture * 3 * plane + i / width * side + i % side);
        const auto light = [&](std::size_t c) { return pictures[place + c * static_cast<std::size_t>(plane)]; };
        const int colour = light(0) * 65536 + light(1) * 256 + light(2);
        series.points.push_back({static_cast<double>(i), static_cast<double>(colour)});
    }
    return series;
}

void show_as_rows(Figure& figure, Index side, bool in_grey) {
    figure.plot = "pictures";
    figure.variables = {
        {"pixels", static_cast<double>(side)},
        {"pictures", static_cast<double>(static_cast<Index>(figure.series.front().points.size()) / (side * side))},
        {"rows", static_cast<double>(figure.series.size())}};
    if (in_grey) figure.variables.emplace_back("in_grey", 1.0);
}

}  // namespace ulp
