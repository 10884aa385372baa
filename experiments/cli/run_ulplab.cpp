// Parses the command line of `ulplab` and runs the subcommand that it names.
#include "experiments/cli/command.hpp"
#include "experiments/framework/machine.hpp"
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

// The list of subcommands. A new one is named twice here: declared, and put in its place.

Command bound_command();
Command claims_command();
Command codes_command();
Command course_command();
Command dev_command();
Command diagnose_command();
Command discover_command();
Command doctor_command();
Command formats_command();
Command explain_command();
Command compare_command();
Command gpu_command();
Command grade_command();
Command inspect_command();
Command list_command();
Command matmul_command();
Command models_command();
Command quantize_command();
Command report_command();
Command run_command();
Command search_command();
Command show_command();
Command site_command();
Command train_command();
Command verify_command();

std::span<const Command> commands() {
    static const std::array list = {
        // Experiments and what they found.
        list_command(),
        run_command(),
        report_command(),
        claims_command(),
        site_command(),
        // Numbers.
        show_command(),
        formats_command(),
        codes_command(),
        inspect_command(),
        quantize_command(),
        // Matrix units and their models.
        models_command(),
        verify_command(),
        matmul_command(),
        explain_command(),
        bound_command(),
        discover_command(),
        gpu_command(),
        compare_command(),
        train_command(),
        diagnose_command(),
        search_command(),
        // The course.
        course_command(),
        grade_command(),
        // This machine, this program.
        doctor_command(),
        dev_command(),
    };
    return list;
}

}  // namespace ulp
