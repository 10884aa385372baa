// sweep_pairs: every pair of fp16 and of bf16 through add, multiply, divide and remainder, in one command.
//
//     sweep_pairs                        all of it, on all threads
//     sweep_pairs --shard 2/8            the third of eight parts, for eight machines
//     sweep_pairs --state FILE           remember what is done: the same command resumes after an interruption
//
// A chunk is 16 rows: 2^20 pairs of one format and operation. Exit codes: 0 all equal, 2 usage, 3 state file, 4 bits
// differ.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "softfloat/errors.hpp"
#include "softfloat/format_names.hpp"
#include "tests/softfloat/sweep/pairs.hpp"

namespace ulp::sweep {
namespace {

constexpr int rows_in_chunk = 16;
constexpr int chunks_in_task = 65536 / rows_in_chunk;

struct Options {
    int shard = 0;
    int shards = 1;
    std::string state;
};

/// A format with an operation.
struct Task {
    std::string name;  // "fp16 add"
    FloatFormat format;
    Operation operation;
};
std::vector<Task> tasks() {
    std::vector<Task> list;
    for (const char* format : {"fp16", "bf16"}) {
        for (const Operation operation : operations) {
            list.push_back(
                {format + std::string(" ") + std::string(name_of(operation)), format_by_name(format), operation});
        }
    }
    return list;
}

Options parse(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
        if (i + 1 == arguments.size())
            throw UsageError(arguments[i] + " needs a value; say --shard i/n or --state FILE");
        const std::string& value = arguments[i + 1];
        if (arguments[i] == "--state") {
            options.state = value;
        } else if (arguments[i] == "--shard") {
            char slash = 0;
            std::istringstream text(value);
            text >> options.shard >> slash >> options.shards;
            const bool whole = !text.fail() && (text >> std::ws).eof() && slash == '/';
            if (!whole || options.shard < 0 || options.shard >= options.shards || options.shards > chunks_in_task) {
                throw UsageError("--shard takes i/n with 0 <= i < n <= 4096, not '" + value + "'");
            }
        } else {
            throw UsageError("there is no option '" + arguments[i] + "'; say --shard i/n or --state FILE");
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

Difference check_chunk(const Task& task, int chunk) {
    Difference total;
#pragma omp parallel for schedule(dynamic)
    for (int row = 0; row < rows_in_chunk; ++row) {
        const auto a = static_cast<std::uint16_t>(chunk * rows_in_chunk + row);
        Row got, expected;
        Difference found;
        reference_row(task.format, task.operation, a, expected);
        plain_row(task.format, task.operation, a, got);
        compare_rows(task.format, a, got, expected, found);
        check_sample(task.format, task.operation, a, got, found);
        if (operator_row(task.format, task.operation, a, got)) compare_rows(task.format, a, got, expected, found);
#pragma omp critical
        {
            if (total.count == 0) total.first = found.first;
            total.count += found.count;
        }
    }
    return total;
}

/// One task's share of the shard. Returns the number of differences.
std::uint64_t run(const Task& task, const Options& options, State& state) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    Difference total;
    int done = 0;
    int resumed = 0;
    const int chunks = (chunks_in_task - options.shard + options.shards - 1) / options.shards;
    for (int chunk = options.shard; chunk < chunks_in_task; chunk += options.shards) {
        const std::string name = task.name + " " + std::to_string(chunk);
        if (state.has(name)) {
            ++resumed;
            continue;
        }
        const Difference found = check_chunk(task, chunk);
        if (found.count == 0) state.add(name);
        if (total.count == 0) total.first = found.first;
        total.count += found.count;
        ++done;
        const double rest = seconds() / done * (chunks - done - resumed);
        std::fprintf(stderr, "\r%-15s %4d of %d chunks, %.0f s to go   ", task.name.c_str(), done + resumed, chunks,
                     rest);
    }
    std::fprintf(stderr, "\r%60s\r", "");
    std::printf("%-15s %11llu pairs  %llu differ  %7.1f s  against the %s", task.name.c_str(),
                static_cast<unsigned long long>(chunks) * rows_in_chunk * row_length,
                static_cast<unsigned long long>(total.count), seconds(),
                reference_name(task.format, task.operation).c_str());
    if (resumed != 0) std::printf(" (%d of %d chunks done earlier)", resumed, chunks);
    if (total.count != 0) std::printf("\n    first: %s", total.first.c_str());
    std::printf("\n");
    std::fflush(stdout);
    return total.count;
}

int sweep(const std::vector<std::string>& arguments) {
    const Options options = parse(arguments);
    State state(options.state);
    std::uint64_t different = 0;
    for (const Task& task : tasks()) different += run(task, options, state);
    return different == 0 ? 0 : 4;
}

}  // namespace
}  // namespace ulp::sweep

int main(int argc, char** argv) {
    try {
        return ulp::sweep::sweep(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::invalid_argument& error) {
        std::cerr << "sweep_pairs: " << error.what() << '\n';
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "sweep_pairs: " << error.what() << '\n';
        return 3;
    }
}
