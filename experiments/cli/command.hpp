// The convention for subcommands of the program `ulplab`.
//
// One file a subcommand, experiments/cli/<name>.cpp, that ends with a definition like
//
//     Command verify_command() { return {"verify", "replay recordings of GPUs against the models", declare_verify}; }
//
// and its name in the list of experiments/cli/run_ulplab.cpp. `declare_verify` adds the options to the parser and
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
// never prints an error: it throws (softfloat/errors.hpp) or returns a code. This header brings what subcommands are
// written with: fmt, the errors, and the standard headers below.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/files/zip.hpp"
#include "experiments/framework/exit_codes.hpp"
#include "experiments/framework/options.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

using Action = std::function<ExitCode()>;

struct Command {
    std::string_view name;
    std::string_view summary;              // for `ulplab --help`: what it does, no full stop
    Action (*declare)(OptionParser& app);  // adds the options; the action runs if the user chose this subcommand
};

/// For the `declare` of commands that read archives.
inline void add_expansion_option(OptionParser& app) {
    app.add_option("--max-expansion", ZipArchive::most_times,
                   "how many times its own size an archive may unfold to, where that is more than 64 MiB")
        .range(1, 1000000)
        .capture_default_str();
}

/// For the `declare` of what has subcommands of its own: the action runs the one that the user chose.
Action declare_subcommands(OptionParser& app, std::span<const Command> commands);

/// The subcommands in the order of `ulplab --help`.
std::span<const Command> commands();

/// The program: parses `arguments` (without the program's name) and runs the subcommand they choose.
ExitCode run_ulplab(const std::vector<std::string>& arguments);

// The whole command line, declared but not run: to be described (manual.cpp).

/// `ulplab` with all its subcommands and their options.
OptionParser declared_program();

// What commands and options were called in 0.2.0: they are refused, with their new names. To be removed with the next
// version.

struct OldName {
    std::string_view command;  // "explain", "gpu fma"; empty: every command
    std::string_view option;   // "--model", "--format json"; empty: the command itself
    std::string_view now;      // what to write in its place
};
std::span<const OldName> old_names();

/// Throws UsageError, "sweep is now: ulplab run --grid FILE", where the arguments hold an old name.
void refuse_old_names(const std::vector<std::string>& arguments);

}  // namespace ulp
