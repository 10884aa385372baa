// Vectors of 64-bit ARM: 4 lanes of 32 bits. One of the vector kits: the types of the portable one, and its operations
// where the compilers find their instructions; here stand those for which they do not. Docs of the operations stand in
// vec_portable.hpp, remarks here only where the instructions differ.
//
// Every such processor has these instructions, so nothing here needs flags of its own.
#pragma once

#include <arm_neon.h>

#include "softfloat/vector/vec_portable.hpp"

namespace ulp::vec {
namespace {

struct Neon : Portable {
    using Kit = Neon;
    using Portable::shift_left, Portable::shift_right;

    // Memory.
    static Int load16(const void* p) { return vmovl_u16(read<uint16x4_t>(p)); }
    static Int load8(const void* p) { return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(read<std::uint32_t>(p))))); }
    static Double load_widened(const void* p) { return vcvt_f64_f32(read<float32x2_t>(p)); }
    static void store16(void* p, Int x) { write(p, vmovn_u32(x)); }
    static void store8(void* p, Int x) {
        const uint16x4_t halves = vmovn_u32(x);
        write(p, vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(halves, halves))), 0));
    }

    // Integers of 32 bits. The instruction shifts by the lowest byte, to the right where that is negative.
    static Int max(Int a, Int b) { return as<Int>(vmaxq_s32(as<int32x4_t>(a), as<int32x4_t>(b))); }
    static Int min(Int a, Int b) { return as<Int>(vminq_s32(as<int32x4_t>(a), as<int32x4_t>(b))); }
    static Int shift_left(Int a, Int distance) { return vshlq_u32(a, at_most_32(distance)); }
    static Int shift_right(Int a, Int distance) { return vshlq_u32(a, vnegq_s32(at_most_32(distance))); }
    static Int all_sign(Int a) { return as<Int>(vshrq_n_s32(as<int32x4_t>(a), 31)); }
    static Int majority(Int a, Int b, Int c) { return select(bit_xor(a, b), c, a); }

    // Masks.
    static Int select(Mask mask, Int yes, Int no) { return vbslq_u32(mask, yes, no); }
    static Mask none() { return set(0); }
    static Mask either(Mask a, Mask b) { return bit_or(a, b); }
    static bool any(Mask mask) { return vmaxvq_u32(mask) != 0; }
    static bool any(Mask a, Mask b) { return any(either(a, b)); }

    // fp32 and fp64 in the rounding of the processor's control register.
    static Float sqrt(Float a) { return vsqrtq_f32(a); }
    static Double sqrt(Double a) { return vsqrtq_f64(a); }
    static Float fma(Float a, Float b, Float c) { return vfmaq_f32(c, a, b); }
    static Double fma(Double a, Double b, Double c) { return vfmaq_f64(c, a, b); }

    static constexpr bool has_fast_fma = true;
    static Float fnma(Float a, Float b, Float c) { return vfmsq_f32(c, a, b); }
    static Float larger_magnitude(Float a, Float b) { return vbslq_f32(vcagtq_f32(a, b), a, b); }
    static Float smaller_magnitude(Float a, Float b) { return vbslq_f32(vcagtq_f32(a, b), b, a); }
    static Int at_least(Int x, Int least) {
        const Int sign = set(0x80000000);
        return select(sign, x, max(and_not(x, sign), least));
    }
    static Mask subnormal(Float x) { return greater(set(0x00800000), bit_and(as_int(x), set(0x7FFFFFFF))); }

    static unsigned sign_bits(Double x) {
        const uint64x2_t signs = vshrq_n_u64(as<uint64x2_t>(x), 63);
        return static_cast<unsigned>(vgetq_lane_u64(signs, 0) | vgetq_lane_u64(signs, 1) << 1);
    }

    // To odd: see vec_portable.hpp.
    static Float add_to_odd(Float a, Float b) { return two_sum_to_odd<Neon>(a, b); }
    static Double add_to_odd(Double a, Double b) { return two_sum_to_odd<Neon>(a, b); }
    static Float fma_to_odd(Float a, Float b, Float c) { return add_to_odd(mul(a, b), c); }
    static Double fma_to_odd(Double a, Double b, Double c) { return add_to_odd(mul(a, b), c); }
    static Double div_to_odd(Double a, Double b) {
        const Double quotient = div(a, b);
        const Double rest = vfmsq_f64(a, quotient, b);  // the error's sign is its sign, over that of b
        const auto sign = vdupq_n_u64(std::uint64_t{1} << 63);
        return to_odd(quotient, as<Double>(veorq_u64(as<uint64x2_t>(rest), vandq_u64(as<uint64x2_t>(b), sign))));
    }
    static Double sqrt_to_odd(Double a) {
        const Double root = sqrt(a);
        return to_odd(root, vfmsq_f64(a, root, root));
    }

    // Conversions.
    static Int truncate(Float x) { return as<Int>(vcvtq_s32_f32(x)); }
    static constexpr unsigned fraction_digits = 24;
    static Float fraction_to_float(Int x) { return to_float(shift_right<8>(x)); }
    static Int canonical_nan(Int x) { return select(vceqq_f32(as_float(x), as_float(x)), x, set(0x7FC00000)); }
    static Double widen_low(Int x) { return vcvt_f64_f32(vget_low_f32(as_float(x))); }
    static Double widen_high(Int x) { return vcvt_high_f64_f32(as_float(x)); }
    static Int narrow_odd(Double low, Double high) { return as_int(vcvtx_high_f32_f64(vcvtx_f32_f64(low), high)); }

    // The conversion to fp16 rounds as the control register says, so that alone is not told. What it gives lies next to
    // x, whichever rounding that is: the other roundings take the neighbour where it lies on the wrong side.
    static constexpr bool has_half = true;
    enum HalfRounding : std::uint8_t { of_register, zero, down, up };
    static Int load_half(const void* p) { return as_int(vcvt_f32_f16(read<float16x4_t>(p))); }
    template <HalfRounding rounding = of_register>
    static void store_half(void* p, Int x) {
        const float16x4_t near = vcvt_f16_f32(as_float(x));
        uint16x4_t word = vreinterpret_u16_f16(near);
        if constexpr (rounding == zero) word = toward_zero(near, x);
        if constexpr (rounding == down || rounding == up) {
            const Float back = vcvt_f32_f16(near);
            const auto wrong = vmovn_u32(as<Mask>(rounding == down ? back > as_float(x) : back < as_float(x)));
            const uint16x4_t sign = vreinterpret_u16_s16(vshr_n_s16(vreinterpret_s16_u16(word), 15));
            // The magnitude shrinks where a positive number was rounded up or a negative one down, else it grows.
            const uint16x4_t step = vorr_u16(rounding == down ? vmvn_u16(sign) : sign, vdup_n_u16(1));
            word = vadd_u16(word, vand_u16(wrong, step));
        }
        write(p, word);
    }
    static void store_half_odd(void* p, Int x) {
        const uint16x4_t cut = toward_zero(vcvt_f16_f32(as_float(x)), x);
        const Float back = vcvt_f32_f16(vreinterpret_f16_u16(cut));
        const Mask inexact = as<Mask>((back < as_float(x)) | (back > as_float(x)));
        write(p, vorr_u16(cut, vand_u16(vmovn_u32(inexact), vdup_n_u16(1))));
    }

    // Products of matrix units.
    static Int sub_bytes(Int a, Int b) { return as<Int>(vqsubq_u8(as<uint8x16_t>(a), as<uint8x16_t>(b))); }
    static Int max_bytes(Int a, Int b) { return as<Int>(vmaxq_u8(as<uint8x16_t>(a), as<uint8x16_t>(b))); }
    static Int max_words(Int a, Int b) { return as<Int>(vmaxq_s16(as<int16x8_t>(a), as<int16x8_t>(b))); }
    static Int mul_add_words(Int a, Int b) {
        const auto x = as<int16x8_t>(a);
        const auto y = as<int16x8_t>(b);
        return as<Int>(vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y)));
    }
    static std::uint64_t words_between(Int x, int from, int to) {
        const auto words = as<int16x8_t>(x);
        const uint16x8_t inside = vandq_u16(vcgeq_s16(words, vdupq_n_s16(static_cast<std::int16_t>(from))),
                                            vcltq_s16(words, vdupq_n_s16(static_cast<std::int16_t>(to))));
        return vaddvq_u16(vandq_u16(inside, uint16x8_t{1, 2, 4, 8, 16, 32, 64, 128}));
    }
    static Int zero_where_zero(Int x, Int y) { return bit_and(vtstq_u32(x, x), y); }
    static Int select_by_sign(Int sign, Int negative, Int positive) {
        return select(all_sign(sign), negative, positive);
    }
    static std::uint64_t sign_bits(Int x) { return vaddvq_u32(vshlq_u32(vshrq_n_u32(x, 31), int32x4_t{0, 1, 2, 3})); }
    static Float to_float_toward_zero(Int x) { return narrow_toward_zero(to_double_low(x), to_double_high(x)); }
    static Float to_float_odd(Int x) { return as_float(narrow_odd(to_double_low(x), to_double_high(x))); }
    static Float round_to_fp16(Float x) { return vcvt_f32_f16(vcvt_f16_f32(x)); }
    static Double to_double_low(Int x) { return vcvtq_f64_s64(vmovl_s32(vget_low_s32(as<int32x4_t>(x)))); }
    static Double to_double_high(Int x) { return vcvtq_f64_s64(vmovl_high_s32(as<int32x4_t>(x))); }
    static Float floor(Float x) { return vrndmq_f32(x); }
    static Double floor(Double x) { return vrndmq_f64(x); }
    static Double integral(Double x) { return vrndq_f64(x); }
    static Float narrow(Double low, Double high) { return vcvt_high_f32_f64(vcvt_f32_f64(low), high); }
    static Float narrow_toward_zero(Double low, Double high) { return narrow(cut(low), cut(high)); }
    static std::uint64_t bits_of(Mask64 low, Mask64 high) { return sign_bits(Wide::lower_words(low, high)); }

    // 2 lanes of 64 bits.
    struct Wide : Portable::Wide {
        using Kit = Neon;

        static void store32(void* p, Int x) { write(p, vmovn_u64(x)); }
        static void store16(void* p, Int x) {
            const uint32x2_t words = vmovn_u64(x);
            write(p, vget_lane_u32(vreinterpret_u32_u16(vmovn_u32(vcombine_u32(words, words))), 0));
        }
        static void store8(void* p, Int x) {
            const std::uint8_t bytes[2] = {static_cast<std::uint8_t>(vgetq_lane_u64(x, 0)),
                                           static_cast<std::uint8_t>(vgetq_lane_u64(x, 1))};
            std::memcpy(p, bytes, sizeof bytes);
        }
        static Int max(Int a, Int b) { return select(greater(a, b), a, b); }
        static Int min(Int a, Int b) { return select(greater(a, b), b, a); }
        static Int select(Mask mask, Int yes, Int no) { return vbslq_u64(mask, yes, no); }
        static bool any(Mask mask) { return Neon::any(as<Neon::Mask>(mask)); }
        template <int half>
        static Int from_words(Neon::Int words) {
            const auto zeros = vdupq_n_u32(0);
            return as<Int>(half == 0 ? vzip1q_u32(zeros, words) : vzip2q_u32(zeros, words));
        }
        static Neon::Int lower_words(Int low, Int high) {
            return vuzp1q_u32(as<uint32x4_t>(low), as<uint32x4_t>(high));
        }

        // Philox: each lane computes a block of four words.
        static Int mul_lower(Int a, Int b) { return vmull_u32(vmovn_u64(a), vmovn_u64(b)); }
        static Int word_pair(Int product, Int c, Int key) {
            return vsliq_n_u64(xor3(upper(product), c, key), product, 32);
        }
        static void in_order(Int ab, Int cd, Neon::Int* words) {
            words[0] = as<Neon::Int>(vzip1q_u64(ab, cd));
            words[1] = as<Neon::Int>(vzip2q_u64(ab, cd));
        }
    };

  private:
    template <class T>
    static void write(void* p, T x) {
        std::memcpy(p, &x, sizeof x);
    }
    static int32x4_t at_most_32(Int distance) { return as<int32x4_t>(vminq_u32(distance, set(32))); }
    /// `near`, one of the two halves beside x or x itself, made the one with the smaller magnitude.
    static uint16x4_t toward_zero(float16x4_t near, Int x) {
        return vadd_u16(vreinterpret_u16_f16(near), vmovn_u32(vcagtq_f32(vcvt_f32_f16(near), as_float(x))));
    }
};

}  // namespace
}  // namespace ulp::vec
