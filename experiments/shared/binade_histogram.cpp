#include "experiments/shared/binade_histogram.hpp"

#include <algorithm>
#include <cmath>

namespace ulp {
namespace {

// To nearest even fp16 makes nothing of 2^-25, half its smallest number, and 2^-14, its smallest normal number, of what
// lies half a unit in the last place below it.
constexpr float largest_lost = 0x1p-25F;
constexpr float first_normal = 0x1p-14F - 0x1p-25F;

}  // namespace

void BinadeHistogram::add(std::span<const float> values) {
    ExponentHistogram::add(values);
    for (const float value : values) {
        const float magnitude = std::fabs(value);
        lost_ += magnitude > 0 && magnitude <= largest_lost ? 1 : 0;
        subnormal_ += magnitude > largest_lost && magnitude < first_normal ? 1 : 0;
    }
}

void BinadeHistogram::add(const BinadeHistogram& other) {
    ExponentHistogram::add(other);
    lost_ += other.lost_;
    subnormal_ += other.subnormal_;
}

std::map<int, std::int64_t> BinadeHistogram::bins() const {
    std::map<int, std::int64_t> found;
    for (int e = lowest; e <= highest; ++e) {
        if (at(e) > 0) found[e] = at(e);
    }
    return found;
}

double BinadeHistogram::lost_share(int exponent) const {
    const std::int64_t nonzero = std::max<std::int64_t>(1, total() - zeros());
    return static_cast<double>(below(-25 - exponent)) / static_cast<double>(nonzero);
}

Series BinadeHistogram::series(std::string name) const {
    Series series{std::move(name), formats::fp64, {}};
    for (int bin = first_shown_bin; bin <= last_shown_bin; ++bin) {
        series.points.push_back({static_cast<double>(bin), share(at(bin))});
    }
    return series;
}

bool BinadeHistogram::equals_shifted(const BinadeHistogram& other, int binades) const {
    std::map<int, std::int64_t> moved;
    for (const auto& [bin, count] : bins()) moved[bin + binades] = count;
    return total() == other.total() && zeros() == other.zeros() && moved == other.bins();
}

void draw_binades(Figure& figure, Axis x, std::string y_label) {
    figure.axes = {std::move(x), share_axis(std::move(y_label), 0.2)};
    figure.looks = {{.mark = Mark::histogram}};
    figure.guides = fp16_underflow();
}

void draw_binades_in_panels(Figure& figure, Axis x, const std::vector<std::string>& words, std::vector<Panel> panels) {
    x.step = 8;
    figure.axes = {std::move(x), share_axis("", 0)};
    for (const Series& series : figure.series) {
        const auto panel = std::ranges::find(words, series.name.substr(0, series.name.find(' '))) - words.begin();
        figure.looks.push_back(
            {.title = series.name.substr(series.name.find(' ') + 1), .panel = static_cast<int>(panel)});
    }
    figure.guides = fp16_underflow();
    for (Guide& guide : figure.guides) guide.text.clear();
    figure.panels = std::move(panels);
    figure.key = Key::top_left;
}

}  // namespace ulp
