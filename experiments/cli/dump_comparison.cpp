#include "experiments/cli/dump_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/analysis/comparison.hpp"
#include "experiments/cli/inspection_page.hpp"
#include "experiments/framework/files.hpp"

namespace ulp {
namespace {

std::string share_text(std::int64_t part, std::int64_t all) {
    return part == 0 ? "0" : fmt::format("{:.3g}%", 100 * static_cast<double>(part) / static_cast<double>(all));
}

nlohmann::ordered_json step_or_null(const std::optional<std::int64_t>& step) {
    return step ? nlohmann::ordered_json(*step) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json json_of(const TensorDifference& found) {
    nlohmann::ordered_json json{{"name", found.name}, {"step", step_or_null(found.step)}, {"count", found.count}};
    json["differ"] = found.differ;
    json["first"] = found.differ > 0 ? nlohmann::ordered_json(found.first) : nlohmann::ordered_json(nullptr);
    json["largest_ulps"] = found.most_ulps;
    json["largest_difference"] = found.largest_difference;
    json["only_one_nan"] = found.only_one_nan;
    return json;
}

nlohmann::ordered_json json_of(const StepDrift& at) {
    return {{"step", step_or_null(at.step)},
            {"tensors", at.tensors},
            {"tensors_differ", at.tensors_differ},
            {"count", at.count},
            {"differ", at.differ},
            {"largest_ulps", at.most_ulps},
            {"largest_difference", at.largest_difference},
            {"first", at.first.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(at.first)}};
}

void print_drift(const std::vector<StepDrift>& drift) {
    if (drift.size() < 2) return;
    fmt::print("{:>10} {:>16} {:>14} {:>19} {:>12}\n", "step", "tensors differ", "numbers", "largest difference",
               "most ulps");
    for (const StepDrift& each : drift) {
        fmt::print("{:>10} {:>16} {:>14} {:>19.3g} {:>12}\n", each.step ? fmt::format("{}", *each.step) : "-",
                   fmt::format("{} of {}", each.tensors_differ, each.tensors), share_text(each.differ, each.count),
                   each.largest_difference, each.most_ulps);
    }
    fmt::print("{}\n", drift_sentence(drift));
}

void print_difference(const TensorDifference& found) {
    if (found.differ == 0) {
        fmt::print("{}: equal, {} numbers\n", printable(found.name), found.count);
        return;
    }
    fmt::print("{}: {} of {} numbers differ, first at {} (0x{:x}, 0x{:x})", printable(found.name), found.differ,
               found.count, found.first, found.first_bits, found.first_other_bits);
    if (found.most_ulps > 0) fmt::print(", by at most {} ulp (at {})", found.most_ulps, found.most_ulps_at);
    if (found.only_one_nan > 0) fmt::print(", {} are NaN in one dump alone", found.only_one_nan);
    fmt::print("\n");
}

}  // namespace

ExitCode compare_dumps(const std::string& a, const std::string& b, bool as_json, const std::string& page) {
    const std::vector<TensorDifference> found = differences(input_tensors({a}), input_tensors({b}));
    const std::vector<StepDrift> drift = drift_over_steps(found);
    const auto first = std::ranges::find_if(found, [](const TensorDifference& each) { return each.differ > 0; });
    if (as_json) {
        nlohmann::ordered_json json{{"tensors", nlohmann::ordered_json::array()},
                                    {"steps", nlohmann::ordered_json::array()},
                                    {"first", nullptr}};
        for (const TensorDifference& each : found) json["tensors"].push_back(json_of(each));
        for (const StepDrift& each : drift) json["steps"].push_back(json_of(each));
        if (first != found.end()) json["first"] = first->name;
        fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else {
        for (const TensorDifference& each : found) print_difference(each);
        print_drift(drift);
        if (first != found.end()) fmt::print("The first tensor that differs is {}.\n", printable(first->name));
    }
    if (!page.empty()) {
        write_output(page, drift_page(found, drift, fmt::format("{} against {}", printable(a), printable(b))));
        fmt::print(stderr, "Page: {}\n", page);
    }
    return first == found.end() ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace ulp
