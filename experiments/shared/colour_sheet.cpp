#include "experiments/shared/colour_sheet.hpp"

#include <fmt/format.h>

namespace ulp {

Series colour_sheet(std::string name, std::span<const std::uint8_t> pictures, Index side) {
    Series series{std::move(name), formats::fp64, {}};
    const Index plane = side * side;
    const Index width = static_cast<Index>(pictures.size()) / (3 * plane) * side;
    for (Index i = 0; i < width * side; ++i) {
        const Index picture = i % width / side;
        const auto place = static_cast<std::size_t>(picture * 3 * plane + i / width * side + i % side);
        const auto light = [&](std::size_t c) { return pictures[place + c * static_cast<std::size_t>(plane)]; };
        const int colour = light(0) * 65536 + light(1) * 256 + light(2);
        series.points.push_back({static_cast<double>(i), static_cast<double>(colour)});
    }
    return series;
}

void show_as_rows(Figure& figure, Index side, bool in_grey) {
    figure.plot = "pictures";
    figure.variables = {
        {"pixels", static_cast<double>(side)},
        {"pictures", static_cast<double>(static_cast<Index>(figure.series.front().points.size()) / (side * side))},
        {"rows", static_cast<double>(figure.series.size())}};
    if (in_grey) figure.variables.emplace_back("in_grey", 1.0);
}

}  // namespace ulp
