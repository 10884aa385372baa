// Parses the command line of `ulplab` and runs the subcommand that it names.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "experiments/commands/command.hpp"
#include "experiments/commands/program.hpp"
#include "experiments/program/machine.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct Declared {
    OptionParser app;
    Action action;
};

std::vector<Declared> declare_commands(OptionParser& program) {
    std::vector<Declared> declared;
    for (const Command& command : commands()) {
        OptionParser app = program.add_subcommand(std::string(command.name), std::string(command.summary));
        declared.push_back({app, command.declare(app)});
    }
    return declared;
}

/// The parser would only say that a subcommand is required.
void refuse_unknown(const std::string& name) {
    std::vector<std::string_view> names;
    for (const Command& command : commands()) names.push_back(command.name);
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    throw UsageError(fmt::format("there is no subcommand \"{}\"; choose from {}", name, fmt::join(names, ", ")));
}

constexpr const char* description = "ulplab: a laboratory for low-precision training numerics";

}  // namespace

OptionParser declared_program() {
    OptionParser program(description, "ulplab");
    program.version(program_version());
    declare_commands(program);
    return program;
}

ExitCode run_ulplab(const std::vector<std::string>& arguments) {
    return guarded([&] {
        OptionParser program(description, "ulplab");
        program.require_subcommand();
        program.version(program_version());
        const std::vector<Declared> declared = declare_commands(program);
        if (!arguments.empty() && !arguments.front().starts_with('-')) refuse_unknown(arguments.front());
        if (!program.parse(arguments)) return ExitCode::good;
        const auto chosen =
            std::find_if(declared.begin(), declared.end(), [](const Declared& d) { return d.app.parsed(); });
        return chosen->action();
    });
}

}  // namespace ulp
