// `ulplab list [NAME...]`: the experiments and their settings.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/values.hpp"

namespace ulp {
namespace {

struct ListOptions {
    std::vector<std::string> names;
    bool json = false;
};

nlohmann::ordered_json settings_json(const Experiment& experiment) {
    auto list = nlohmann::ordered_json::array();
    for (const Setting& setting : experiment.settings) {
        list.push_back({{"name", setting.name},
                        {"help", setting.help},
                        {"smoke", to_text(setting.at(RunSize::smoke))},
                        {"quick", to_text(setting.quick)},
                        {"full", to_text(setting.full)}});
    }
    return list;
}

void print_json(const std::vector<const Experiment*>& chosen) {
    auto list = nlohmann::ordered_json::array();
    for (const Experiment* experiment : chosen) {
        list.push_back({{"name", experiment->name},
                        {"title", experiment->title},
                        {"question", experiment->question},
                        {"chapter", chapter_name(experiment->place.chapter)},
                        {"origin", experiment->effect ? origin_text(*experiment->effect) : ""},
                        {"settings", settings_json(*experiment)}});
    }
    fmt::print("{}\n", list.dump(2));
}

ExitCode list(const ListOptions& options) {
    std::vector<const Experiment*> chosen;
    for (const std::string& name : options.names) chosen.push_back(&experiment_by_name(name));
    if (options.names.empty()) {
        for (const Experiment& experiment : experiments()) chosen.push_back(&experiment);
    }
    if (options.json) {
        print_json(chosen);
        return ExitCode::good;
    }
    for (const Experiment* experiment : chosen) {
        fmt::print("{:<20} {}\n", experiment->name, experiment->question);
        if (options.names.empty()) continue;
        if (experiment->effect) fmt::print("{}\n", origin_text(*experiment->effect));
        fmt::print("{}", describe(experiment->settings));
    }
    return ExitCode::good;
}

Action declare_list(OptionParser& app) {
    const auto options = std::make_shared<ListOptions>();
    app.add_option("NAME", options->names, "show the settings of these experiments");
    app.add_flag("--json", options->json, "prints JSON");
    return [options] { return list(*options); };
}

}  // namespace

std::string experiments_table() {
    std::vector<std::vector<std::string>> rows;
    for (const Experiment& experiment : experiments()) {
        rows.push_back({fmt::format("`{}`", experiment.name), experiment.question});
    }
    return markdown_table({"experiment", "question"}, rows);
}

Command list_command() { return {"list", "the experiments, or the settings of those named", declare_list}; }

}  // namespace ulp
