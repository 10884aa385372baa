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
    return x < 0 ? -x : x;
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

/// 2^k for -1022 <= k <= 1023.
constexpr double power_of_two(std::int64_t k) { return real_of<double>(static_cast<std::uint64_t>(k + 1023) << 52); }
template <class Real>
constexpr Real power_of_two_words(WordOf<Real> k) {
    return real_of<Real>((k + 1023) << 52);
}

/// 1.5 * 2^52: a number below 2^51 added to it, rounded to an integer, stands in the low bits of the word.
inline constexpr double integer_shift = 0x1.8p52;
inline constexpr std::uint64_t integer_shift_word = 0x4338000000000000;

/// The nearest integer to x, |x| < 2^51, as a number and as the (signed) word.
template <class Real>
struct Nearest {
    Real value;
    WordOf<Real> integer;
};
template <class Real>
constexpr Nearest<Real> nearest(Real x) {
    const Real shifted = x + integer_shift;
    return {shifted - integer_shift, word_of(shifted) - integer_shift_word};
}
/// The number of a (signed) word, |integer| < 2^51.
template <class Real>
constexpr Real from_integer(WordOf<Real> integer) {
    return real_of<Real>(integer + integer_shift_word) - integer_shift;
}

static_assert(nearest(-2.75).value == -3 && from_integer<double>(nearest(-2.75).integer) == -3);

}  // namespace ulp::quick_phase
