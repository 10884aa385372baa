// How well boxes and pixels were found: overlap, duplicates, and the mean average precision of detectors (Everingham et
// al., "The Pascal visual object classes challenge", 2015).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ulp {

/// In pixels, from the left and from the top.
struct Area {
    double left, top, right, bottom;
};
/// The common part of two areas over what they cover together, 0 to 1.
double overlap_of(const Area& a, const Area& b);

/// An object that is there.
struct Truth {
    std::int64_t image;
    int label;
    Area box;
};
/// An object that a net says is there.
struct Detection {
    std::int64_t image;
    int label;
    double score;
    Area box;
};

/// By falling score; equal ones stay in their order.
void sort_by_score(std::vector<Detection>& detections);
/// Without those that overlap a better one of their image and label by more than `limit`; by falling score.
std::vector<Detection> without_duplicates(std::vector<Detection> detections, double limit);

/// Of one label: detections, best first, are right where they overlap an object that no better one has taken by
/// `least` or more. The area under precision over recall, where precision counts as the best at this recall or a
/// higher one. Throws std::invalid_argument where there is no such object.
double average_precision(std::vector<Detection> detections, const std::vector<Truth>& truths, int label, double least);
/// Mean over the labels that occur among the objects. Throws std::invalid_argument where there are none.
double mean_average_precision(const std::vector<Detection>& detections, const std::vector<Truth>& truths,
                              double least = 0.5);

/// Of pixels, each with a kind from 0 up: those that are of a kind and said to be over those that are or are said to
/// be; mean over the kinds that are there. Throws std::invalid_argument for no pixels or unequal numbers of them.
double mean_overlap(std::span<const int> said, std::span<const int> kinds);

}  // namespace ulp
