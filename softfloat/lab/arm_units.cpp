#include "softfloat/lab/arm_units.hpp"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace ulp::arm {

#if defined(__aarch64__) && defined(__linux__)
bool has_bfdot() {
    constexpr unsigned long hwcap2_bf16 = 1UL << 14;
    return (getauxval(AT_HWCAP2) & hwcap2_bf16) != 0;
}

// In assembly, so that no compiler option is needed.
void bfdot(const std::uint16_t* a, const std::uint16_t* b, const std::uint32_t* c, std::uint32_t* d) {
    asm volatile(
        ".arch armv8.2-a+bf16\n ldr q0, [%0]\n ldr q1, [%1]\n ldr q2, [%2]\n bfdot v2.4s, v0.8h, v1.8h\n str q2, [%3]"
        :
        : "r"(a), "r"(b), "r"(c), "r"(d)
        : "v0", "v1", "v2", "memory");
}
void bfmmla(const std::uint16_t* a, const std::uint16_t* b, const std::uint32_t* c, std::uint32_t* d) {
    asm volatile(
        ".arch armv8.2-a+bf16\n ldr q0, [%0]\n ldr q1, [%1]\n ldr q2, [%2]\n bfmmla v2.4s, v0.8h, v1.8h\n str q2, [%3]"
        :
        : "r"(a), "r"(b), "r"(c), "r"(d)
        : "v0", "v1", "v2", "memory");
}
#else
bool has_bfdot() { return false; }
void bfdot(const std::uint16_t*, const std::uint16_t*, const std::uint32_t*, std::uint32_t*) {}
void bfmmla(const std::uint16_t*, const std::uint16_t*, const std::uint32_t*, std::uint32_t*) {}
#endif

}  // namespace ulp::arm
