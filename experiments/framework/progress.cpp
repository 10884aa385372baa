#include "experiments/framework/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace ulp {

Progress::Progress(std::size_t tasks) : terminal_(isatty(STDERR_FILENO) != 0), tasks_(tasks) {}

Progress::~Progress() { clear(); }

void Progress::next(std::string label) {
    label_ = std::move(label);
    ++begun_;
    update(0);
}

void Progress::update(double fraction) {
    if (!terminal_) return;
    fraction = std::clamp(fraction, 0.0, 1.0);
    constexpr int width = 30;
    const double before = static_cast<double>(begun_ - std::min<std::size_t>(begun_, 1));
    const int filled = static_cast<int>(width * (before + fraction) / static_cast<double>(tasks_));
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_).count();
    std::string line = fmt::format("[{:=<{}}{: <{}}] {:2d}/{}  {}  {:.0f} %  {}:{:02d}", "", filled, "", width - filled,
                                   begun_, tasks_, label_, 100 * fraction, seconds / 60, seconds % 60);
    if (line == drawn_) return;
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
    drawn_ = std::move(line);
}

void Progress::clear() {
    if (terminal_ && !drawn_.empty()) fmt::print(stderr, "\r\033[K");
    drawn_.clear();
}

}  // namespace ulp
