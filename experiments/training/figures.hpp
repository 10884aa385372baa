// The figures that experiments on training share.
#pragma once

#include "experiments/training/curves.hpp"

namespace ulp {

/// Every seed's score by arithmetic, minus that of the first arithmetic with the same seed; the band is that of the
/// first one's seeds about their mean. What is to be seen ends with the largest differences.
Figure figure_of_seeds(const Comparison& comparison, std::size_t score, const Quantity& text, std::string name,
                       std::string title, std::string meaning = "");
/// A case in which all arms are scored; an arm may lack scores, and its seeds are the first arm's first ones.
struct ScoredCase {
    std::string name;
    std::vector<std::vector<double>> scores;  // [arm][seed]; the first arm is the reference
};
/// Cases side by side: every score minus the reference's with the same seed, over the reference's seeds about their
/// mean (plots/differences.gp). What is to be seen ends with the largest differences, in `unit` after `factor`.
Figure figure_of_cases(const std::vector<ScoredCase>& cases, const std::vector<std::string>& arms, double factor,
                       const std::string& unit, FigureText text);
/// The losses as curves, averaged over `window` steps, with their differences from the first arithmetic's below.
Figure figure_of_losses(const Comparison& comparison, std::size_t window, std::string name, std::string title,
                        bool logarithmic = true, std::string meaning = "");
/// The loss scale over the steps of the first seed, of the arithmetics whose scale moves.
Figure figure_of_scales(const Comparison& comparison, std::string name, std::string title, std::string meaning = "");

/// Its series as loss scales over steps.
void draw_scales(Figure& figure);

/// The finite ones of these, `distance` apart from `start` on.
std::vector<Point> points_of(const std::vector<double>& values, std::size_t distance = 1, double start = 0);
/// Means of `window` values each, at the first one's number plus `shift`; those that are not finite are left out.
std::vector<Point> window_means(const std::vector<double>& values, std::size_t window, double shift = 0);

/// Bars with ranges as two series: NAME holds the middles, "NAME range" the minimum and maximum of each.
struct Bars {
    Series middles, ranges;

    explicit Bars(const std::string& name) : middles{name}, ranges{name + " range"} {}
    void add(double x, const Spread& spread) {
        middles.points.push_back({x, spread.middle});
        ranges.points.push_back({x, spread.least});
        ranges.points.push_back({x, spread.largest});
    }
    void move_into(Figure& figure, const Look& look = {.mark = Mark::boxes}) {
        figure.series.push_back(std::move(middles));
        figure.series.push_back(std::move(ranges));
        figure.looks.push_back(look);
        figure.looks.push_back({.mark = Mark::ranges, .colour = black, .width = 2, .title = "", .shift = look.shift});
    }
};

}  // namespace ulp
