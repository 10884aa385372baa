#include "engine/nets/shape_detector.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>

#include "engine/tensor/steps.hpp"

namespace ulp {

double overlap_of(const Area& a, const Area& b) {
    const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
    const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
    if (width <= 0 || height <= 0) return 0;
    const auto size = [](const Area& area) { return (area.right - area.left) * (area.bottom - area.top); };
    return width * height / (size(a) + size(b) - width * height);
}

void sort_by_score(std::vector<Detection>& detections) {
    std::stable_sort(detections.begin(), detections.end(),
                     [](const Detection& a, const Detection& b) { return a.score > b.score; });
}

std::vector<Detection> without_duplicates(std::vector<Detection> detections, double limit) {
    sort_by_score(detections);
    std::vector<Detection> kept;
    for (const Detection& d : detections) {
        const bool again = std::any_of(kept.begin(), kept.end(), [&](const Detection& better) {
            return better.image == d.image && better.label == d.label && overlap_of(better.box, d.box) > limit;
        });
        if (!again) kept.push_back(d);
    }
    return kept;
}

double average_precision(std::vector<Detection> detections, const std::vector<Truth>& truths, int label, double least) {
    std::erase_if(detections, [label](const Detection& d) { return d.label != label; });
    sort_by_score(detections);
    std::vector<Truth> left;
    std::copy_if(truths.begin(), truths.end(), std::back_inserter(left),
                 [label](const Truth& t) { return t.label == label; });
    if (left.empty()) throw std::invalid_argument("no object has this label: it has no average precision");
    const auto objects = static_cast<double>(left.size());
    std::vector<double> precision;  // at each object found
    double found = 0;
    for (std::size_t i = 0; i < detections.size(); ++i) {
        const Detection& d = detections[i];
        auto best = left.end();
        for (auto t = left.begin(); t != left.end(); ++t) {
            const bool better = best == left.end() || overlap_of(d.box, t->box) > overlap_of(d.box, best->box);
            if (t->image == d.image && better) best = t;
        }
        if (best == left.end() || overlap_of(d.box, best->box) < least) continue;
        left.erase(best);
        found += 1;
        precision.push_back(found / static_cast<double>(i + 1));
    }
    double area = 0;
    double best = 0;
    for (auto p = precision.rbegin(); p != precision.rend(); ++p) {
        best = std::max(best, *p);
        area += best / objects;
    }
    return area;
}

double mean_average_precision(const std::vector<Detection>& detections, const std::vector<Truth>& truths,
                              double least) {
    std::set<int> labels;
    for (const Truth& truth : truths) labels.insert(truth.label);
    if (labels.empty()) throw std::invalid_argument("without objects there is no mean average precision");
    double sum = 0;
    for (const int label : labels) sum += average_precision(detections, truths, label, least);
    return sum / static_cast<double>(labels.size());
}

double mean_overlap(std::span<const int> said, std::span<const int> kinds) {
    if (kinds.empty() || said.size() != kinds.size()) {
        throw std::invalid_argument("an overlap needs pixels, and as many kinds as are said");
    }
    struct Count {
        double both = 0, there = 0, either = 0;
    };
    std::map<int, Count> counts;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        Count& count = counts[kinds[i]];
        count.there += 1;
        count.either += 1;
        if (said[i] == kinds[i]) {
            count.both += 1;
        } else {
            counts[said[i]].either += 1;
        }
    }
    double sum = 0;
    double there = 0;
    for (const auto& [kind, count] : counts) {
        if (count.there == 0) continue;
        sum += count.both / count.either;
        there += 1;
    }
    return sum / there;
}

namespace {

constexpr Index scored_classes = 1 + 5;               // the ground and five shapes
constexpr Index anchor_numbers = scored_classes + 4;  // of an anchor: scores, and where the box's sides lie
constexpr Index cell = 4;                             // pixels a side
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
      head(model, "head", 2 * channels, static_cast<Index>(anchor_sizes.size()) * anchor_numbers, 3, {.padding = 1}) {}

Var Detector::operator()(Var x) const {
    x = relu(conv3(relu(conv2(relu(conv1(x))))));
    // Convolutions as they start make numbers smaller; the head takes them at the size of the pixels.
    x = permute(head(scaled(x, 4)), {0, 2, 3, 1});
    return reshape(x, {x.value().size() / anchor_numbers, anchor_numbers});
}

Var detection_loss(Var said, const Targets& targets, double weight) {
    const auto rows = static_cast<double>(targets.labels.size());
    const auto matched = static_cast<Index>(targets.matched.size());
    const Var scores = cross_entropy(slice(said, 1, 0, scored_classes), targets.labels);
    const Var sides = embedding(slice(said, 1, scored_classes, 4), targets.matched, {matched});
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
            const float top = *std::max_element(row, row + scored_classes);
            std::array<float, scored_classes> p{};
            float sum = 0;
            for (std::size_t c = 0; c < p.size(); ++c) sum += p[c] = step::exp(row[c] - top);
            for (std::size_t c = 1; c < p.size(); ++c) {
                const double score = static_cast<double>(p[c]) / static_cast<double>(sum);
                if (score >= 0.02)
                    found.push_back({image, static_cast<int>(c) - 1, score, moved(anchor, row + scored_classes)});
            }
            row += anchor_numbers;
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
