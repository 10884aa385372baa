// The program `ulplab`, and under the name of an experiment, by a link, the program of that one.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>

#include "engine/files/format_file.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/framework/runner.hpp"
#include "gpu/backends.hpp"
#include "softfloat/names.hpp"

int main(int argc, char** argv) try {
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
