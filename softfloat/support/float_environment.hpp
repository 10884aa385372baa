// The processor's floating-point control while code computes with its numbers.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace ulp::support {

/// The roundings that processors have.
enum class ProcessorRounding : std::uint8_t { nearest_even, down, up, toward_zero };

/// Sets the rounding, masks exceptions and turns off the flushing of subnormals, whatever the caller has set; puts all
/// of it back, flags included, at the end of its life. Of this thread.
class FloatEnvironment {
  public:
#if defined(__x86_64__)
    // Intel SDM volume 1, section 10.2.3: exception masks in bits 7 to 12, rounding in bits 13 and 14.
    explicit FloatEnvironment(ProcessorRounding rounding = ProcessorRounding::nearest_even) : saved_(_mm_getcsr()) {
        _mm_setcsr(0x1F80U | static_cast<unsigned>(rounding) << 13);
    }
    ~FloatEnvironment() { _mm_setcsr(saved_); }
#elif defined(__aarch64__)
    // Arm Architecture Reference Manual, FPCR and FPSR: rounding in bits 22 and 23; with all other bits 0 exceptions
    // are masked and nothing is flushed.
    explicit FloatEnvironment(ProcessorRounding rounding = ProcessorRounding::nearest_even) {
        constexpr std::uint64_t modes[] = {0, 2, 1, 3};
        asm volatile("mrs %0, fpcr" : "=r"(control_));
        asm volatile("mrs %0, fpsr" : "=r"(flags_));
        asm volatile("msr fpcr, %0" ::"r"(modes[static_cast<int>(rounding)] << 22) : "memory");
    }
    ~FloatEnvironment() {
        asm volatile("msr fpcr, %0" ::"r"(control_) : "memory");
        asm volatile("msr fpsr, %0" ::"r"(flags_));
    }
#else
    explicit FloatEnvironment(ProcessorRounding rounding = ProcessorRounding::nearest_even) {
        constexpr int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
        std::feholdexcept(&saved_);
        std::fesetround(modes[static_cast<int>(rounding)]);
    }
    ~FloatEnvironment() { std::fesetenv(&saved_); }
#endif
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

  private:
#if defined(__x86_64__)
    unsigned saved_;
#elif defined(__aarch64__)
    std::uint64_t control_, flags_;
#else
    std::fenv_t saved_;
#endif
};

}  // namespace ulp::support
