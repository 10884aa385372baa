// `ulplab doctor`: what this machine has, and what is missing.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "experiments/commands/command.hpp"

namespace ulp {
namespace {

ExitCode doctor() {
    fmt::print("compiler  {}\n", __VERSION__);
    return ExitCode::good;
}

Action declare(CLI::App&) { return doctor; }

}  // namespace

Command doctor_command() { return {"doctor", "what this machine has, and what is missing", declare}; }

}  // namespace ulp
