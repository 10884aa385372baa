#include "engine/nets/average_precision.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

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

}  // namespace ulp
