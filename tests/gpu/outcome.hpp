// What a command leaves: its exit code and all that it printed.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace ulp::test {

struct Outcome {
    int code;
    std::string output;  // stdout and stderr together
};

/// Runs a command of the shell.
inline Outcome outcome_of(const std::string& command) {
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    Outcome outcome{};
    char buffer[4096];
    while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) outcome.output.append(buffer, count);
    outcome.code = WEXITSTATUS(pclose(pipe));
    return outcome;
}

}  // namespace ulp::test
