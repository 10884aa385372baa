// Built with CUDA: every row of the table of instructions has a kernel and every kernel a row; and what the commands
// say on a machine without a GPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "gpu/devices/bulk.hpp"
#include "gpu/devices/cuda_check.hpp"
#include "gpu/devices/recording.hpp"
#include "gpu/untried/function_kernels.hpp"
#include "gpu/untried/functions.hpp"
#include "softfloat/errors.hpp"

using namespace ulp::gpu;

TEST_CASE("every instruction has exactly one kernel and every kernel an instruction") {
    std::size_t kernels = 0;
    for (const auto launchers : all_launchers()) {
        for (const Launcher& launcher : launchers) CHECK_NOTHROW(instruction_by_name(launcher.instruction.name()));
        kernels += launchers.size();
    }
    std::size_t left_out = 0;
    for (const Instruction& row : instructions()) {
        if (tcgen05_launchers().empty() && row.availability.minimum >= 100) {
            ++left_out;
            CHECK_THROWS_WITH_AS(find_launch(row.name()), doctest::Contains("build with a newer one"), ulp::UsageError);
        } else {
            CHECK_NOTHROW(find_launch(row.name()));
        }
    }
    CHECK(kernels + left_out == instructions().size());
}

TEST_CASE("every function of single numbers has a kernel, in the order of its table") {
    std::vector<std::string_view> names;
    for (const auto launchers : {function_launchers_sm80(), function_launchers_sm90(), function_launchers_sm100(),
                                 function_launchers_sm100_only()}) {
        for (const FunctionLauncher& launcher : launchers) names.push_back(launcher.name);
    }
    const auto all = hardware_functions();
    CHECK(std::ranges::equal(names, all, {}, {}, &HardwareFunction::name));
}
