#include "experiments/framework/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace ulp {

Progress::Progress(std::string label) : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) != 0) { update(0); }

Progress::~Progress() {
    if (terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(double fraction) {
    const int percent = static_cast<int>(100 * std::clamp(fraction, 0.0, 1.0));
    if (!terminal_ || percent == drawn_percent_) return;
    drawn_percent_ = percent;
    constexpr int width = 40;
    const int filled = width * percent / 100;
    fmt::print(stderr, "\r{:<20} [{:=<{}}{: <{}}] {:3d}%", label_, "", filled, "", width - filled, percent);
    std::fflush(stderr);
}

}  // namespace ulp
