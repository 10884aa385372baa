#include "softfloat/vector/simd_choice.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ulp {
namespace {

constexpr std::array<std::string_view, 6> names{"portable", "avx2", "avx512", "avx512_vnni", "avx512_fp16", "neon"};

#if defined(__x86_64__)
/// A feature bit of CPUID that __builtin_cpu_supports does not know on every compiler. Whether the operating system
/// saves the registers is not part of it.
bool cpuid_bit(unsigned leaf, int output, int bit) {
    std::array<unsigned, 4> registers{};
    if (__get_cpuid_count(leaf, 0, &registers[0], &registers[1], &registers[2], &registers[3]) == 0) return false;
    return (registers[static_cast<std::size_t>(output)] >> bit & 1) != 0;
}
bool has_avx2() {
    const bool f16c = cpuid_bit(1, 2, 29);
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c;
}
bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
bool has_avx512_vnni() { return cpuid_bit(7, 2, 11); }
bool has_avx512_fp16() { return cpuid_bit(7, 3, 23); }

std::vector<Simd> find_supported() {
    std::vector<Simd> found{Simd::portable};
    if (!has_avx2()) return found;
    found.push_back(Simd::avx2);
    if (!has_avx512()) return found;
    found.push_back(Simd::avx512);
    if (!has_avx512_vnni()) return found;
    found.push_back(Simd::avx512_vnni);
    if (has_avx512_fp16()) found.push_back(Simd::avx512_fp16);
    return found;
}
#elif defined(__aarch64__)
std::vector<Simd> find_supported() { return {Simd::portable, Simd::neon}; }
#else
std::vector<Simd> find_supported() { return {Simd::portable}; }
#endif

}  // namespace

std::string_view name_of(Simd simd) { return names[static_cast<std::size_t>(simd)]; }

std::span<const Simd> supported_simd() {
    static const std::vector<Simd> supported = find_supported();
    return supported;
}

void require_instructions(Simd simd) {
    if (std::ranges::find(supported_simd(), simd) != supported_simd().end()) return;
    throw std::invalid_argument("this processor has no vector instructions '" + std::string(name_of(simd)) +
                                "'; supported_simd() lists those it has");
}

Simd simd_by_name(std::string_view name) {
    if (name.empty()) return supported_simd().back();
    std::string choices;
    for (const Simd simd : supported_simd()) {
        if (name_of(simd) == name) return simd;
        choices += (choices.empty() ? "" : ", ") + std::string(name_of(simd));
    }
    bool known = false;
    for (const std::string_view each : names) known = known || each == name;
    throw std::invalid_argument(
        (known ? "this processor has no vector instructions '" : "there are no vector instructions '") +
        std::string(name) + "'; set ULPLAB_SIMD to one of " + choices + ", or unset it");
}

Simd simd_choice() {
    static const Simd choice = [] {
        const char* const wanted = std::getenv("ULPLAB_SIMD");
        return simd_by_name(wanted == nullptr ? "" : wanted);
    }();
    return choice;
}

}  // namespace ulp
