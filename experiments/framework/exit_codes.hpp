// The exit codes of every program of the project.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace ulp {

enum class ExitCode : int {
    good = 0,
    claim_failed = 1,  // a claim or a test did not hold
    usage = 2,         // wrong usage: UsageError, std::invalid_argument
    data = 3,          // missing or bad data, unwritable output: DataError and any other std::exception
    bits_differ = 4,   // BitsDiffer
    interrupted =
        130,  // by SIGINT, after what could be saved was (train): 128 and the signal's number, as shells have it
    terminated = 143,  // the same by SIGTERM
    hung_up = 129      // the same by SIGHUP
};

/// The exit code of a program that a signal ended after what could be saved was.
inline ExitCode ended_by(int signal) { return static_cast<ExitCode>(128 + signal); }

/// At the start of a program. Standard streams that were closed are opened on /dev/null for reading: no other file
/// takes their numbers, and writing to them fails as before. What stderr does not take (closed, full) is lost, and
/// changes no exit code. Where memory lacks and nothing may be thrown, the exit code is 3.
void begin_program();

/// Text that may quote a file, for a terminal: control characters other than line breaks become '?', and what is beyond
/// `most` bytes is left out, with a word.
std::string shown(std::string text, std::size_t most = 4000);

/// Runs `action` and gives its exit code. Of an exception: its sentence on stderr, "ulplab: ..." , and its exit code.
/// Where a library calls exit(1) inside of it (OpenMP's, when no thread can be made), the code is 3.
ExitCode guarded(const std::function<ExitCode()>& action);

}  // namespace ulp
