// Runs a program that is not trusted: with limits, in a process group of its own, and on Linux behind a filter of
// system calls and behind rules about files (Landlock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ulp::course {

struct Limits {
    int cpu_seconds = 5;
    double wall_seconds = 60;
    std::uint64_t memory_bytes = 512 << 20;  // of address space
    std::uint64_t file_bytes = 0;            // of any file that it writes
    std::uint64_t printed_bytes = 1 << 20;   // on stdout and stderr together
    std::uint64_t answer_bytes = 64 << 20;   // on file descriptor 3
};

/// How much the program may do, apart from computing, reading its standard input and writing to what it was given.
enum class Confinement {
    limits,       // files, processes and the network, as the user may
    compiler,     // starts programs; reads the system's folders; writes in its own folder; no network
    interpreter,  // reads the system's folders and its own; writes nothing; no processes, no network
    filter        // no files, no processes, no network
};

enum class Ending { exited, signalled, took_too_long, printed_too_much };

struct ConfinedRun {
    Ending ending = Ending::exited;
    int code = 0;         // exit code, or the signal's number
    std::string answers;  // what was written to file descriptor 3
    std::string printed;  // stdout and stderr, the first 64 KiB
    std::uint64_t most_memory_bytes = 0;
};

/// Where along PATH a program lies; the name itself where it lies nowhere.
std::string found_along_path(const std::string& program);

/// `command` is the program's path (or its name, searched along PATH) and its arguments.
/// It runs in `folder`, which is its HOME and TMPDIR too; `input` is its standard input. Threads of the caller may do
/// the same at the same time. Throws DataError where it cannot be started.
ConfinedRun run_confined(const std::vector<std::string>& command, const std::filesystem::path& folder,
                         const std::string& input, const Limits& limits, Confinement confinement);

// Filters of system calls (libseccomp): lists of what a computing program needs; everything else is trapped.

using CallFilter = std::unique_ptr<void, void (*)(void*)>;  // a scmp_filter_ctx; null: none
CallFilter filter_for(Confinement confinement);

/// Binds the calling process to the filter. It allocates memory; after fork() in a process with threads glibc allows
/// that. Returns false where the kernel refuses.
bool bind_to(const CallFilter& filter);

/// Whether this system has filters of system calls.
bool filter_available();

/// "open a file (openat)" ...: what a system call of this processor does, as far as programs are caught with it.
std::string system_call_name(long number);

// Rules about the files that a process may open (Landlock).

/// A set of rules for a child that runs `program` in `folder` to bind itself to: a file descriptor, the caller's to
/// close; -1 where there are none.
int rules_for(Confinement confinement, const std::string& program, const std::string& folder);

/// Whether this system's kernel has Landlock, by which `compiler` and `interpreter` keep to their files. Without it
/// they read what the user may read.
bool file_rules_available();

}  // namespace ulp::course
