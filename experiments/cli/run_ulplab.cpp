// Parses the command line of `ulplab` and runs the subcommand that it names.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "experiments/cli/command.hpp"
#include "experiments/cli/old_names.hpp"
#include "experiments/framework/machine.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {
namespace {

/// The parser would only say that a subcommand is required.
void refuse_unknown(const std::string& name) {
    std::vector<std::string> names;
    for (const Command& command : commands()) names.emplace_back(command.name);
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    throw UsageError(fmt::format("there is no subcommand \"{}\"; did you mean {}? choose from {}", name,
                                 nearest_names(name, names, 1), fmt::join(names, ", ")));
}

constexpr const char* description = "ulplab: a laboratory for low-precision training numerics";

}  // namespace

Action declare_subcommands(OptionParser& app, std::span<const Command> commands) {
    app.require_subcommand();
    const auto declared = std::make_shared<std::vector<std::pair<OptionParser, Action>>>();
    for (const Command& command : commands) {
        OptionParser sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
        declared->emplace_back(sub, command.declare(sub));
    }
    return [declared] {
        const auto chosen = std::ranges::find_if(*declared, [](const auto& sub) { return sub.first.parsed(); });
        return chosen->second();
    };
}

OptionParser declared_program() {
    OptionParser program(description, "ulplab");
    program.version(program_version());
    declare_subcommands(program, commands());
    return program;
}

ExitCode run_ulplab(const std::vector<std::string>& arguments) {
    return guarded([&] {
        OptionParser program(description, "ulplab");
        program.version(program_version());
        const Action chosen = declare_subcommands(program, commands());
        refuse_old_names(arguments);
        if (!arguments.empty() && !arguments.front().starts_with('-')) refuse_unknown(arguments.front());
        if (!program.parse(arguments)) return ExitCode::good;
        return chosen();
    });
}

}  // namespace ulp
