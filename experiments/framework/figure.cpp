#include "experiments/framework/figure.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ulp {

std::string first_x(const Series& series, const std::function<bool(double)>& is, const std::string& before,
                    const std::string& none) {
    const auto found = std::ranges::find_if(series.points, [&](const Point& point) { return is(point.y); });
    return found == series.points.end() ? none : before + fmt::format("{:g}", found->x);
}

Axis named_axis(const std::vector<std::string>& names, std::string label) {
    Axis axis{.label = std::move(label), .from = -0.6, .to = static_cast<double>(names.size()) - 0.4};
    for (const std::string& name : names) axis.names.emplace_back(static_cast<double>(axis.names.size()), name);
    return axis;
}

std::vector<Guide> fp16_underflow() {
    return {{.right = -25.0, .text = "lost in fp16"},
            {.left = -25.0, .right = -14.0, .text = "subnormal", .strength = 0.18}};
}

void draw_bars(Figure& figure) {
    const auto count = static_cast<double>(figure.series.size());
    for (double i = 0; i < count; ++i) {
        figure.looks.push_back({.mark = Mark::boxes, .shift = 0.8 / count * (i - 0.5 * (count - 1)), .number = true});
    }
    figure.bar_width = 0.72 / count;
}

}  // namespace ulp
