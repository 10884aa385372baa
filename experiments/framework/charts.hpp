// Small charts as SVG, in the page's colours (plots/single_page.css).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

/// A format's exponents under a histogram. Single numbers: subnormal from `lowest` to `normal` - 1, normal to
/// `highest`.
struct ExponentRange {
    std::string name;
    int lowest, normal, highest;
};

/// Numbers by exponent, on a logarithmic scale, and below it where each format's range lies.
std::string exponent_chart(const std::map<int, std::int64_t>& numbers, const std::vector<ExponentRange>& ranges,
                           std::string_view title);

/// A line through the medians, in a band from minimum to maximum.
struct ChartLine {
    std::string name;
    std::vector<double> x{}, low{}, middle{}, high{};  // NaN: not drawn
    std::size_t colour = 0;                            // of six
};
struct ChartAxes {
    std::string title, x, y;
    bool logarithmic = false;  // y; numbers that are not positive are not drawn
};
std::string line_chart(const std::vector<ChartLine>& lines, const ChartAxes& axes);

}  // namespace ulp
