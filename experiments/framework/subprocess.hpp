// Runs another program and waits for it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ulp {

struct Finished {
    int exit_code;       // 128 + the signal's number if a signal ended it
    std::string output;  // stdout and stderr together
};

/// `command` is the program (searched along PATH) and its arguments; no shell is involved. An empty folder: the current
/// one. Throws DataError where the program cannot be started.
Finished run_program(const std::vector<std::string>& command, const std::filesystem::path& folder = {});

}  // namespace ulp
