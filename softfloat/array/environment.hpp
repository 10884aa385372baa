// The processor's floating-point control while kernels compute with it.
#pragma once

#include "softfloat/context.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace ulp::array {

/// Sets the rounding (nearest even, toward zero, up or down), masks exceptions and turns off the flushing of
/// subnormals, whatever the caller has set; puts all of it back, flags included, at the end of its life.
class FloatEnvironment {
  public:
#if defined(__x86_64__)
    explicit FloatEnvironment(Rounding rounding) : saved_(_mm_getcsr()) { _mm_setcsr(all_masked | bits_of(rounding)); }
    ~FloatEnvironment() { _mm_setcsr(saved_); }
#else
    explicit FloatEnvironment(Rounding rounding) {
        std::feholdexcept(&saved_);
        std::fesetround(mode_of(rounding));
    }
    ~FloatEnvironment() { std::fesetenv(&saved_); }
#endif
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

  private:
#if defined(__x86_64__)
    // Intel SDM volume 1, section 10.2.3: exception masks in bits 7 to 12, rounding in bits 13 and 14.
    static constexpr unsigned all_masked = 0x1F80;
    static constexpr unsigned bits_of(Rounding rounding) {
        return rounding == Rounding::down          ? 0x2000U
               : rounding == Rounding::up          ? 0x4000U
               : rounding == Rounding::toward_zero ? 0x6000U
                                                   : 0U;
    }
    unsigned saved_;
#else
    static int mode_of(Rounding rounding) {
        return rounding == Rounding::down          ? FE_DOWNWARD
               : rounding == Rounding::up          ? FE_UPWARD
               : rounding == Rounding::toward_zero ? FE_TOWARDZERO
                                                   : FE_TONEAREST;
    }
    std::fenv_t saved_;
#endif
};

}  // namespace ulp::array
