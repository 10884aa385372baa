// The figures that experiments on training share.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/tensor/matrix.hpp"
#include "experiments/framework/result.hpp"
#include "experiments/training/comparison.hpp"

namespace ulp {

// Curves of several arms beside those of a reference: what rounding changes, over what another seed changes.

struct Curves {
    std::vector<std::string> names;                        // the first is the reference
    std::vector<std::vector<std::vector<double>>> values;  // [arm][seed][step]; an arm may have fewer seeds, the first
};

/// Of the losses, times `factor`.
Curves losses_of(const Comparison& comparison, double factor = 1);
/// Each `window` steps as their mean; what does not fill a window is left out.
Curves window_means(Curves curves, std::size_t window);

/// How the arms differ from the reference at each step.
struct Differences {
    std::vector<double> low, high;  // the reference's minimum and maximum over seeds minus the mean of its seeds
    std::vector<std::vector<double>> arms;  // of each other arm: mean over its seeds of what differs from the same seed
};
/// In per cent of the reference's mean where `relative`.
Differences differences_of(const Curves& curves, bool relative);

/// Two digits of a number, "0.57", and from 100 on a whole number, "987".
std::string size_text(double size);

/// A sentence that tells, for each arm, the largest difference and, where the reference has two seeds or more, how many
/// points lie inside its band. `unit` is that of the differences.
std::string closeness(const Curves& curves, const Differences& differences, const std::string& unit);

struct CurveOptions {
    std::size_t window = 1;    // steps of a mean
    bool logarithmic = false;  // the upper panel's axis
    bool relative = true;      // differences in per cent of the reference
    std::string what;          // "Loss of a batch before the step": begins the caption
    std::string label;         // of the upper panel's axis: "loss"
    std::string unit = "%";    // of the differences
};
struct FigureText {
    std::string name, title, meaning, evidence;
};
/// Above, the reference's band and all curves, each the mean over the seeds that all arms have; below, the differences
/// (plots/curves.gp). What is to be seen ends with the sentence of `closeness`.
Figure figure_of_curves(const Curves& curves, const CurveOptions& options, FigureText text);

/// Every seed's score by arithmetic, minus that of the first arithmetic with the same seed; the band is that of the
/// first one's seeds about their mean. What is to be seen ends with the largest differences.
Figure figure_of_seeds(const Comparison& comparison, std::size_t score, const Quantity& text, std::string name,
                       std::string title, std::string meaning = "");
/// "; another seed changes 0.3 %" of the first arithmetic's score, or nothing where there is one seed.
std::string seed_clause(const Comparison& comparison, std::size_t score, const Quantity& text);
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

// Colour pictures as a series, for figures.

/// Square pictures side by side, each as three planes of side x side bytes. A point a pixel, row by row over the whole
/// sheet: x counts them, y is 65536 red + 256 green + blue.
Series colour_sheet(std::string name, std::span<const std::uint8_t> pictures, Index side);
/// Draws the sheets of the figure, of equally many pictures of this side, one below the other. Their names are one word
/// each. In grey, where they are: from -1 to 1.
void show_as_rows(Figure& figure, Index side, bool in_grey = false);

}  // namespace ulp
