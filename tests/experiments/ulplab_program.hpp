// The program `ulplab` as a user calls it. ULPLAB_PROGRAM is its path.
#pragma once

#include <string>
#include <vector>

#include "experiments/framework/machine.hpp"

namespace ulp::test {

/// Runs `ulplab` with these arguments; `environment` are assignments for env(1).
inline Finished ulplab(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) {
    std::vector<std::string> command = {"env"};
    command.insert(command.end(), environment.begin(), environment.end());
    command.push_back(ULPLAB_PROGRAM);
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_program(command);
}

/// Whether the program printed this text.
inline bool says(const Finished& finished, const std::string& part) {
    return finished.output.find(part) != std::string::npos;
}

}  // namespace ulp::test
