// Finding the kernel of an instruction. Only for sources built with CUDA.
#pragma once

#include <array>
#include <string_view>

#include "gpu/kernels/launch.cuh"

namespace ulp::gpu {

/// The tables of kernels.
std::array<std::span<const Launcher>, 8> all_launchers();

/// The launcher of the instruction of that name. Every row of the table has one (tests/gpu/test_launchers.cpp).
Launch find_launch(std::string_view instruction);

}  // namespace ulp::gpu
