// The report: one HTML page that holds everything and needs nothing else.
#pragma once

#include <string>
#include <vector>

#include "experiments/results/stored_results.hpp"

namespace ulp {

/// Figures stand in the page as SVG, in the colours of the page. Works offline, in light and dark, on paper.
std::string report_html(const std::vector<StoredResult>& results);

}  // namespace ulp
