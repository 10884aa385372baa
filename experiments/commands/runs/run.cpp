// `ulplab run NAME...`: runs experiments.
#include <algorithm>
#include <memory>

#include "experiments/commands/command.hpp"
#include "experiments/running/runner.hpp"

namespace ulp {
namespace {

struct Options {
    std::vector<std::string> names;
    RunOptions run;
};

/// In the order given, each once; "all" stands for every experiment.
std::vector<const Experiment*> choose(const std::vector<std::string>& names) {
    std::vector<const Experiment*> chosen;
    const auto add = [&](const Experiment& experiment) {
        if (std::find(chosen.begin(), chosen.end(), &experiment) == chosen.end()) chosen.push_back(&experiment);
    };
    for (const std::string& name : names) {
        if (name == "all") {
            for (const Experiment& experiment : experiments()) add(experiment);
        } else {
            add(experiment_by_name(name));
        }
    }
    return chosen;
}

Action declare(OptionParser& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("NAME", options->names, "experiments, or all; see `ulplab list`").required();
    declare_run_options(app, options->run);
    return [options] { return run_experiments(choose(options->names), options->run); };
}

}  // namespace

Command run_command() { return {"run", "run experiments into the output folder", declare}; }

}  // namespace ulp
