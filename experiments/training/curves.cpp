#include "experiments/training/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
    figure.series.push_back(placed.band(fmt::format("{} of all seeds", curves.names.front()), band.low, band.high));
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
        placed.band(fmt::format("seeds of {} minus their mean", reference), differences.low, differences.high));
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

}  // namespace ulp
