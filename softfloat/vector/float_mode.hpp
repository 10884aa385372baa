// The control register while a kernel runs: rounding to nearest even or toward zero, subnormal results or operands
// flushed if so told, exceptions masked. The register's old value comes back at the end. Included by the vector kits.
#pragma once

#include <cstdint>

namespace ulp::vec {
namespace {

enum class ModeRounding : std::uint32_t { nearest_even = 0, toward_zero = 3 };

#if defined(__SSE2__)
constexpr bool can_flush = true;
class FloatMode {
  public:
    using Rounding = ModeRounding;
    static constexpr bool can_round = true;  // other than to nearest even
    explicit FloatMode(bool flush_results, bool flush_operands = false,
                       ModeRounding rounding = ModeRounding::nearest_even)
        : before_(__builtin_ia32_stmxcsr()) {
        __builtin_ia32_ldmxcsr(0x1F80U | (flush_results ? 0x8000U : 0U) | (flush_operands ? 0x40U : 0U) |
                               static_cast<std::uint32_t>(rounding) << 13);
    }
    ~FloatMode() { __builtin_ia32_ldmxcsr(before_); }
    FloatMode(const FloatMode&) = delete;
    FloatMode& operator=(const FloatMode&) = delete;

  private:
    unsigned before_;
};
#elif defined(__aarch64__)
// All bits of FPCR 0 but those of the rounding (Arm Architecture Reference Manual). The flushing of ARM is not the one
// meant here: operands and results go together, and a result is flushed if it is tiny before it is rounded, not after.
constexpr bool can_flush = false;
class FloatMode {
  public:
    using Rounding = ModeRounding;
    static constexpr bool can_round = true;
    explicit FloatMode(bool, bool = false, ModeRounding rounding = ModeRounding::nearest_even) {
        asm volatile("mrs %0, fpcr" : "=r"(before_));
        asm volatile("msr fpcr, %0" ::"r"(static_cast<std::uint64_t>(rounding) << 22) : "memory");
    }
    ~FloatMode() { asm volatile("msr fpcr, %0" ::"r"(before_) : "memory"); }
    FloatMode(const FloatMode&) = delete;
    FloatMode& operator=(const FloatMode&) = delete;

  private:
    std::uint64_t before_;
};
#else
constexpr bool can_flush = false;
struct FloatMode {
    using Rounding = ModeRounding;
    static constexpr bool can_round = false;
    explicit FloatMode(bool, bool = false, ModeRounding = ModeRounding::nearest_even) {}
};
#endif

}  // namespace
}  // namespace ulp::vec
