// The figures that experiments on training share.
#pragma once

#include "experiments/training/comparison.hpp"

namespace ulp {

/// Every seed's score by arithmetic, over the band of fp32's seeds.
Figure figure_of_seeds(const Comparison& comparison, std::size_t score, const Quantity& text, std::string name,
                       std::string title, std::string meaning, std::string evidence);
/// Losses: the band of fp32's seeds, and the mean over the seeds of the others, both averaged over `window` steps.
Figure figure_of_losses(const Comparison& comparison, std::size_t window, std::string name, std::string title,
                        std::string meaning, std::string evidence, bool logarithmic = true);
/// The loss scale over the steps of the first seed, of the arithmetics whose scale moves.
Figure figure_of_scales(const Comparison& comparison, std::string name, std::string title, std::string meaning,
                        std::string evidence);

/// The finite ones of these, `distance` apart from `start` on.
std::vector<Point> points_of(const std::vector<double>& values, std::size_t distance = 1, double start = 0);
/// Means of `window` values each, at the first one's number plus `shift`; those that are not finite are left out.
std::vector<Point> window_means(const std::vector<double>& values, std::size_t window, double shift = 0);

/// Bars with ranges as two series: NAME holds the middles, "NAME range" the least and the largest of each.
struct Bars {
    Series middles, ranges;

    explicit Bars(const std::string& name) : middles{name}, ranges{name + " range"} {}
    void add(double x, const Spread& spread) {
        middles.points.push_back({x, spread.middle});
        ranges.points.push_back({x, spread.least});
        ranges.points.push_back({x, spread.largest});
    }
    void move_into(Figure& figure) {
        figure.series.push_back(std::move(middles));
        figure.series.push_back(std::move(ranges));
    }
};

}  // namespace ulp
