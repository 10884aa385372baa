#include "experiments/framework/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "softfloat/errors.hpp"

namespace ulp {

std::string_view chapter_name(Chapter chapter) {
    constexpr std::array<std::string_view, 7> names = {"Formats",  "Overflow", "Swamping", "Underflow",
                                                       "Remedies", "Systems",  "Hardware"};
    return names.at(static_cast<std::size_t>(chapter));
}

const Experiment& experiment_by_name(std::string_view name) {
    const auto all = experiments();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Experiment& e) { return e.name == name; });
    if (found != all.end()) return *found;
    std::vector<std::string> names;
    for (const Experiment& experiment : all) names.push_back(experiment.name);
    throw UsageError(
        fmt::format("there is no experiment \"{}\"; choose from {}, or all", name, fmt::join(names, ", ")));
}

}  // namespace ulp
