// What a GPU's functions of numbers should give, where somebody has said so: conversions and the arithmetic of halves,
// by the PTX ISA 9.0 (sections 9.7.3 to 9.7.5 and 9.7.9.21): IEEE 754, and NaNs with all bits set but the sign. No card
// has been asked yet. Of the approximate functions the manual gives error bounds alone: they have no model.
#pragma once

#include <cstdint>

#include "gpu/instructions/input_classes.hpp"
#include "softfloat/arithmetic.hpp"
#include "softfloat/round.hpp"

namespace ulp::gpu::models {

/// The NaN of a conversion or an operation.
constexpr std::uint32_t with_nan(const FloatFormat& format, std::uint64_t code) {
    if (!is_nan(format, code)) return static_cast<std::uint32_t>(code);
    return static_cast<std::uint32_t>((std::uint64_t{1} << (format.code_bits() - 1)) - 1);
}

/// Nothing is known but the answers.
struct NoModel {
    static constexpr bool known = false;
    static constexpr bool is_nan_code(std::uint32_t) { return false; }
    static constexpr std::uint32_t bits(std::uint32_t) { return 0; }
};

// nvcc 13 takes no FloatFormat as an argument of a kernel's templates: so a struct each.
#define ULPLAB_CONVERSION_MODEL(Name, TO, FROM, ROUNDING, SATURATE)                                 \
    struct Name {                                                                                   \
        static constexpr bool known = true;                                                         \
        static constexpr bool is_nan_code(std::uint32_t code) { return is_nan(formats::TO, code); } \
        static constexpr std::uint32_t bits(std::uint32_t x) {                                      \
            Context context;                                                                        \
            context.rounding = Rounding::ROUNDING;                                                  \
            context.saturate = SATURATE;                                                            \
            return with_nan(formats::TO, convert_bits(formats::TO, formats::FROM, x, context));     \
        }                                                                                           \
    }
ULPLAB_CONVERSION_MODEL(Fp16OfFp32, fp16, fp32, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Fp16OfFp32Truncated, fp16, fp32, toward_zero, false);
ULPLAB_CONVERSION_MODEL(Bf16OfFp32, bf16, fp32, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Bf16OfFp32Truncated, bf16, fp32, toward_zero, false);
ULPLAB_CONVERSION_MODEL(E4m3OfFp32, e4m3, fp32, nearest_even, true);
ULPLAB_CONVERSION_MODEL(E5m2OfFp32, e5m2, fp32, nearest_even, true);
ULPLAB_CONVERSION_MODEL(E4m3OfFp16, e4m3, fp16, nearest_even, true);
ULPLAB_CONVERSION_MODEL(E5m2OfFp16, e5m2, fp16, nearest_even, true);
ULPLAB_CONVERSION_MODEL(Fp32OfFp16, fp32, fp16, nearest_even, false);
#undef ULPLAB_CONVERSION_MODEL

/// Of the pair of halves in an operand: the second in the upper half.
#define ULPLAB_PAIR_MODEL(Name, FORMAT, operation)                                                            \
    struct Name {                                                                                             \
        static constexpr bool known = true;                                                                   \
        static constexpr bool is_nan_code(std::uint32_t code) { return is_nan(formats::FORMAT, code); }       \
        static constexpr std::uint32_t bits(std::uint32_t pair) {                                             \
            Context context;                                                                                  \
            return with_nan(formats::FORMAT, operation(formats::FORMAT, pair & 0xFFFF, pair >> 16, context)); \
        }                                                                                                     \
    }
ULPLAB_PAIR_MODEL(AddFp16, fp16, add_bits<std::uint64_t>);
ULPLAB_PAIR_MODEL(MultiplyFp16, fp16, multiply_bits<std::uint64_t>);
ULPLAB_PAIR_MODEL(AddBf16, bf16, add_bits<std::uint64_t>);
ULPLAB_PAIR_MODEL(MultiplyBf16, bf16, multiply_bits<std::uint64_t>);
#undef ULPLAB_PAIR_MODEL

/// Three halves of a sample, by its number.
struct Halves {
    std::uint16_t a, b, c;
};
constexpr Halves sampled_halves(std::uint32_t number) {
    const std::uint64_t random = mix(number);
    return {static_cast<std::uint16_t>(random), static_cast<std::uint16_t>(random >> 16),
            static_cast<std::uint16_t>(random >> 32)};
}
#define ULPLAB_FMA_MODEL(Name, FORMAT)                                                                          \
    struct Name {                                                                                               \
        static constexpr bool known = true;                                                                     \
        static constexpr bool is_nan_code(std::uint32_t code) { return is_nan(formats::FORMAT, code); }         \
        static constexpr std::uint32_t bits(std::uint32_t number) {                                             \
            const Halves x = sampled_halves(number);                                                            \
            Context context;                                                                                    \
            return with_nan(formats::FORMAT, fma_bits<std::uint64_t>(formats::FORMAT, x.a, x.b, x.c, context)); \
        }                                                                                                       \
    }
ULPLAB_FMA_MODEL(FmaFp16, fp16);
ULPLAB_FMA_MODEL(FmaBf16, bf16);
#undef ULPLAB_FMA_MODEL

}  // namespace ulp::gpu::models
