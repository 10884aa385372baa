#include "gpu/cuda_launch.hpp"

#include <stdexcept>
#include <string>

namespace ulp::gpu {

Launch find_launch(std::string_view instruction) {
    for (const auto launchers : {mma_sm80_launchers(), mma_sm89_launchers(), mma_sm90_launchers(),
                                 mma_integer_launchers(), wmma_launchers(), wgmma_launchers()}) {
        for (const Launcher& launcher : launchers) {
            if (launcher.instruction == instruction) return launcher.launch;
        }
    }
    throw std::logic_error("instruction " + std::string(instruction) + " has no kernel");
}

}  // namespace ulp::gpu
