// The program `ulplab`, and under the name of an experiment, by a link, the program of that one.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "engine/files/format_file.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/framework/runner.hpp"
#include "gpu/backends.hpp"
#include "softfloat/names.hpp"

namespace {

/// A thread of OpenMP's that waits spins for milliseconds, and on a busy machine keeps a processor from those that it
/// waits for: a training takes ten times as long. libgomp reads for how long when it is loaded, so the program begins
/// again, once, where nobody has said it.
void spin_briefly(char** argv) {
    if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
    std::error_code error;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
    if (!error && setenv("GOMP_SPINCOUNT", "2000", 0) == 0) (void)execv(program.c_str(), argv);
}

}  // namespace

int main(int argc, char** argv) try {
    spin_briefly(argv);
    ulp::begin_program();
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const std::string name = std::filesystem::path(argv[0]).filename().string();
    ulp::gpu::register_gpu_backends();
    ulp::set_format_reader(&ulp::format_of_file);
    const auto experiments = ulp::experiments();
    const auto own = std::ranges::find(experiments, name, &ulp::Experiment::name);
    if (own != experiments.end()) return ulp::experiment_main(*own, arguments);
    return static_cast<int>(ulp::run_ulplab(arguments));
} catch (const std::bad_alloc&) {  // before a command has begun
    std::fputs("ulplab: out of memory before the command began\n", stderr);
    return static_cast<int>(ulp::ExitCode::data);
}
