// The convention for subcommands of the program `ulplab`.
//
// One file a subcommand, experiments/cli/<name>.cpp, that ends with a definition like
//
//     Command verify_command() { return {"verify", "replay recordings of GPUs against the models", declare_verify}; }
//
// and its name in the list of experiments/cli/table.cpp. `declare_verify` adds the options to the parser and
// returns what runs:
//
//     struct VerifyOptions { std::string folder; };
//     ExitCode verify(const VerifyOptions& options);      // prints on stdout; throws UsageError, DataError, BitsDiffer
//     Action declare_verify(OptionParser& app) {
//         const auto options = std::make_shared<VerifyOptions>();
//         app.add_option("DIR", options->folder, "folder of recordings").required();
//         return [options] { return verify(*options); };
//     }
//
// Names are a subcommand's own, since sources of one room are compiled together. A subcommand never calls exit and
// never prints an error: it throws (softfloat/errors.hpp) or returns a code.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/exit_codes.hpp"
#include "experiments/framework/options.hpp"

namespace ulp {

using Action = std::function<ExitCode()>;

struct Command {
    std::string_view name;
    std::string_view summary;              // for `ulplab --help`: what it does, no full stop
    Action (*declare)(OptionParser& app);  // adds the options; the action runs if the user chose this subcommand
};

/// For the `declare` of what has subcommands of its own: the action runs the one that the user chose.
Action declare_subcommands(OptionParser& app, std::span<const Command> commands);

/// The subcommands in the order of `ulplab --help`.
std::span<const Command> commands();

/// The program: parses `arguments` (without the program's name) and runs the subcommand they choose.
ExitCode run_ulplab(const std::vector<std::string>& arguments);

// The whole command line, declared but not run: to be described (manual.cpp).

/// `ulplab` with all its subcommands and their options.
OptionParser declared_program();

}  // namespace ulp
