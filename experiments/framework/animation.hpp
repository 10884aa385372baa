// Moving drawings: a gnuplot SVG whose curves are frames, shown in turn. Plays in any browser, offline.
#pragma once

#include <string>

namespace ulp {

/// gnuplot numbers the curves of each panel from 1; curve k shows frame (k - 1) mod `frames`, for `seconds` each, over
/// and over; the last one stays a second longer. Where nothing can move, the last frame is seen.
std::string animated(std::string svg, int frames, double seconds = 0.6);

}  // namespace ulp
