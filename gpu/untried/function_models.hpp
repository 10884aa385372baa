// What a GPU's functions of numbers should give, where somebody has said so: conversions and the arithmetic of halves,
// by the PTX ISA 9.0 (sections 9.7.3 to 9.7.5 and 9.7.9.21): IEEE 754, and NaNs with all bits set but the sign. No card
// has been asked yet. Of the approximate functions the manual gives error bounds alone: they have no model.
#pragma once

#include <cstdint>

#include "gpu/instructions/input_classes.hpp"
#include "softfloat/arithmetic.hpp"
#include "softfloat/round.hpp"

namespace ulp::gpu::models {

/// All bits set but the sign: a NaN, or the largest number of a format without NaNs (PTX ISA: cvt to FP6 and FP4).
constexpr std::uint32_t nan_of(const FloatFormat& format) {
    return static_cast<std::uint32_t>((std::uint64_t{1} << (format.storage_bits() - 1)) - 1);
}

/// The NaN of a conversion or an operation.
constexpr std::uint32_t with_nan(const FloatFormat& format, std::uint64_t code) {
    if (!is_nan(format, code)) return static_cast<std::uint32_t>(code);
    return nan_of(format);
}

/// Nothing is known but the answers.
struct NoModel {
    static constexpr bool known = false;
    static constexpr bool stated = false;
    static constexpr bool is_nan_code(std::uint32_t) { return false; }
    static constexpr std::uint32_t bits(std::uint32_t) { return 0; }
};

// nvcc 13 takes no FloatFormat as an argument of a kernel's templates: so a struct each.
#define ULPLAB_CONVERSION_MODEL(Name, TO, FROM, ROUNDING, SATURATE)                                 \
    struct Name {                                                                                   \
        static constexpr bool known = true;                                                         \
        static constexpr bool stated = true;                                                        \
        static constexpr bool is_nan_code(std::uint32_t code) { return is_nan(formats::TO, code); } \
        static constexpr std::uint32_t bits(std::uint32_t x) {                                      \
            Context context;                                                                        \
            context.rounding = Rounding::ROUNDING;                                                  \
            context.saturate = SATURATE;                                                            \
            if (is_nan(formats::FROM, x)) return nan_of(formats::TO);                               \
            return with_nan(formats::TO, convert_bits(formats::TO, formats::FROM, x, context));     \
        }                                                                                           \
    }
ULPLAB_CONVERSION_MODEL(Fp16OfFp32, fp16, fp32, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Fp16OfFp32Truncated, fp16, fp32, toward_zero, false);
ULPLAB_CONVERSION_MODEL(Fp16OfFp32Down, fp16, fp32, down, false);
ULPLAB_CONVERSION_MODEL(Fp16OfFp32Up, fp16, fp32, up, false);
ULPLAB_CONVERSION_MODEL(Fp16OfFp32Saturated, fp16, fp32, nearest_even, true);
ULPLAB_CONVERSION_MODEL(Tf32OfFp32, tf32, fp32, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Tf32OfFp32Away, tf32, fp32, nearest_away, false);
ULPLAB_CONVERSION_MODEL(Tf32OfFp32Truncated, tf32, fp32, toward_zero, false);
ULPLAB_CONVERSION_MODEL(Bf16OfFp32, bf16, fp32, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Bf16OfFp32Truncated, bf16, fp32, toward_zero, false);
ULPLAB_CONVERSION_MODEL(E4m3OfFp32, e4m3, fp32, nearest_even, true);
ULPLAB_CONVERSION_MODEL(E5m2OfFp32, e5m2, fp32, nearest_even, true);
ULPLAB_CONVERSION_MODEL(E4m3OfFp16, e4m3, fp16, nearest_even, true);
ULPLAB_CONVERSION_MODEL(E5m2OfFp16, e5m2, fp16, nearest_even, true);
ULPLAB_CONVERSION_MODEL(Fp32OfFp16, fp32, fp16, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Fp32OfBf16, fp32, bf16, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Fp16OfBf16, fp16, bf16, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Bf16OfFp16, bf16, fp16, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Fp16OfE4m3, fp16, e4m3, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Fp16OfE5m2, fp16, e5m2, nearest_even, false);
ULPLAB_CONVERSION_MODEL(E2m3OfFp32, e2m3, fp32, nearest_even, true);
ULPLAB_CONVERSION_MODEL(E3m2OfFp32, e3m2, fp32, nearest_even, true);
ULPLAB_CONVERSION_MODEL(E2m1OfFp32, e2m1, fp32, nearest_even, true);
ULPLAB_CONVERSION_MODEL(Fp16OfE2m3, fp16, e2m3, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Fp16OfE3m2, fp16, e3m2, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Fp16OfE2m1, fp16, e2m1, nearest_even, false);
ULPLAB_CONVERSION_MODEL(Bf16OfE8m0, bf16, e8m0, nearest_even, false);
#undef ULPLAB_CONVERSION_MODEL

/// E8M0 of a number's magnitude, as NVIDIA's cuda_fp8.hpp (CUDA 13.0) gives it on a CPU for this instruction: below the
/// format's least number that one, above the largest that one, infinities too. UP: .rp, else .rz.
#define ULPLAB_SCALE_MODEL(Name, UP)                                                                 \
    struct Name {                                                                                    \
        static constexpr bool known = true;                                                          \
        static constexpr bool stated = true;                                                         \
        static constexpr bool is_nan_code(std::uint32_t code) { return code == 0xFF; }               \
        static constexpr std::uint32_t bits(std::uint32_t x) {                                       \
            if (is_nan(formats::fp32, x)) return 0xFF;                                               \
            const std::uint32_t exponent = x >> 23 & 0xFF;                                           \
            const std::uint32_t fraction = x & 0x7FFFFF;                                             \
            /* The least scale, 2^-127, is subnormal in fp32: half of 2^-126. */                     \
            const std::uint32_t above = UP && fraction > (exponent == 0 ? 0x400000U : 0U) ? 1U : 0U; \
            return exponent + above < 0xFE ? exponent + above : 0xFE;                                \
        }                                                                                            \
    }
ULPLAB_SCALE_MODEL(E8m0OfFp32Truncated, false);
ULPLAB_SCALE_MODEL(E8m0OfFp32Up, true);
#undef ULPLAB_SCALE_MODEL

/// Of the pair of halves in an operand: the second in the upper half.
#define ULPLAB_PAIR_MODEL(Name, FORMAT, operation)                                                            \
    struct Name {                                                                                             \
        static constexpr bool known = true;                                                                   \
        static constexpr bool stated = true;                                                                  \
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
#define ULPLAB_FMA_MODEL(Name, FORMAT, FLUSHES)                                                                 \
    struct Name {                                                                                               \
        static constexpr bool known = true;                                                                     \
        static constexpr bool stated = true;                                                                    \
        static constexpr bool is_nan_code(std::uint32_t code) { return is_nan(formats::FORMAT, code); }         \
        static constexpr std::uint32_t bits(std::uint32_t number) {                                             \
            const Halves x = sampled_halves(number);                                                            \
            Context context;                                                                                    \
            context.flush_inputs = FLUSHES;                                                                     \
            context.flush_outputs = FLUSHES;                                                                    \
            return with_nan(formats::FORMAT, fma_bits<std::uint64_t>(formats::FORMAT, x.a, x.b, x.c, context)); \
        }                                                                                                       \
    }
ULPLAB_FMA_MODEL(FmaFp16, fp16, false);
ULPLAB_FMA_MODEL(FmaFp16Flushed, fp16, true);
ULPLAB_FMA_MODEL(FmaBf16, bf16, false);
#undef ULPLAB_FMA_MODEL

inline constexpr int lanes_of_warp = 32;

/// What a lane brings to a sample: any word, or a normal fp32 number from 2^-16 to 2^16.
constexpr std::uint32_t sampled_word(std::uint32_t number, int lane) {
    return static_cast<std::uint32_t>(mix(std::uint64_t{number} * lanes_of_warp + static_cast<unsigned>(lane)));
}
constexpr std::uint32_t sampled_float(std::uint32_t number, int lane) {
    const std::uint32_t word = sampled_word(number, lane);
    return (word & 0x807FFFFF) | (111 + (word >> 23 & 31)) << 23;
}

/// Of a warp's values in ascending lanes; `stated`: the manual says that this is the result, in whatever order.
#define ULPLAB_WARP_MODEL(Name, STATED, SAMPLE, NEXT)                      \
    struct Name {                                                          \
        static constexpr bool known = true;                                \
        static constexpr bool stated = STATED;                             \
        static constexpr bool is_nan_code(std::uint32_t) { return false; } \
        static constexpr std::uint32_t bits(std::uint32_t number) {        \
            std::uint32_t all = SAMPLE(number, 0);                         \
            for (int lane = 1; lane < lanes_of_warp; ++lane) {             \
                const std::uint32_t x = SAMPLE(number, lane);              \
                all = NEXT;                                                \
            }                                                              \
            return all;                                                    \
        }                                                                  \
    }
constexpr std::int32_t as_signed(std::uint32_t x) { return static_cast<std::int32_t>(x); }
constexpr std::uint32_t magnitude_of_float(std::uint32_t x) { return x & 0x7FFFFFFF; }
/// Order of finite fp32 numbers as that of integers.
constexpr std::int32_t rank_of_float(std::uint32_t x) {
    return (x >> 31) != 0 ? -as_signed(magnitude_of_float(x)) : as_signed(x);
}
constexpr std::uint32_t sum_of_floats(std::uint32_t x, std::uint32_t y) {
    Context context;
    return static_cast<std::uint32_t>(add_bits<std::uint64_t>(formats::fp32, x, y, context));
}
ULPLAB_WARP_MODEL(WarpSum, true, sampled_word, all + x);
ULPLAB_WARP_MODEL(WarpMinimum, true, sampled_word, as_signed(x) < as_signed(all) ? x : all);
ULPLAB_WARP_MODEL(WarpMaximum, true, sampled_word, x > all ? x : all);
ULPLAB_WARP_MODEL(WarpMinimumFp32, true, sampled_float, rank_of_float(x) < rank_of_float(all) ? x : all);
ULPLAB_WARP_MODEL(WarpMaximumMagnitude, true, sampled_float,
                  magnitude_of_float(x) > magnitude_of_float(all) ? magnitude_of_float(x) : magnitude_of_float(all));
/// The order of atomics is nobody's promise: this is a guess to be counted against. From +0, as the kernel starts.
ULPLAB_WARP_MODEL(AscendingLanes, false, sampled_float, sum_of_floats(all, x));
#undef ULPLAB_WARP_MODEL

}  // namespace ulp::gpu::models

// The functions of numbers that a GPU has as instructions, each named once: X(Type, kind of operands and result, PTX
// name, model). Kinds: function_kernel.cuh has the instruction's operands, functions.cpp how many operands are asked.

// clang-format off
/// From sm_80.
#define ULPLAB_HARDWARE_FUNCTIONS_SM80(X)                                                          \
    X(Ex2Fp32, fp32_to_fp32, "ex2.approx.f32", NoModel)                                            \
    X(Ex2FtzFp32, fp32_to_fp32, "ex2.approx.ftz.f32", NoModel)                                     \
    X(Lg2Fp32, fp32_to_fp32, "lg2.approx.f32", NoModel)                                            \
    X(Lg2FtzFp32, fp32_to_fp32, "lg2.approx.ftz.f32", NoModel)                                     \
    X(RcpFp32, fp32_to_fp32, "rcp.approx.f32", NoModel)                                            \
    X(RcpFtzFp32, fp32_to_fp32, "rcp.approx.ftz.f32", NoModel)                                     \
    X(RsqrtFp32, fp32_to_fp32, "rsqrt.approx.f32", NoModel)                                        \
    X(SqrtFp32, fp32_to_fp32, "sqrt.approx.f32", NoModel)                                          \
    X(SinFp32, fp32_to_fp32, "sin.approx.f32", NoModel)                                            \
    X(CosFp32, fp32_to_fp32, "cos.approx.f32", NoModel)                                            \
    X(TanhFp32, fp32_to_fp32, "tanh.approx.f32", NoModel)                                          \
    X(Ex2Fp16, half_to_half, "ex2.approx.f16", NoModel)                                            \
    X(TanhFp16, half_to_half, "tanh.approx.f16", NoModel)                                          \
    X(CvtRnFp16Fp32, fp32_to_half, "cvt.rn.f16.f32", Fp16OfFp32)                                   \
    X(CvtRzFp16Fp32, fp32_to_half, "cvt.rz.f16.f32", Fp16OfFp32Truncated)                          \
    X(CvtRmFp16Fp32, fp32_to_half, "cvt.rm.f16.f32", Fp16OfFp32Down)                               \
    X(CvtRpFp16Fp32, fp32_to_half, "cvt.rp.f16.f32", Fp16OfFp32Up)                                 \
    X(CvtSatFp16Fp32, fp32_to_half, "cvt.rn.satfinite.f16.f32", Fp16OfFp32Saturated)               \
    X(CvtRnBf16Fp32, fp32_to_half, "cvt.rn.bf16.f32", Bf16OfFp32)                                  \
    X(CvtRzBf16Fp32, fp32_to_half, "cvt.rz.bf16.f32", Bf16OfFp32Truncated)                         \
    X(CvtFp16x2Fp32, fp32_to_halves, "cvt.rn.f16x2.f32", Fp16OfFp32)                               \
    X(CvtBf16x2Fp32, fp32_to_halves, "cvt.rn.bf16x2.f32", Bf16OfFp32)                              \
    X(CvtRnaTf32Fp32, fp32_to_word, "cvt.rna.tf32.f32", Tf32OfFp32Away)                            \
    X(CvtFp32Fp16, half_to_fp32, "cvt.f32.f16", Fp32OfFp16)                                        \
    X(AddRnFp16, two_halves, "add.rn.f16", AddFp16)                                                \
    X(MulRnFp16, two_halves, "mul.rn.f16", MultiplyFp16)                                           \
    X(FmaRnFp16, three_halves, "fma.rn.f16", FmaFp16)                                              \
    X(FmaRnFtzFp16, three_halves, "fma.rn.ftz.f16", FmaFp16Flushed)                                \
    X(FmaRnBf16, three_halves, "fma.rn.bf16", FmaBf16)                                             \
    X(ReduxAdd, words_of_warp, "redux.sync.add.s32", WarpSum)                                      \
    X(ReduxMin, words_of_warp, "redux.sync.min.s32", WarpMinimum)                                  \
    X(ReduxMax, words_of_warp, "redux.sync.max.u32", WarpMaximum)                                  \
    X(AtomSharedAdd, shared_atomic_of_warp, "atom.shared.add.f32", AscendingLanes)                 \
    X(AtomGlobalAdd, global_atomic_of_warp, "atom.global.add.f32", AscendingLanes)
/// From sm_90.
#define ULPLAB_HARDWARE_FUNCTIONS_SM90(X)                                                          \
    X(Ex2Bf16, half_to_half, "ex2.approx.ftz.bf16", NoModel)                                       \
    X(TanhBf16, half_to_half, "tanh.approx.bf16", NoModel)                                         \
    X(CvtRnTf32Fp32, fp32_to_word, "cvt.rn.tf32.f32", Tf32OfFp32)                                  \
    X(CvtRzTf32Fp32, fp32_to_word, "cvt.rz.tf32.f32", Tf32OfFp32Truncated)                         \
    X(CvtFp32Bf16, half_to_fp32, "cvt.f32.bf16", Fp32OfBf16)                                       \
    X(CvtFp16Bf16, half_to_half, "cvt.rn.f16.bf16", Fp16OfBf16)                                    \
    X(CvtBf16Fp16, half_to_half, "cvt.rn.bf16.f16", Bf16OfFp16)                                    \
    X(CvtE4m3Fp32, fp32_to_pair, "cvt.rn.satfinite.e4m3x2.f32", E4m3OfFp32)                        \
    X(CvtE5m2Fp32, fp32_to_pair, "cvt.rn.satfinite.e5m2x2.f32", E5m2OfFp32)                        \
    X(CvtE4m3Fp16, halves_to_pair, "cvt.rn.satfinite.e4m3x2.f16x2", E4m3OfFp16)                    \
    X(CvtE5m2Fp16, halves_to_pair, "cvt.rn.satfinite.e5m2x2.f16x2", E5m2OfFp16)                    \
    X(CvtFp16E4m3, pair_to_halves, "cvt.rn.f16x2.e4m3x2", Fp16OfE4m3)                              \
    X(CvtFp16E5m2, pair_to_halves, "cvt.rn.f16x2.e5m2x2", Fp16OfE5m2)                              \
    X(AddRnBf16, two_halves, "add.rn.bf16", AddBf16)                                               \
    X(MulRnBf16, two_halves, "mul.rn.bf16", MultiplyBf16)
/// From sm_100 with features of the architecture or its family (100a, 120a): FP6, FP4 and scales.
#define ULPLAB_HARDWARE_FUNCTIONS_SM100(X)                                                         \
    X(CvtE2m3Fp32, fp32_to_pair, "cvt.rn.satfinite.e2m3x2.f32", E2m3OfFp32)                        \
    X(CvtE3m2Fp32, fp32_to_pair, "cvt.rn.satfinite.e3m2x2.f32", E3m2OfFp32)                        \
    X(CvtE2m1Fp32, fp32_to_nibbles, "cvt.rn.satfinite.e2m1x2.f32", E2m1OfFp32)                     \
    X(CvtRzE8m0Fp32, fp32_to_pair, "cvt.rz.satfinite.ue8m0x2.f32", E8m0OfFp32Truncated)            \
    X(CvtRpE8m0Fp32, fp32_to_pair, "cvt.rp.satfinite.ue8m0x2.f32", E8m0OfFp32Up)                   \
    X(CvtFp16E2m3, pair_to_halves, "cvt.rn.f16x2.e2m3x2", Fp16OfE2m3)                              \
    X(CvtFp16E3m2, pair_to_halves, "cvt.rn.f16x2.e3m2x2", Fp16OfE3m2)                              \
    X(CvtFp16E2m1, nibbles_to_halves, "cvt.rn.f16x2.e2m1x2", Fp16OfE2m1)                           \
    X(CvtBf16E8m0, pair_to_halves, "cvt.rn.bf16x2.ue8m0x2", Bf16OfE8m0)
/// Of sm_100 alone: stochastic rounding, whose use of the random bits no manual states, and the minimum of a warp's floats.
#define ULPLAB_HARDWARE_FUNCTIONS_SM100_ONLY(X)                                                    \
    X(CvtRsFp16Fp32, two_stochastic, "cvt.rs.f16x2.f32", NoModel)                                  \
    X(CvtRsBf16Fp32, two_stochastic, "cvt.rs.bf16x2.f32", NoModel)                                 \
    X(CvtRsE4m3Fp32, four_stochastic, "cvt.rs.satfinite.e4m3x4.f32", NoModel)                      \
    X(CvtRsE5m2Fp32, four_stochastic, "cvt.rs.satfinite.e5m2x4.f32", NoModel)                      \
    X(CvtRsE2m3Fp32, four_stochastic, "cvt.rs.satfinite.e2m3x4.f32", NoModel)                      \
    X(CvtRsE3m2Fp32, four_stochastic, "cvt.rs.satfinite.e3m2x4.f32", NoModel)                      \
    X(CvtRsE2m1Fp32, four_stochastic_nibbles, "cvt.rs.satfinite.e2m1x4.f32", NoModel)              \
    X(ReduxMinFp32, floats_of_warp, "redux.sync.min.f32", WarpMinimumFp32)                         \
    X(ReduxMaxFp32, floats_of_warp, "redux.sync.max.abs.NaN.f32", WarpMaximumMagnitude)
// clang-format on
