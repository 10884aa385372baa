// Parses the command line of `ulplab` and runs the subcommand that it names.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "experiments/commands/command.hpp"
#include "experiments/framework/machine.hpp"
#include "experiments/framework/parse_arguments.hpp"
#include "gpu/backends.hpp"

namespace ulp {
namespace {

struct Declared {
    CLI::App* app;
    Action action;
};

std::vector<Declared> declare_all(CLI::App& program) {
    std::vector<Declared> declared;
    for (const Command& command : commands()) {
        CLI::App* app = program.add_subcommand(std::string(command.name), std::string(command.summary));
        declared.push_back({app, command.declare(*app)});
    }
    return declared;
}

}  // namespace

ExitCode run_ulplab(const std::vector<std::string>& arguments) {
    gpu::register_gpu_backends();
    return guarded([&] {
        CLI::App program{"ulplab: a laboratory for low-precision training numerics", "ulplab"};
        program.require_subcommand(1);
        program.set_version_flag("--version", program_version());
        const std::vector<Declared> declared = declare_all(program);
        if (!parse_arguments(program, arguments)) return ExitCode::good;
        const auto chosen =
            std::find_if(declared.begin(), declared.end(), [](const Declared& d) { return d.app->parsed(); });
        return chosen->action();
    });
}

}  // namespace ulp
