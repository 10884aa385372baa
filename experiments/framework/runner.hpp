// Runs experiments: settings, record, figures, claims table. What `ulplab run` and the single programs share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/framework/exit_codes.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/options.hpp"

namespace ulp {

/// The options that every experiment takes.
struct RunOptions {
    std::uint64_t seed = 1;
    std::filesystem::path out = "out";
    bool full = false;                     // --full
    bool smoke = false;                    // --smoke
    std::vector<std::string> assignments;  // --set key=value
    std::string backend;                   // --unit SPEC
    std::string mnist;                     // --mnist DIR: the setting "mnist" where an experiment has it
    std::string text;                      // --data FILE: the setting "text" likewise
    bool force = false;                    // --force: run again what is complete
    bool verbose = false;                  // --verbose: every claim and product
    bool json = false;                     // --json

    [[nodiscard]] RunSize size() const { return full ? RunSize::full : smoke ? RunSize::smoke : RunSize::quick; }
};

/// In the order given, each once; "all" stands for every experiment. Throws UsageError for a name that is none.
std::vector<const Experiment*> chosen_experiments(const std::vector<std::string>& names);

void declare_run_options(OptionParser& app, RunOptions& options);

/// Runs them in turn into <out>/<name>/, but for those that are complete there, and prints what they answer, or with
/// --json a list of their result records. Checks all options before the first one starts. Throws as the errors of
/// softfloat/errors.hpp say.
ExitCode run_experiments(const std::vector<const Experiment*>& chosen, const RunOptions& options);

}  // namespace ulp
