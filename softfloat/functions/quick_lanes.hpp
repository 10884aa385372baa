// What the quick phases are written with, for one double and for a vector of doubles: `Real` is double or one of the
// vector types of g++ and clang, on which + - * / < and ?: work lane by lane. The same text gives the same bits in each
// lane as for one double: nothing is fused, nothing depends on the width.
//
// Units with wider instructions of their own (softfloat/vector/simd_choice.hpp) use these only with the vector type
// that no other unit has, so that what is compiled for it is linked into nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace ulp::quick_phase {

/// The 64-bit words of a Real's lanes.
template <class Real>
struct Lanes {
#ifndef __CUDACC__
    typedef std::uint64_t Word __attribute__((vector_size(sizeof(Real))));
#endif
};
template <>
struct Lanes<double> {
    using Word = std::uint64_t;
};
template <class Real>
using WordOf = typename Lanes<Real>::Word;
template <class Real>
inline constexpr bool is_vector = sizeof(Real) > sizeof(double);

template <class Real>
constexpr WordOf<Real> word_of(Real x) {
    return __builtin_bit_cast(WordOf<Real>, x);
}
template <class Real>
constexpr Real real_of(WordOf<Real> word) {
    return __builtin_bit_cast(Real, word);
}

/// A constant in all lanes.
template <class Real>
constexpr Real all(double x) {
    if constexpr (is_vector<Real>) {
        return x - Real{};
    } else {
        return x;
    }
}

/// yes() where the condition holds, no() elsewhere: one of them for a double, both for a vector.
template <class Real, class Condition, class Yes, class No>
constexpr Real branch(Condition condition, Yes yes, No no) {
    if constexpr (is_vector<Real>) {
        const Real a = yes();
        const Real b = no();
        return condition ? a : b;
    } else {
        return condition ? yes() : no();
    }
}

template <class Real>
constexpr Real magnitude_of(Real x) {
    return real_of<Real>(word_of(x) & 0x7FFFFFFFFFFFFFFF);
}

/// x where it is below the limit, else the limit, as it is for a NaN; and the same where it is above.
template <class Real>
constexpr Real at_most(Real x, double limit) {
#ifdef __AVX512F__
    if constexpr (sizeof(Real) == 64) return _mm512_min_pd(x, all<Real>(limit));
#endif
#ifdef __AVX2__
    if constexpr (sizeof(Real) == 32) return _mm256_min_pd(x, all<Real>(limit));
#endif
    return x < limit ? x : all<Real>(limit);
}
template <class Real>
constexpr Real at_least(Real x, double limit) {
#ifdef __AVX512F__
    if constexpr (sizeof(Real) == 64) return _mm512_max_pd(x, all<Real>(limit));
#endif
#ifdef __AVX2__
    if constexpr (sizeof(Real) == 32) return _mm256_max_pd(x, all<Real>(limit));
#endif
    return x > limit ? x : all<Real>(limit);
}

/// a * b + c: rounded once in vectors that have an instruction for it, which is no worse, else twice.
template <class Real>
constexpr Real multiply_add(Real a, Real b, Real c) {
#ifdef __AVX512F__
    if constexpr (sizeof(Real) == 64) return _mm512_fmadd_pd(a, b, c);
#endif
#if defined(__AVX2__) && defined(__FMA__)
    if constexpr (sizeof(Real) == 32) return _mm256_fmadd_pd(a, b, c);
#endif
    return a * b + c;
}

/// c[0] + c[1] x + c[2] x^2 + ..., even and odd terms apart to halve the chain of dependent operations.
template <class Real, std::size_t N>
constexpr Real polynomial(Real x, const double (&c)[N]) {
    const Real x2 = x * x;
    Real even = all<Real>(c[(N - 1) / 2 * 2]);
    Real odd = all<Real>(c[N / 2 * 2 - 1]);
    for (std::size_t i = (N - 1) / 2 * 2; i >= 2; i -= 2) even = multiply_add(even, x2, all<Real>(c[i - 2]));
    for (std::size_t i = N / 2 * 2 - 1; i >= 2; i -= 2) odd = multiply_add(odd, x2, all<Real>(c[i - 2]));
    return multiply_add(x, odd, even);
}

/// table[index & 7] in each lane.
template <class Real>
[[gnu::always_inline]] constexpr Real look_up(WordOf<Real> index, const double (&table)[8]) {
    if constexpr (is_vector<Real>) {
#ifdef __AVX512F__
        if constexpr (sizeof(Real) == 64)
            return _mm512_permutexvar_pd(
                reinterpret_cast<__m512i>(index),
                Real{table[0], table[1], table[2], table[3], table[4], table[5], table[6], table[7]});
#endif
#ifdef __AVX2__
        if constexpr (sizeof(Real) == 32) {
            // Pairs of words of 32 bits, from either half.
            const __m256i places =
                reinterpret_cast<__m256i>((index & 3) << 1 | (index & 3) << 33 | std::uint64_t{1} << 32);
            const auto from = [&](Real half) {
                return _mm256_permutevar8x32_ps(reinterpret_cast<__m256>(half), places);
            };
            return reinterpret_cast<Real>(
                _mm256_blendv_pd(reinterpret_cast<__m256d>(from(Real{table[0], table[1], table[2], table[3]})),
                                 reinterpret_cast<__m256d>(from(Real{table[4], table[5], table[6], table[7]})),
                                 reinterpret_cast<__m256d>(index << 61)));
        }
#endif
        Real values{};
        for (std::size_t i = 0; i < sizeof(Real) / sizeof(double); ++i) values[i] = table[index[i] & 7];
        return values;
    } else {
        return table[index & 7];
    }
}
/// The polynomial whose coefficients stand in the column index & 7 of a table, each lane with its own.
template <class Real, std::size_t N>
[[gnu::always_inline]] constexpr Real polynomial_at(WordOf<Real> index, Real x, const double (&c)[N][8]) {
    const Real x2 = x * x;
    Real even = look_up<Real>(index, c[(N - 1) / 2 * 2]);
    Real odd = look_up<Real>(index, c[N / 2 * 2 - 1]);
    for (std::size_t i = (N - 1) / 2 * 2; i >= 2; i -= 2) even = multiply_add(even, x2, look_up<Real>(index, c[i - 2]));
    for (std::size_t i = N / 2 * 2 - 1; i >= 2; i -= 2) odd = multiply_add(odd, x2, look_up<Real>(index, c[i - 2]));
    return multiply_add(x, odd, even);
}

/// 2^k for -1022 <= k <= 1023.
constexpr double power_of_two(std::int64_t k) { return real_of<double>(static_cast<std::uint64_t>(k + 1023) << 52); }

/// 1.5 * 2^52: a number below 2^51 added to it, rounded to an integer, is in the low bits of the word.
inline constexpr double integer_shift = 0x1.8p52;
inline constexpr std::uint64_t integer_shift_word = 0x4338000000000000;

/// The integer nearest to x * factor (or, where they are in doubt, the other one beside it), below 2^51 in size: as a
/// number, and the word whose lower 48 bits are the integer's, modulo 2^48.
template <class Real>
struct Nearest {
    Real value;
    WordOf<Real> low_bits;
};
template <class Real>
constexpr Nearest<Real> nearest(Real x, double factor) {
    const Real shifted = multiply_add(x, all<Real>(factor), all<Real>(integer_shift));
    return {shifted - integer_shift, word_of(shifted)};
}
/// The number of a (signed) word, |integer| < 2^51.
template <class Real>
constexpr Real from_integer(WordOf<Real> integer) {
    return real_of<Real>(integer + integer_shift_word) - integer_shift;
}

static_assert(nearest(-2.75, 2).value == -6 && (nearest(-2.75, 2).low_bits & 7) == 2);
static_assert(from_integer<double>(static_cast<std::uint64_t>(-6)) == -6);

}  // namespace ulp::quick_phase
