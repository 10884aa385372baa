// What the processor's control register says at this moment, found by arithmetic: reading the register costs as much as
// an addition of two Float<F>. Where it is not the default, operations and functions take their integer paths.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace ulp::support {

using FourFloats __attribute__((vector_size(16))) = float;

/// Read anew each time: the compiler must not compute with it.
inline const volatile FourFloats probe = {1, 1, 0x1p-127F, 0};

/// 1 + 2^-25 is rounded up only by a processor that rounds up; 1 + 2^-23 * 3/4 is rounded down by one that rounds down
/// or toward zero. 2^-127 is subnormal: zero if the processor flushes operands or results.
struct ProbeSums {
    std::uint64_t near_one;
    std::uint64_t subnormal;
};
inline ProbeSums probe_sums() {
    constexpr FourFloats addends = {0x1p-25F, 0x1.8p-24F, 0, 0};
    const FourFloats operands = probe;
    return std::bit_cast<ProbeSums>(operands + addends);
}

/// Whether the processor rounds to nearest even.
inline bool rounds_to_nearest() { return probe_sums().near_one == 0x3F800001'3F800000; }

/// Whether it also keeps subnormal numbers.
inline bool rounds_to_nearest_with_subnormals() {
    const ProbeSums sums = probe_sums();
    return sums.near_one == 0x3F800001'3F800000 && sums.subnormal == 0x00400000;
}

/// Whether what is computed here in double has the default rounding: always so in constant expressions and on a GPU.
constexpr bool has_default_arithmetic() {
#ifdef __CUDA_ARCH__
    return true;
#else
    if (std::is_constant_evaluated()) return true;
    return rounds_to_nearest_with_subnormals();
#endif
}

}  // namespace ulp::support
