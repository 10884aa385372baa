#include "tests/softfloat/sweep/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "softfloat/errors.hpp"

namespace ulp::sweep {
namespace {

constexpr const char* usage =
    "  --shard i/n    the part i of n, 1 <= i <= n <= 4096\n"
    "  --state FILE   remember the chunks done: the same command resumes after an interruption\n"
    "  --only TEXT    only the task of this name, or all whose names contain TEXT\n"
    "  --list         the tasks\n"
    "  --help         this\n";

struct Options {
    int shard = 1;
    int shards = 1;
    std::string state;
    std::string only;
    bool list = false;
    bool help = false;
};

Options parse(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& name = arguments[i];
        if (name == "--help" || name == "--list") {
            (name == "--help" ? options.help : options.list) = true;
            continue;
        }
        if (name != "--shard" && name != "--state" && name != "--only") {
            throw UsageError("there is no option '" + name + "'; --help names those there are");
        }
        if (++i == arguments.size()) throw UsageError(name + " needs a value; --help says which");
        const std::string& value = arguments[i];
        if (name == "--state") options.state = value;
        if (name == "--only") options.only = value;
        if (name != "--shard") continue;
        char slash = 0;
        std::istringstream text(value);
        text >> options.shard >> slash >> options.shards;
        const bool whole = !text.fail() && (text >> std::ws).eof() && slash == '/';
        if (!whole || options.shard < 1 || options.shard > options.shards || options.shards > chunks_in_task) {
            throw UsageError("--shard takes i/n with 1 <= i <= n <= 4096, not '" + value + "'");
        }
    }
    return options;
}

/// Lines "done fp16 add 17" for chunks without a difference. A torn last line is ignored: its chunk is done again.
class State {
  public:
    explicit State(const std::string& file) : file_(file) {
        if (file.empty()) return;
        std::ifstream in(file);
        for (std::string line; std::getline(in, line) && !in.eof();) done_.insert(line);
        out_.open(file, std::ios::app);
        if (!out_) throw DataError("cannot write the state file " + file + "; choose another with --state");
    }
    [[nodiscard]] bool has(const std::string& chunk) const { return done_.contains("done " + chunk); }
    void add(const std::string& chunk) {
        if (file_.empty()) return;
        out_ << "done " << chunk << '\n' << std::flush;
        if (!out_) throw DataError("cannot write the state file " + file_ + "; is the disk full?");
    }

  private:
    std::string file_;
    std::set<std::string> done_;
    std::ofstream out_;
};

/// One task's share of the shard. Returns the number of differences.
std::uint64_t run(const Task& task, const Options& options, State& state) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    const bool on_terminal = isatty(STDERR_FILENO) == 1;
    Difference total;
    int done = 0;
    int resumed = 0;
    const int first = options.shard - 1;
    const int chunks = (chunks_in_task - first + options.shards - 1) / options.shards;
    for (int chunk = first; chunk < chunks_in_task; chunk += options.shards) {
        const std::string name = task.name + " " + std::to_string(chunk);
        if (state.has(name)) {
            ++resumed;
            continue;
        }
        const Difference found = task.check(chunk);
        if (found.count == 0) state.add(name);
        if (total.count == 0) total.first = found.first;
        total.count += found.count;
        ++done;
        const double rest = seconds() / done * (chunks - done - resumed);
        if (on_terminal) {
            std::fprintf(stderr, "\r%-15s %4d of %d chunks, %.0f s to go   ", task.name.c_str(), done + resumed, chunks,
                         rest);
        }
    }
    if (on_terminal) std::fprintf(stderr, "\r%60s\r", "");
    std::printf("%-15s %11llu %s  %llu differ  %7.1f s  against %s", task.name.c_str(),
                static_cast<unsigned long long>(chunks) * cases_in_chunk, task.cases.c_str(),
                static_cast<unsigned long long>(total.count), seconds(), task.judge.c_str());
    if (resumed != 0) std::printf(" (%d of %d chunks done earlier)", resumed, chunks);
    if (total.count != 0) std::printf("\n    first: %s", total.first.c_str());
    std::printf("\n");
    std::fflush(stdout);
    return total.count;
}

int sweep(const std::string& program, const std::string& about, const std::vector<Task>& tasks,
          const Options& options) {
    if (options.help) {
        std::cout << program << ": " << about << "\n\n" << usage;
        return 0;
    }
    std::vector<const Task*> chosen;
    const bool one = std::any_of(tasks.begin(), tasks.end(), [&](const Task& t) { return t.name == options.only; });
    for (const Task& task : tasks) {
        const bool chosen_by_text = task.name.find(options.only) != std::string::npos;
        if (one ? task.name == options.only : chosen_by_text) chosen.push_back(&task);
    }
    if (chosen.empty()) throw UsageError("no task's name contains '" + options.only + "'; --list names the tasks");
    if (options.list) {
        for (const Task* task : chosen) std::cout << task->name << '\n';
        return 0;
    }
    State state(options.state);
    std::uint64_t different = 0;
    for (const Task* task : chosen) different += run(*task, options, state);
    return different == 0 ? 0 : 4;
}

}  // namespace

int run_program(const std::string& program, const std::string& about, const std::vector<Task>& tasks, int argc,
                const char* const* argv) {
    try {
        const int code = sweep(program, about, tasks, parse(std::vector<std::string>(argv + 1, argv + argc)));
        if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
            throw std::runtime_error("the results could not be written to the standard output");
        }
        return code;
    } catch (const std::invalid_argument& error) {
        std::cerr << program << ": " << error.what() << '\n';
        return 2;
    } catch (const std::exception& error) {
        std::cerr << program << ": " << error.what() << '\n';
        return 3;
    }
}

}  // namespace ulp::sweep
