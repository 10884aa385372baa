#include "softfloat/tensor_core/fast/dispatch.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace ulp::fast {

namespace {

std::vector<const Kernels*> find_available() {
    std::vector<const Kernels*> found{&portable_kernels};
#ifdef ULPLAB_X86_KERNELS
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) found.push_back(&avx2_kernels);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        found.push_back(&avx512_kernels);
    }
#endif
    return found;
}

}  // namespace

std::span<const Kernels* const> available_kernels() {
    static const std::vector<const Kernels*> found = find_available();
    return found;
}

const Kernels& kernels_by_name(std::string_view name) {
    std::string names;
    for (const Kernels* kernels : available_kernels()) {
        if (name == kernels->name) return *kernels;
        names += (names.empty() ? "" : ", ") + std::string(kernels->name);
    }
    throw std::invalid_argument("this processor has no '" + std::string(name) + "' kernels (ULPLAB_SIMD); choose one of " +
                                names);
}

const Kernels& chosen_kernels() {
    static const Kernels& chosen = [] () -> const Kernels& {
        const char* name = std::getenv("ULPLAB_SIMD");
        return name != nullptr && *name != '\0' ? kernels_by_name(name) : *available_kernels().back();
    }();
    return chosen;
}

}  // namespace ulp::fast
