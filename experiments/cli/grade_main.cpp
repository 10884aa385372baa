// The program `ulplab-grade`: `ulplab grade` alone, linked statically, for an autograder's container.
#include "experiments/cli/command.hpp"
#include "experiments/framework/machine.hpp"

namespace ulp {
Command grade_command();
}

int main(int argc, char** argv) {
    ulp::begin_program();
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    return static_cast<int>(ulp::guarded([&arguments] {
        const ulp::Command command = ulp::grade_command();
        ulp::OptionParser parser(std::string(command.summary), "ulplab-grade");
        parser.version(ulp::program_version());
        const ulp::Action action = command.declare(parser);
        return parser.parse(arguments) ? action() : ulp::ExitCode::good;
    }));
}
