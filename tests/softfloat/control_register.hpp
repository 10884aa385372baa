// The processor's floating-point control and flags, for tests that set them against the code under test;
// ULPLAB_HAS_CONTROL_REGISTER where they are known.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#define ULPLAB_HAS_CONTROL_REGISTER
#elif defined(__aarch64__)
#define ULPLAB_HAS_CONTROL_REGISTER
#endif

namespace ulp::test {

#if defined(__x86_64__)
inline constexpr std::uint64_t flushing = 0x8040;                     // of results and operands
inline constexpr std::uint64_t hostile = 0x1F80 | 0x4000 | flushing;  // masked, rounding up
inline std::uint64_t control_register() { return _mm_getcsr(); }
inline void set_control_register(std::uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
// FPCR, with the flags of FPSR in the upper half.
inline constexpr std::uint64_t flushing = 1 << 24;            // of results and operands
inline constexpr std::uint64_t hostile = 1 << 22 | flushing;  // rounding up
inline std::uint64_t control_register() {
    std::uint64_t control = 0;
    std::uint64_t flags = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    asm volatile("mrs %0, fpsr" : "=r"(flags));
    return control | flags << 32;
}
inline void set_control_register(std::uint64_t value) {
    asm volatile("msr fpcr, %0" ::"r"(value & 0xFFFFFFFF) : "memory");
    asm volatile("msr fpsr, %0" ::"r"(value >> 32));
}
#endif

}  // namespace ulp::test
