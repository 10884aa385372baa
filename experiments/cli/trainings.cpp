// `ulplab dev page trainings`: the experiments that train, with what they train and the failure that they show, from
// the committed registers.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiments/cli/pages.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/register.hpp"
#include "experiments/framework/values.hpp"

namespace ulp {
namespace {

constexpr const char* nothing_known = "not recorded";

/// 4275210 as "4,275,210".
std::string grouped(std::int64_t number) {
    std::string text = fmt::format("{}", number);
    for (std::size_t place = text.size(); place > 3;) text.insert(place -= 3, ",");
    return text;
}

/// The different numbers, in the order of the training runs.
std::string listed(const std::vector<TrainingsMade>& trainings, std::int64_t TrainingsMade::*field) {
    std::vector<std::string> all;
    for (const TrainingsMade& made : trainings) {
        std::string text = grouped(made.*field);
        if (std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
    }
    return fmt::format("{}", fmt::join(all, "; "));
}

std::string origin_cell(const Experiment& experiment) {
    if (!experiment.effect) return "";
    std::string text = origin_text(*experiment.effect);
    std::vector<std::string> names;
    for (const Experiment* other : counterparts_of(experiment)) names.push_back(fmt::format("`{}`", other->name));
    if (names.empty()) return text;
    return fmt::format("{} {}: {}", text,
                       experiment.effect->inserted.empty() ? "Constructed in" : "Occurs by itself in",
                       fmt::join(names, ", "));
}

/// What the claim of the experiment's effect measured, else that of its first claim with an interval.
std::string effect_cell(const Experiment& experiment, const std::vector<Claim>& claims) {
    const std::string own = experiment.name + ".";
    const auto is_effect = [&](const Claim& claim) {
        return experiment.effect ? claim.id == own + experiment.effect->claim
                                 : claim.id.starts_with(own) && claim.parity.has_value();
    };
    const auto found = std::ranges::find_if(claims, is_effect);
    if (found == claims.end()) return "";
    return fmt::format("`{}` {}: {}", found->id.substr(own.size()), verdict_name(found->verdict), found->measured);
}

/// The experiment's run in the register as a row; empty where the register has no claim of it.
std::vector<std::string> row_of(const Experiment& experiment, const Register& all) {
    const auto own = [&](const Claim& claim) { return claim.id.starts_with(experiment.name + "."); };
    if (std::ranges::none_of(all.claims, own)) return {};
    const auto run = std::ranges::find(all.runs, experiment.name, &RegisteredRun::experiment);
    std::vector<std::string> row(5, nothing_known);
    if (run != all.runs.end()) {
        std::int64_t runs = 0;
        for (const TrainingsMade& made : run->trainings) runs += made.runs;
        row = {listed(run->trainings, &TrainingsMade::parameters), fmt::format("{}", fmt::join(run->inputs, "; ")),
               listed(run->trainings, &TrainingsMade::steps), grouped(runs),
               fmt::format("{:.3g} s", run->processor_seconds)};
    }
    row.insert(row.begin(), {fmt::format("`{}`", experiment.name), std::string(name_of(all.size))});
    row.push_back(origin_cell(experiment));
    row.push_back(effect_cell(experiment, all.claims));
    return row;
}

bool trains(const Experiment& experiment, const Register& all) {
    const auto run = std::ranges::find(all.runs, experiment.name, &RegisteredRun::experiment);
    return run != all.runs.end() && !run->trainings.empty();
}

constexpr std::string_view lead =
    "The experiments that train, from the registers of their quick and full runs. Parameters: of each net. Steps: of "
    "each training. Training runs: of all arithmetics and seeds together. Time: of all processors' threads. Origin: "
    "whether something was inserted so that low precision fails. Effect: what the claim of the failure measured, with "
    "its 95 % interval where it has one; of an experiment that shows no failure, its first comparison with fp32.\n\n";

}  // namespace

std::string trainings_page() {
    const std::array registers = {read_register(RunSize::quick), read_register(RunSize::full)};
    std::vector<std::vector<std::string>> rows;
    for (const Experiment& experiment : experiments()) {
        if (std::ranges::none_of(registers, [&](const Register& all) { return trains(experiment, all); })) continue;
        for (const Register& all : registers) {
            std::vector<std::string> row = row_of(experiment, all);
            if (!row.empty()) rows.push_back(std::move(row));
        }
    }
    const std::string table = markdown_table(
        {"experiment", "run", "parameters", "data", "steps", "training runs", "time", "origin", "effect"}, rows);
    std::string origins;
    for (const Register& all : registers) {
        origins +=
            fmt::format("{} runs: ulplab {} on {}, {}.\n", name_of(all.size), all.version, all.date, all.machine);
    }
    const std::string text = std::string(lead) + origins + "\n" + table;
    return generated_document("Training runs", "ulplab dev page trainings", text);
}

}  // namespace ulp
