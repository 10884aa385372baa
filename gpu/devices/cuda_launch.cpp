#include "gpu/devices/cuda_launch.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "gpu/instructions/instruction.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {

std::array<std::span<const Launcher>, 8> all_launchers() {
    return {mma_sm80_launchers(),    mma_sm89_launchers(), mma_sm90_launchers(), mma_sm120_launchers(),
            mma_integer_launchers(), wmma_launchers(),     wgmma_launchers(),    tcgen05_launchers()};
}

Launch find_launch(std::string_view instruction) {
    const Instruction& row = instruction_by_name(instruction);
    for (const auto launchers : all_launchers()) {
        for (const Launcher& launcher : launchers) {
            if (launcher.instruction == row) return launcher.launch;
        }
    }
    if (tcgen05_launchers().empty() && row.availability.minimum >= 100) {
        throw UsageError(fmt::format(
            "{} is not in this program: its nvcc is older than CUDA 12.8 and does not know {}a; build with a newer one",
            instruction, architecture_name(row.availability.minimum)));
    }
    throw std::logic_error("instruction " + std::string(instruction) + " has no kernel");
}

}  // namespace ulp::gpu
