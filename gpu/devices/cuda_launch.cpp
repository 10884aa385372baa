#include "gpu/devices/cuda_launch.hpp"

#include <stdexcept>
#include <string>

#include "gpu/instructions/instruction.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {

Launch find_launch(std::string_view instruction) {
    const Instruction& row = instruction_by_name(instruction);
    for (const auto launchers : {mma_sm80_launchers(), mma_sm89_launchers(), mma_sm90_launchers(),
                                 mma_sm120_launchers(), mma_integer_launchers(), wmma_launchers(), wgmma_launchers()}) {
        for (const Launcher& launcher : launchers) {
            if (launcher.instruction == row) return launcher.launch;
        }
    }
    if (mma_sm120_launchers().empty() && row.availability.minimum == 120) {
        throw UsageError(std::string(instruction) +
                         " is not in this program: its nvcc is older than CUDA 12.8 and does not know sm_120a; build "
                         "with a newer one");
    }
    throw std::logic_error("instruction " + std::string(instruction) + " has no kernel");
}

}  // namespace ulp::gpu
