#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "gpu/library/cublas.hpp"

namespace ulp::gpu {

std::string readable_kernel_name(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0) return symbol;  // not mangled
    std::string name = text.get();
    name = name.substr(0, name.rfind('('));
    const std::string result = "void ";
    return name.starts_with(result) ? name.substr(result.size()) : name;
}

std::string instructions_by_name(const std::string& kernel) {
    struct Hint {
        std::string_view part;
        std::string_view meaning;
    };
    // NVIDIA's and CUTLASS's own names: "gmma", "warpgroup" and "nvjet_sm90" are wgmma's; "s16816", "16816gemm",
    // "tensorop" and "imma" are mma.sync's; "utcmma", "tcgen05" and "nvjet_sm100" Blackwell's; "sgemm", "simt" and
    // "ffma" use none.
    static constexpr std::array hints{
        Hint{"tcgen05", "tcgen05"},       Hint{"utcmma", "tcgen05"},       Hint{"gmma", "wgmma"},
        Hint{"warpgroup", "wgmma"},       Hint{"qgmma", "wgmma"},          Hint{"nvjet_sm100", "tcgen05"},
        Hint{"nvjet_sm90", "wgmma"},      Hint{"ffma", "no Tensor Cores"}, Hint{"tensorop", "mma.sync"},
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
