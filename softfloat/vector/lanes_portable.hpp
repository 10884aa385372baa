// One lane: the operations that the kernels are written in, for any processor. See lanes_avx512.hpp for the wide ones.
#pragma once

#include <cstdint>
#include <cstring>

#include "softfloat/array/two_sum.hpp"

namespace ulp::array {
namespace {

struct Portable {
    using Word = std::uint32_t;
    using Mask = bool;
    static constexpr int width = 1;

    static Word load(const void* p) {
        Word x;
        std::memcpy(&x, p, sizeof x);
        return x;
    }
    static void store(void* p, Word x) { std::memcpy(p, &x, sizeof x); }
    static void store16(void* p, Word x) {
        const auto low = static_cast<std::uint16_t>(x);
        std::memcpy(p, &low, sizeof low);
    }
    static void store8(void* p, Word x) {
        const auto low = static_cast<std::uint8_t>(x);
        std::memcpy(p, &low, sizeof low);
    }
    static Word load16(const void* p) {
        std::uint16_t x;
        std::memcpy(&x, p, sizeof x);
        return x;
    }
    static Word load8(const void* p) {
        std::uint8_t x;
        std::memcpy(&x, p, sizeof x);
        return x;
    }
    static Word set(std::uint32_t x) { return x; }

    static Word both(Word a, Word b) { return a & b; }
    static Word either(Word a, Word b) { return a | b; }
    static Word differ(Word a, Word b) { return a ^ b; }
    static Word without(Word a, Word b) { return a & ~b; }
    static Word add(Word a, Word b) { return a + b; }
    static Word subtract(Word a, Word b) { return a - b; }
    /// A distance of 32 or more, or below 0, gives 0.
    static Word shift_left(Word a, Word distance) { return distance < 32 ? a << distance : 0; }
    static Word shift_right(Word a, Word distance) { return distance < 32 ? a >> distance : 0; }
    static Word all_sign(Word a) { return static_cast<Word>(static_cast<std::int32_t>(a) >> 31); }
    static Word max_signed(Word a, Word b) {
        return static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b) ? a : b;
    }
    static Word min_signed(Word a, Word b) {
        return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? a : b;
    }
    static constexpr bool has_integer_part = false;

    static Mask greater_signed(Word a, Word b) { return static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b); }
    static Mask greater_unsigned(Word a, Word b) { return a > b; }
    static Mask equal(Word a, Word b) { return a == b; }
    static Word select(Mask mask, Word yes, Word no) { return mask ? yes : no; }
    static Word where(Mask mask, Word yes) { return mask ? yes : 0; }
    static bool any(Mask mask) { return mask; }

    // Philox: each lane of 64 bits computes a block of four words.
    using Word64 = std::uint64_t;
    static constexpr int blocks = 1;
    static Word64 set64(std::uint64_t x) { return x; }
    static Word64 block_numbers(std::uint64_t first) { return first; }
    static Word64 upper(Word64 x) { return x >> 32; }
    static Word64 differ64(Word64 a, Word64 b, Word64 c) { return a ^ b ^ c; }
    /// Of the lower halves.
    static Word64 product(Word64 a, Word64 b) { return (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF); }
    static void in_order(Word64 a, Word64 b, Word64 c, Word64 d, Word* words) {
        words[0] = static_cast<Word>(a);
        words[1] = static_cast<Word>(b);
        words[2] = static_cast<Word>(c);
        words[3] = static_cast<Word>(d);
    }

    /// fp16 goes through the integer conversions; see the wide lanes for processors that have an instruction.
    static constexpr bool has_half = false;

    /// fp32 arithmetic in the rounding of the processor's control register.
    struct Single {
        using Reg = float;
        static Reg add(Reg a, Reg b) { return a + b; }
        static Reg subtract(Reg a, Reg b) { return a - b; }
        static Reg multiply(Reg a, Reg b) { return a * b; }
        static Reg divide(Reg a, Reg b) { return a / b; }
        static Reg sqrt(Reg a) { return __builtin_sqrtf(a); }
        static Reg fma(Reg a, Reg b, Reg c) { return __builtin_fmaf(a, b, c); }
        static Reg add_to_odd(Reg a, Reg b) { return two_sum_to_odd<Single>(a, b); }
        /// The product must be exact.
        static Reg fma_to_odd(Reg a, Reg b, Reg c) { return add_to_odd(multiply(a, b), c); }
        /// x, rounded to nearest even from x + error, as if rounded to odd. NaNs and infinities have error NaN.
        static Reg to_odd(Reg x, Reg error) {
            const Word word = word_of(x);
            const bool inexact = error < 0 || error > 0;
            const Word step = all_sign(word ^ word_of(error)) | 1;
            return inexact && (word & 1) == 0 ? single_of(word + step) : x;
        }
    };
    static float single_of(Word x) { return reinterpret<float>(x); }
    static Word word_of(float x) { return reinterpret<Word>(x); }
    static float from_integer(Word x) { return static_cast<float>(x); }
    static Word canonical_nan(Word x) { return (x & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC00000 : x; }

    /// fp64 arithmetic on as many lanes: the upper half of a pair is not used.
    struct Double {
        using Reg = double;
        static Reg add(Reg a, Reg b) { return a + b; }
        static Reg subtract(Reg a, Reg b) { return a - b; }
        static Reg multiply(Reg a, Reg b) { return a * b; }
        static Reg divide(Reg a, Reg b) { return a / b; }
        static Reg sqrt(Reg a) { return __builtin_sqrt(a); }
        static Reg add_to_odd(Reg a, Reg b) { return two_sum_to_odd<Double>(a, b); }
        static Reg fma_to_odd(Reg a, Reg b, Reg c) { return add_to_odd(multiply(a, b), c); }
        static Reg to_odd(Reg x, Reg error) {
            const auto word = reinterpret<std::uint64_t>(x);
            const bool inexact = error < 0 || error > 0;
            const bool away = static_cast<std::int64_t>(word ^ reinterpret<std::uint64_t>(error)) >= 0;
            return inexact && (word & 1) == 0 ? reinterpret<double>(away ? word + 1 : word - 1) : x;
        }
    };
    static double widen_low(Word x) { return single_of(x); }
    static double widen_high(Word) { return 0; }
    /// Rounded to odd in fp32. Beyond fp32's range: the largest number, which is odd.
    static Word narrow_odd(double x, double) {
        const auto nearest = static_cast<float>(x);
        const double back = nearest;
        const bool inexact = back < x || back > x;
        const bool above = inexact && (back < 0 ? -back : back) > (x < 0 ? -x : x);
        return (word_of(nearest) - (above ? 1 : 0)) | (inexact ? 1 : 0);
    }
    /// fp64 in memory, rounded to odd in fp32.
    static Word load_narrow_odd(const void* p) {
        double x;
        std::memcpy(&x, p, sizeof x);
        return narrow_odd(x, 0);
    }
    static void store_widened(void* p, Word x) {
        const double wide = widen_low(x);
        std::memcpy(p, &wide, sizeof wide);
    }

  private:
    template <class To, class From>
    static To reinterpret(From x) {
        static_assert(sizeof(To) == sizeof(From));
        To result;
        std::memcpy(&result, &x, sizeof result);
        return result;
    }
};

}  // namespace
}  // namespace ulp::array
