#include "gpu/kernel_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace ulp::gpu {

std::string instructions_by_name(const std::string& kernel) {
    struct Hint {
        std::string_view part;
        std::string_view meaning;
    };
    // NVIDIA's and CUTLASS's own names: "gmma" and "warpgroup" are wgmma's; "s16816", "16816gemm", "tensorop" and
    // "imma" are mma.sync's; "utcmma" and "tcgen05" Blackwell's; "sgemm" and "simt" use none.
    static constexpr std::array hints{
        Hint{"tcgen05", "tcgen05"},       Hint{"utcmma", "tcgen05"},       Hint{"gmma", "wgmma"},
        Hint{"warpgroup", "wgmma"},       Hint{"qgmma", "wgmma"},          Hint{"tensorop", "mma.sync"},
        Hint{"16816", "mma.sync"},        Hint{"1688", "mma.sync"},        Hint{"imma", "mma.sync"},
        Hint{"hmma", "mma.sync"},         Hint{"884", "mma.sync"},         Hint{"simt", "no Tensor Cores"},
        Hint{"sgemm", "no Tensor Cores"}, Hint{"gemv", "no Tensor Cores"}, Hint{"dot_kernel", "no Tensor Cores"},
    };
    for (const Hint& hint : hints) {
        if (kernel.find(hint.part) != std::string::npos) return std::string(hint.meaning);
    }
    return "unknown";
}

}  // namespace ulp::gpu
