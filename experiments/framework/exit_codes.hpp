// The exit codes of every program of the project.
#pragma once

#include <functional>

namespace ulp {

enum class ExitCode : int {
    good = 0,
    claim_failed = 1,  // a claim or a test did not hold
    usage = 2,         // wrong usage: UsageError, std::invalid_argument
    data = 3,          // missing or bad data, unwritable output: DataError and any other std::exception
    bits_differ = 4,   // BitsDiffer
    interrupted =
        130,  // by SIGINT, after what could be saved was (train): 128 and the signal's number, as shells have it
    terminated = 143  // the same by SIGTERM
};

/// Runs `action` and gives its exit code. Of an exception: its sentence on stderr, "ulplab: ..." , and its exit code.
/// Where a library calls exit(1) inside of it (OpenMP's, when no thread can be made), the code is 3.
ExitCode guarded(const std::function<ExitCode()>& action);

}  // namespace ulp
