// Long exhaustive checks as programs: tasks cut into chunks, for several machines, with progress, resumable.
//
//     sweep_pairs                        all of it, on all threads
//     sweep_pairs --shard 2/8            the second of eight parts, for eight machines
//     sweep_pairs --state FILE           remember what is done: the same command resumes after an interruption
//     sweep_pairs --only "bf16 add"      the task of this name, or all whose names contain it
//     sweep_pairs --list                 the tasks
//
// Exit codes: 0 all equal, 2 usage, 3 state file, 4 bits differ.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ulp::sweep {

struct Difference {
    std::uint64_t count = 0;
    std::string first;  // "3C00 4200: 3555, expected 3556"
};

/// Every task has this many chunks of 2^20 cases, which is 2^32 cases.
inline constexpr int chunks_in_task = 4096;
inline constexpr std::uint64_t cases_in_chunk = std::uint64_t{1} << 20;

struct Task {
    std::string name;   // "fp16 add"
    std::string cases;  // "pairs"
    std::string judge;  // "the processor's fp16"
    std::function<Difference(int chunk)> check;
};

/// The program's main function: runs the tasks' chunks that the arguments ask for. `about` is a sentence for --help.
int run_program(const std::string& program, const std::string& about, const std::vector<Task>& tasks, int argc,
                const char* const* argv);

}  // namespace ulp::sweep
