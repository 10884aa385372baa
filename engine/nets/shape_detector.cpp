#include "engine/nets/shape_detector.hpp"

#include <algorithm>
#include <array>

#include "engine/tensor/step_functions.hpp"

namespace ulp {
namespace {

constexpr Index classes = 1 + 5;        // the ground and five shapes
constexpr Index numbers = classes + 4;  // of an anchor: scores, and where the box's sides lie
constexpr Index cell = 4;               // pixels a side
/// Sides of the anchors of a cell, as shares of the image's.
constexpr std::array<double, 2> anchor_sizes = {0.5, 0.75};

/// Where a box's sides lie, counted from an anchor's in its width.
std::array<double, 4> offsets_of(const Area& box, const Area& anchor) {
    const double size = anchor.right - anchor.left;
    return {(box.left - anchor.left) / size, (box.top - anchor.top) / size, (box.right - anchor.right) / size,
            (box.bottom - anchor.bottom) / size};
}

}  // namespace

Area area_of(const Box& box) {
    return {static_cast<double>(box.left), static_cast<double>(box.top), static_cast<double>(box.right),
            static_cast<double>(box.bottom)};
}

std::vector<Area> anchors_of(Index side) {
    std::vector<Area> anchors;
    const Index cells = (side + cell - 1) / cell;  // as two convolutions of stride 2 leave
    for (Index i = 0; i < cells * cells; ++i) {
        const double x = static_cast<double>(cell) * (static_cast<double>(i % cells) + 0.5);
        const double y = static_cast<double>(cell) * (static_cast<double>(i / cells) + 0.5);
        for (const double size : anchor_sizes) {
            const double half = 0.5 * size * static_cast<double>(side);
            anchors.push_back({x - half, y - half, x + half, y + half});
        }
    }
    return anchors;
}

Area moved(const Area& anchor, const float* offsets) {
    const auto by = [&](int i) { return (anchor.right - anchor.left) * static_cast<double>(offsets[i]); };
    return {anchor.left + by(0), anchor.top + by(1), anchor.right + by(2), anchor.bottom + by(3)};
}

Targets::Targets(const Scenery& scenery, const std::vector<Index>& which) {
    for (const Index i : which) {
        const auto scene = static_cast<std::size_t>(i);
        const Area box = area_of(scenery.train.boxes[scene]);
        std::vector<double> overlaps;
        for (const Area& anchor : scenery.anchors) overlaps.push_back(overlap_of(anchor, box));
        const double enough = std::min(0.5, *std::max_element(overlaps.begin(), overlaps.end()));
        for (std::size_t a = 0; a < overlaps.size(); ++a) {
            labels.push_back(overlaps[a] >= enough ? 1 + scenery.train.images.labels[scene] : 0);
            if (labels.back() == 0) continue;
            matched.push_back(static_cast<int>(labels.size()) - 1);
            for (const double offset : offsets_of(box, scenery.anchors[a])) {
                offsets.push_back(static_cast<float>(offset));
            }
        }
    }
}

Detector::Detector(Model& model, Index channels)
    : conv1(model, "conv1", 3, channels, 3, {.stride = 2, .padding = 1}),
      conv2(model, "conv2", channels, 2 * channels, 3, {.stride = 2, .padding = 1}),
      conv3(model, "conv3", 2 * channels, 2 * channels, 3, {.padding = 1}),
      head(model, "head", 2 * channels, static_cast<Index>(anchor_sizes.size()) * numbers, 3, {.padding = 1}) {}

Var Detector::operator()(Var x) const {
    x = relu(conv3(relu(conv2(relu(conv1(x))))));
    // Convolutions as they start make numbers smaller; the head takes them at the size of the pixels.
    x = permute(head(scaled(x, 4)), {0, 2, 3, 1});
    return reshape(x, {x.value().size() / numbers, numbers});
}

Var detection_loss(Var said, const Targets& targets, double weight) {
    const auto rows = static_cast<double>(targets.labels.size());
    const auto matched = static_cast<Index>(targets.matched.size());
    const Var scores = cross_entropy(slice(said, 1, 0, classes), targets.labels);
    const Var sides = embedding(slice(said, 1, classes, 4), targets.matched, {matched});
    const Var errors = mse(sides, Tensor({matched, 4}, targets.offsets));
    const Var named = scaled(scores, rows / static_cast<double>(matched));
    const Var placed = scaled(errors, 4);
    return scaled(add(named, placed), weight);
}

std::vector<Detection> detections_of(Evaluation& evaluation, const Detector& net, const Scenery& scenery) {
    const std::vector<Index> which = index_range(0, scenery.test.images.size());
    Tape tape(evaluation);
    const Tensor& said = net(centred_on(tape, scenery.test.images, which, 2)).value();
    const float* row = said.data();
    std::vector<Detection> all;
    for (const Index image : which) {
        std::vector<Detection> found;
        for (const Area& anchor : scenery.anchors) {
            const float top = *std::max_element(row, row + classes);
            std::array<float, classes> p{};
            float sum = 0;
            for (std::size_t c = 0; c < p.size(); ++c) sum += p[c] = step::exp(row[c] - top);
            for (std::size_t c = 1; c < p.size(); ++c) {
                const double score = static_cast<double>(p[c]) / static_cast<double>(sum);
                if (score >= 0.02)
                    found.push_back({image, static_cast<int>(c) - 1, score, moved(anchor, row + classes)});
            }
            row += numbers;
        }
        found = without_duplicates(std::move(found), 0.45);
        all.insert(all.end(), found.begin(), found.end());
    }
    return all;
}

std::vector<Truth> truths_of(const Scenes& scenes) {
    std::vector<Truth> truths;
    for (std::size_t i = 0; i < scenes.boxes.size(); ++i) {
        truths.push_back({static_cast<std::int64_t>(i), scenes.images.labels[i], area_of(scenes.boxes[i])});
    }
    return truths;
}

}  // namespace ulp
