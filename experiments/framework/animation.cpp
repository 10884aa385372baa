#include "experiments/framework/animation.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace ulp {

std::string animated(std::string svg, int frames, double seconds) {
    constexpr std::string_view start = "<g id=\"gnuplot_plot_";
    const double total = seconds * frames + 1;
    for (std::size_t at = svg.find(start); at != std::string::npos; at = svg.find(start, at)) {
        const std::size_t number = at + start.size();
        const int frame = (std::atoi(svg.c_str() + number) - 1) % frames;
        const double from = seconds * frame / total;
        const double to = frame == frames - 1 ? 1 : seconds * (frame + 1) / total;
        std::string values = "visible;hidden";
        std::string times = fmt::format("0;{:.4f}", to);
        if (frame > 0) {
            values = frame == frames - 1 ? "hidden;visible" : "hidden;visible;hidden";
            times = fmt::format("0;{:.4f}", from) + (frame == frames - 1 ? "" : fmt::format(";{:.4f}", to));
        }
        const std::size_t close = svg.find('>', at);
        svg.insert(close + 1, fmt::format("<animate attributeName=\"visibility\" calcMode=\"discrete\" values=\"{}\" "
                                          "keyTimes=\"{}\" dur=\"{:.1f}s\" repeatCount=\"indefinite\"/>",
                                          values, times, total));
        if (frame != frames - 1) svg.insert(close, " visibility=\"hidden\"");
        at = close;
    }
    return svg;
}

}  // namespace ulp
