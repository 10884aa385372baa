// A single-shot detector of one shape a scene, after Liu et al., "SSD: Single shot multibox detector" (2016): a grid of
// cells, in each some anchors, of each a score for every kind of shape and the sides of its box.
#pragma once

#include <vector>

#include "engine/data/shapes.hpp"
#include "engine/nets/average_precision.hpp"
#include "engine/nets/blocks.hpp"

namespace ulp {

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
