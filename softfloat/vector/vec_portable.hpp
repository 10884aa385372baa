// The vector kit for any processor: 4 lanes of 32 bits, in the vector types that g++ and clang have everywhere. A
// kernel is a template over a kit `Vec`; vec_avx2.hpp, vec_avx512.hpp and vec_neon.hpp have the same operations for
// their instructions, and a port to other instructions is one more such file.
//
// The operations, each on all lanes:
//
//     load, load16, load8        words of 32, 16 or 8 bits, the narrow ones filled up with zeros; any alignment
//     load_widened               fp32 numbers, half as many as lanes, as fp64
//     store16, store8            lanes that hold at most that many bits
//     and_not(a, b)              a & ~b; xor3: a ^ b ^ c; majority: each bit as in two or all of a, b and c
//     max, min, greater          of signed integers
//     shift_left, shift_right    logical; a distance of 32 or more, or below 0, gives 0
//     all_sign                   all bits the sign bit
//     select, where              yes or no; yes or 0
//     any                        whether there is a lane; for two masks, like the next six, only where has_fast_fma
//     none, either               no lane; lanes of one mask or both
//     fnma(a, b, c)              c - a * b, rounded once
//     larger_magnitude, smaller_ of two numbers; where they are equal but for the sign, either
//     at_least(x, least)         fp32 words: x, or `least` with the sign of x where the magnitude of x is smaller
//     subnormal                  where fp32 numbers are subnormal or zero
//     fraction_to_float          the upper fraction_digits bits of a word as an integer, in fp32, toward zero
//     add_to_odd, fma_to_odd     rounded to odd (kernels_arithmetic.hpp); the product of fma_to_odd must be exact
//     adds_to_odd_everywhere     fp32 sums that overflow, too, are rounded to odd: to the largest number
//     sign_bits                  of fp64 lanes: one bit per lane, the first lane's lowest
//     truncate                   to int32, toward zero; unspecified outside int32
//     canonical_nan              fp32 words with every NaN replaced by the one quiet NaN
//     load_half, store_half      fp16 in memory from and to fp32 words, exact but for the bits of NaNs, and rounded to
//                                nearest even or (zero, down, up) as told; store_half_odd to odd; only where has_half
//     integer_part(x, e)         of x * 2^e for positive x and results that fit, both words of fp32 or, in Wide,
//                                fp64; only where has_integer_part
//     widen_low, widen_high      fp32 words of the lower and upper half of the lanes to fp64
//     narrow_odd                 rounded to odd in fp32; beyond fp32's range the largest number, which is odd
//     div_to_odd, sqrt_to_odd    of fp64, for operands that are fp32 values
//     or_sign_of_zero(x, zero)   x, with the sign of `zero`, +0 or -0, too where x is +0 or -0
//     add_bytes, max_bytes       on lanes of 8 bits, unsigned; add_words, sub_words, max_words: of 16 bits, signed
//     sub_bytes                  a - b, 0 where b is larger
//     mul_add_words              the two signed 16-bit halves of a lane multiplied, and both products added
//     add_word_products(sum,a,b) sum + mul_add_words(a, b); add_byte_products: sum + the products of a lane's four
//     unsigned
//                                bytes of a and signed bytes of b; only where one instruction does it
//     words_between(x, from, to) bit i: the 16-bit lane i is at least `from` and less than `to`
//     computed_here(x)           x, which is not computed later than here, so that a loop written out keeps its sums in
//                                registers; has_computed_here: whether that can be had
//     zero_where_zero(x, y)      y where x is not 0, else 0
//     select_by_sign, sign_bits  choice by a lane's sign bit; bit i: the sign of lane i
//     or_overflow                sets the sign bit of `flags` where x + y = total overflowed
//     to_float_toward_zero       int32 to fp32, in a FloatMode toward zero
//     to_float_odd               int32 to fp32, rounded to odd
//     round_to_fp16              fp32 to nearest even in fp16, as fp32
//     to_double_low, _high       int32 to fp64; floor, integral: rounded down (fp32: below 2^31) or toward zero
//     narrow, narrow_toward_zero fp64 to fp32, to nearest even or toward zero (there: results of fp32's normal range)
//     differ, either, bits_of    masks of 64-bit lanes; bit i: lane i of both halves
//     add_exact(a, b, inexact)   a + b where that is exact; marks the lanes where it is not
//     FloatMode                  while it lives: nearest even or toward zero, subnormal results or operands flushed, as
//                                told; has_flush: whether that can be had
//
// Lanes of 64 bits have the same operations on integers, in Vec::Wide, half as many in a register, and
//
//     from_words<half>           words of 32 bits, those of the lower or the upper half of the lanes, in the upper bits
//     lower_words(low, high)     the lower 32 bits of the lanes of both, in any order
//     upper, mul_lower           the upper 32 bits; the product of the lower 32 bits
//     block_numbers, in_order    Philox: the number of each lane's block, so that `in_order` leaves the four words of
//                                all blocks in order, in two registers for each four words
//     word_pair(p, c, k)         two words of a block as `in_order` takes them: upper(p) ^ c ^ k, and p above it
//
// Both kinds of lanes say their `Word` and the `Kit` that they belong to.
//
// Everything is in an unnamed namespace, and includes are few (softfloat/vector/simd_choice.hpp says why).
#pragma once

#include <cstdint>
#include <cstring>

#include "softfloat/vector/float_mode.hpp"
#include "softfloat/vector/two_sum.hpp"

namespace ulp::vec {
namespace {

struct Portable;

/// The same bits as another vector; a vector from memory.
template <class To, class From>
To as(From x) {
    return reinterpret_cast<To>(x);
}
template <class To>
To read(const void* p) {
    To x;
    std::memcpy(&x, p, sizeof x);
    return x;
}

/// What lanes of 32 and of 64 bits have in common.
template <class Unsigned, class SignedWord>
struct PortableIntegers {
    static constexpr int lanes = 16 / sizeof(Unsigned);
    using Word = Unsigned;
    using Kit = Portable;
    using Int [[gnu::vector_size(16)]] = Unsigned;
    using Signed [[gnu::vector_size(16)]] = SignedWord;
    using Mask = Int;  // all bits of a lane

    static Int load(const void* p) { return read<Int>(p); }
    static void store(void* p, Int x) { std::memcpy(p, &x, sizeof x); }
    static void store16(void* p, Int x) { store_narrowed<std::uint16_t>(p, x); }
    static void store8(void* p, Int x) { store_narrowed<std::uint8_t>(p, x); }
    static Int bit_and(Int a, Int b) { return a & b; }
    static Int bit_or(Int a, Int b) { return a | b; }
    static Int bit_xor(Int a, Int b) { return a ^ b; }
    static Int and_not(Int a, Int b) { return a & ~b; }
    static Int xor3(Int a, Int b, Int c) { return a ^ b ^ c; }
    static Int add(Int a, Int b) { return a + b; }
    static Int sub(Int a, Int b) { return a - b; }
    static Int max(Int a, Int b) { return select(greater(a, b), a, b); }
    static Int min(Int a, Int b) { return select(greater(a, b), b, a); }
    static Int shift_left(Int a, Int distance) {
        return where(mask_of(distance < word_bits), a << (distance & (word_bits - 1)));
    }
    static Int shift_right(Int a, Int distance) {
        return where(mask_of(distance < word_bits), a >> (distance & (word_bits - 1)));
    }
    static Int all_sign(Int a) { return -(a >> (word_bits - 1)); }
    static Mask greater(Int a, Int b) { return mask_of(as<Signed>(a) > as<Signed>(b)); }
    static Mask greater_unsigned(Int a, Int b) { return mask_of(a > b); }
    static Mask equal(Int a, Int b) { return mask_of(a == b); }
    static Int select(Mask mask, Int yes, Int no) { return (mask & yes) | (~mask & no); }
    static Int where(Mask mask, Int yes) { return mask & yes; }
    static constexpr bool has_integer_part = false;

  protected:
    static constexpr Unsigned word_bits = 8 * sizeof(Unsigned);
    /// Comparisons give signed lanes.
    static Mask mask_of(Signed comparison) { return as<Mask>(comparison); }
    template <class Narrow>
    static void store_narrowed(void* p, Int x) {
        Narrow words[lanes];
        for (int i = 0; i < lanes; ++i) words[i] = static_cast<Narrow>(x[i]);
        std::memcpy(p, words, sizeof words);
    }
};

struct Portable : PortableIntegers<std::uint32_t, std::int32_t> {
    using Base = PortableIntegers<std::uint32_t, std::int32_t>;
    using Base::add, Base::sub, Base::store, Base::shift_left, Base::shift_right;
    using Float [[gnu::vector_size(16)]] = float;
    using Double [[gnu::vector_size(16)]] = double;  // half as many lanes

    // Memory.
    static Int load16(const void* p) { return widened<std::uint16_t>(p); }
    static Int load8(const void* p) { return widened<std::uint8_t>(p); }
    static Float load_float(const void* p) { return read<Float>(p); }
    static Double load_double(const void* p) { return read<Double>(p); }
    static Double load_widened(const void* p) {
        float x[lanes / 2];
        std::memcpy(x, p, sizeof x);
        return Double{x[0], x[1]};
    }
    static void store(void* p, Float x) { std::memcpy(p, &x, sizeof x); }
    static void store(void* p, Double x) { std::memcpy(p, &x, sizeof x); }
    static Int set(std::uint32_t x) { return Int{x, x, x, x}; }
    static Int set(std::int32_t x) { return set(static_cast<std::uint32_t>(x)); }
    static Float set_float(float x) { return Float{x, x, x, x}; }
    static Double set_double(double x) { return Double{x, x}; }
    static Float as_float(Int x) { return as<Float>(x); }
    static Int as_int(Float x) { return as<Int>(x); }

    // Integers of 32 bits.
    static Int majority(Int a, Int b, Int c) { return (a & b) | ((a ^ b) & c); }
    template <unsigned n>
    static Int shift_left(Int a) {
        return a << n;
    }
    template <unsigned n>
    static Int shift_right(Int a) {
        return a >> n;
    }
    static bool any(Mask mask) { return (mask[0] | mask[1] | mask[2] | mask[3]) != 0; }

    // fp32 and fp64 in the rounding of the processor's control register.
    static Float add(Float a, Float b) { return a + b; }
    static Float sub(Float a, Float b) { return a - b; }
    static Float mul(Float a, Float b) { return a * b; }
    static Float div(Float a, Float b) { return a / b; }
    static Float sqrt(Float a) {
        for (int i = 0; i < lanes; ++i) a[i] = __builtin_sqrtf(a[i]);
        return a;
    }
    static Float fma(Float a, Float b, Float c) {
        for (int i = 0; i < lanes; ++i) a[i] = __builtin_fmaf(a[i], b[i], c[i]);
        return a;
    }
    static Double add(Double a, Double b) { return a + b; }
    static Double sub(Double a, Double b) { return a - b; }
    static Double mul(Double a, Double b) { return a * b; }
    static Double div(Double a, Double b) { return a / b; }
    static Double sqrt(Double a) {
        for (int i = 0; i < lanes / 2; ++i) a[i] = __builtin_sqrt(a[i]);
        return a;
    }
    static Double fma(Double a, Double b, Double c) {
        for (int i = 0; i < lanes / 2; ++i) a[i] = __builtin_fma(a[i], b[i], c[i]);
        return a;
    }

    static unsigned sign_bits(Double x) {
        return static_cast<unsigned>(__builtin_signbit(x[0]) != 0) | static_cast<unsigned>(__builtin_signbit(x[1]) != 0)
                                                                         << 1;
    }

    static constexpr bool has_fast_fma = false;
    static constexpr bool adds_to_odd_everywhere = false;
    static Float add_to_odd(Float a, Float b) { return two_sum_to_odd<Portable>(a, b); }
    static Double add_to_odd(Double a, Double b) { return two_sum_to_odd<Portable>(a, b); }
    static Float fma_to_odd(Float a, Float b, Float c) { return add_to_odd(mul(a, b), c); }
    static Double fma_to_odd(Double a, Double b, Double c) { return add_to_odd(mul(a, b), c); }
    /// x, rounded to nearest even from x + error, as if rounded to odd. NaNs and infinities have error NaN.
    static Float to_odd(Float x, Float error) {
        const Int word = as_int(x);
        const Mask inexact = mask_of(error < 0) | mask_of(error > 0);
        const Mask even = (word & 1) == 0;
        const Int step = all_sign(word ^ as_int(error)) | 1;
        return as_float(word + (inexact & even & step));
    }
    static Double to_odd(Double x, Double error) {
        const auto word = as<Wide::Int>(x);
        const auto inexact = as<Wide::Int>(error < 0) | as<Wide::Int>(error > 0);
        const auto even = (word & 1) - 1;  // all bits, or none
        const auto step = Wide::all_sign(word ^ as<Wide::Int>(error)) | 1;
        return as<Double>(word + (inexact & even & step));
    }

    static Double div_to_odd(Double a, Double b) {
        const Double quotient = a / b;
        const Double rest = fma(-quotient, b, a);  // the error's sign is its sign, over that of b
        const auto sign = as<Wide::Int>(b) & (std::uint64_t{1} << 63);
        return to_odd(quotient, as<Double>(as<Wide::Int>(rest) ^ sign));
    }
    static Double sqrt_to_odd(Double a) {
        const Double root = sqrt(a);
        return to_odd(root, fma(-root, root, a));
    }
    static Double or_sign_of_zero(Double x, Double zero) {
        const auto sign = as<Wide::Int>(zero) & as<Wide::Int>(x == 0);
        return as<Double>(as<Wide::Int>(x) | sign);
    }

    // Conversions.
    static Float to_float(Int x) { return __builtin_convertvector(as<Signed>(x), Float); }
    static Int truncate(Float x) { return as<Int>(__builtin_convertvector(x, Signed)); }
    static Int canonical_nan(Int x) { return select(greater(x & 0x7FFFFFFF, set(0x7F800000)), set(0x7FC00000), x); }
    static constexpr bool has_half = false;
    static Double widen_low(Int x) { return Double{as_float(x)[0], as_float(x)[1]}; }
    static Double widen_high(Int x) { return Double{as_float(x)[2], as_float(x)[3]}; }
    static Int narrow_odd(Double low, Double high) {
        return Int{narrow_one(low[0]), narrow_one(low[1]), narrow_one(high[0]), narrow_one(high[1])};
    }

    // Products of matrix units.
    static constexpr bool has_computed_here = false;
    static Int computed_here(Int x) { return x; }
    using Bytes [[gnu::vector_size(16)]] = std::uint8_t;
    using Words [[gnu::vector_size(16)]] = std::int16_t;
    static Int add_bytes(Int a, Int b) { return as<Int>(as<Bytes>(a) + as<Bytes>(b)); }
    static Int sub_bytes(Int a, Int b) { return as<Int>(as<Bytes>(max_bytes(a, b)) - as<Bytes>(b)); }
    static Int max_bytes(Int a, Int b) { return select(as<Mask>(as<Bytes>(a) > as<Bytes>(b)), a, b); }
    static Int add_words(Int a, Int b) { return as<Int>(as<Words>(a) + as<Words>(b)); }
    static Int sub_words(Int a, Int b) { return as<Int>(as<Words>(a) - as<Words>(b)); }
    static Int max_words(Int a, Int b) { return select(as<Mask>(as<Words>(a) > as<Words>(b)), a, b); }
    static Int mul_add_words(Int a, Int b) {
        const auto low = [](Int x) { return as<Signed>(x << 16) >> 16; };
        const auto high = [](Int x) { return as<Signed>(x) >> 16; };
        return as<Int>(low(a) * low(b) + high(a) * high(b));
    }
    static std::uint64_t words_between(Int x, int from, int to) {
        const auto words = as<Words>(x);
        std::uint64_t bits = 0;
        for (int i = 0; i < 2 * lanes; ++i) bits |= std::uint64_t{words[i] >= from && words[i] < to} << i;
        return bits;
    }
    static Int zero_where_zero(Int x, Int y) { return where(mask_of(x != 0), y); }
    static Int select_by_sign(Int sign, Int negative, Int positive) {
        return select(all_sign(sign), negative, positive);
    }
    static std::uint64_t sign_bits(Int x) {
        return x[0] >> 31 | (x[1] >> 31) << 1 | (x[2] >> 31) << 2 | (x[3] >> 31) << 3;
    }
    static Int or_overflow(Int flags, Int x, Int y, Int total) { return flags | ((x ^ total) & (y ^ total)); }
    // An int32 is exact in fp64; without the low 29 bits of its significand it is an fp32 number, cut toward zero.
    static Float to_float_toward_zero(Int x) { return narrow_toward_zero(to_double_low(x), to_double_high(x)); }
    static Float to_float_odd(Int x) { return narrow(cut_to_odd(to_double_low(x)), cut_to_odd(to_double_high(x))); }
    // Normal numbers in integers, subnormals by an addition whose last place is 2^-24.
    static Float round_to_fp16(Float x) {
        const Int magnitude = as_int(x) & 0x7FFFFFFF;
        const Int nearest = (magnitude + 0xFFF + ((magnitude >> 13) & 1)) & ~0x1FFFU;
        const Int normal = select(greater(nearest, set(0x477FFFFF)), set(0x7F800000), nearest);  // from 2^16: infinity
        const Int subnormal = as_int((as_float(magnitude) + 0.5F) - 0.5F);
        return as_float(select(greater(set(0x38800000), magnitude), subnormal, normal) | (as_int(x) & 0x80000000));
    }
    static Double to_double_low(Int x) { return Double{as_double(x[0]), as_double(x[1])}; }
    static Double to_double_high(Int x) { return Double{as_double(x[2]), as_double(x[3])}; }
    static Float floor(Float x) {
        const Float cut = to_float(truncate(x));
        return cut + to_float(mask_of(cut > x));  // the mask is -1
    }
    static Double floor(Double x) {
        const Double cut = integral(x);
        return Double{cut[0] - (cut[0] > x[0] ? 1 : 0), cut[1] - (cut[1] > x[1] ? 1 : 0)};
    }
    static Double integral(Double x) {
        return Double{static_cast<double>(static_cast<std::int64_t>(x[0])),
                      static_cast<double>(static_cast<std::int64_t>(x[1]))};
    }
    static Float narrow(Double low, Double high) {
        return Float{static_cast<float>(low[0]), static_cast<float>(low[1]), static_cast<float>(high[0]),
                     static_cast<float>(high[1])};
    }
    static Float narrow_toward_zero(Double low, Double high) { return narrow(cut(low), cut(high)); }
    using Mask64 [[gnu::vector_size(16)]] = std::uint64_t;
    static Mask64 differ(Double a, Double b) { return as<Mask64>(a != b); }
    static Mask64 either(Mask64 a, Mask64 b) { return a | b; }
    static Double add_exact(Double a, Double b, Mask64& inexact) {
        const Double sum = add(a, b);
        inexact = either(inexact, either(differ(sub(sum, a), b), differ(sub(sum, b), a)));
        return sum;
    }
    static std::uint64_t bits_of(Mask64 low, Mask64 high) {
        return (low[0] & 1) | (low[1] & 2) | (high[0] & 4) | (high[1] & 8);
    }
    static constexpr bool has_flush = can_flush;
    using FloatMode = vec::FloatMode;

    // 2 lanes of 64 bits.
    struct Wide : PortableIntegers<std::uint64_t, std::int64_t> {
        static void store32(void* p, Int x) { store_narrowed<std::uint32_t>(p, x); }
        static Int set(std::uint64_t x) { return Int{x, x}; }
        static Int set(std::int32_t x) { return set(static_cast<std::uint64_t>(x)); }
        static bool any(Mask mask) { return (mask[0] | mask[1]) != 0; }
        template <int half>
        static Int from_words(Portable::Int words) {
            return Int{words[2 * half], words[2 * half + 1]} << 32;
        }

        static Portable::Int lower_words(Int low, Int high) {
            const auto lower = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
            return Portable::Int{lower(low[0]), lower(low[1]), lower(high[0]), lower(high[1])};
        }

        // Philox: each lane computes a block of four words.
        static Int block_numbers(std::uint64_t first) { return Int{first, first + 1}; }
        static Int upper(Int x) { return x >> 32; }
        static Int mul_lower(Int a, Int b) { return (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF); }
        static Int word_pair(Int product, Int c, Int key) {
            return (((product >> 32) ^ c ^ key) & 0xFFFFFFFF) | product << 32;
        }
        static void in_order(Int ab, Int cd, Portable::Int* words) {
            for (int i = 0; i < lanes; ++i) words[i] = as<Portable::Int>(Int{ab[i], cd[i]});
        }
    };

  protected:
    static constexpr std::uint64_t low_bits = (std::uint64_t{1} << 29) - 1;
    static double as_double(std::uint32_t x) { return static_cast<std::int32_t>(x); }
    static Double cut(Double x) { return as<Double>(as<Mask64>(x) & ~low_bits); }
    static Double cut_to_odd(Double x) {
        const auto inexact = as<Mask64>((as<Mask64>(x) & low_bits) != 0);
        return as<Double>(as<Mask64>(cut(x)) | (inexact & (low_bits + 1)));
    }
    template <class Narrow>
    static Int widened(const void* p) {
        Narrow words[lanes];
        std::memcpy(words, p, sizeof words);
        return Int{words[0], words[1], words[2], words[3]};
    }
    static std::uint32_t narrow_one(double x) {
        const auto nearest = static_cast<float>(x);
        const double back = nearest;
        const bool inexact = back < x || back > x;
        const bool above = inexact && (back < 0 ? -back : back) > (x < 0 ? -x : x);
        std::uint32_t word;
        std::memcpy(&word, &nearest, sizeof word);
        return (word - (above ? 1 : 0)) | (inexact ? 1 : 0);
    }
};

}  // namespace
}  // namespace ulp::vec
