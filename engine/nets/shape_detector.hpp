// A single-shot detector of one shape a scene, after Liu et al., "SSD: Single shot multibox detector" (2016): a grid of
// cells, in each some anchors, of each a score for every kind of shape and the sides of its box.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/data/generated.hpp"
#include "engine/nets/blocks.hpp"

namespace ulp {

// How well boxes and pixels were found: overlap, duplicates, and the mean average precision of detectors (Everingham et
// al., "The Pascal visual object classes challenge", 2015).

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

struct Scenery {
    Scenes train, test;
    std::vector<Area> anchors;
};

Area area_of(const Box& box);
/// The boxes that the net judges, in the order of its numbers: cells of 4 x 4 pixels row by row, in a cell by size.
std::vector<Area> anchors_of(Index side);
/// The anchor with its sides moved by four offsets, counted in its width.
Area moved(const Area& anchor, const float* offsets);

/// What the anchors of some training scenes should say.
struct Targets {
    std::vector<int> labels;     // of every anchor; 0 is the ground, 1 the first shape
    std::vector<int> matched;    // the anchors that look at a shape
    std::vector<float> offsets;  // of these, four each

    /// An anchor looks at a shape that it overlaps by half, or at least as well as any other anchor.
    Targets(const Scenery& scenery, const std::vector<Index>& which);
};

/// Three convolutions and a head.
struct Detector {
    Conv2d conv1, conv2, conv3, head;

    Detector(Model& model, Index channels);
    /// images (count, 3, side, side) -> (count * anchors, numbers of an anchor).
    Var operator()(Var x) const;
};

/// As SSD's: cross entropy of all anchors and squared errors of the matched ones' sides, added up and divided by the
/// number of these; times a weight.
Var detection_loss(Var said, const Targets& targets, double weight);
/// What the net sees in the test scenes: every anchor and shape that is likely enough, without duplicates; by scene,
/// the likeliest first.
std::vector<Detection> detections_of(Evaluation& evaluation, const Detector& net, const Scenery& scenery);
std::vector<Truth> truths_of(const Scenes& scenes);

}  // namespace ulp
