// Curves of several arms beside those of a reference: what rounding changes, over what another seed changes.
#pragma once

#include <string>
#include <vector>

#include "experiments/training/comparison.hpp"

namespace ulp {

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

}  // namespace ulp
