// `ulplab run NAME...`: runs experiments.
#include <memory>

#include "experiments/cli/command.hpp"
#include "experiments/framework/runner.hpp"

namespace ulp {
namespace {

struct RunCommandOptions {
    std::vector<std::string> names;
    RunOptions run;
};

Action declare_run(OptionParser& app) {
    const auto options = std::make_shared<RunCommandOptions>();
    app.add_option("NAME", options->names, "experiments, or all; see `ulplab list`").required();
    declare_run_options(app, options->run);
    return [options] { return run_experiments(chosen_experiments(options->names), options->run); };
}

}  // namespace

Command run_command() { return {"run", "run experiments into the output folder", declare_run}; }

}  // namespace ulp
