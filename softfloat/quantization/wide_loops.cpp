#include "softfloat/quantization/wide_loops.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "softfloat/quantization/scale_of_block.hpp"
#include "softfloat/vector/simd_choice.hpp"

namespace ulp {
namespace {

constexpr std::uint32_t fp32_sign = 0x80000000U;

// Plain loops: what is called in them would have to be compiled for the same instructions.

[[gnu::always_inline]] inline void find_largest(const float* numbers, std::int64_t count, std::int64_t block,
                                                std::uint32_t* words) {
    for (std::int64_t first = 0; first < count; first += block) {
        const float* const x = numbers + first;
        const std::int64_t size = std::min(block, count - first);
        std::int32_t largest = 0;  // signed: the smallest instruction sets compare no others
        for (std::int64_t i = 0; i < size; ++i) {
            const auto word = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(x[i]) & ~fp32_sign);
            largest = word > largest ? word : largest;
        }
        *words++ = static_cast<std::uint32_t>(largest);
    }
}

[[gnu::always_inline]] inline void find_largest_of_columns(const Columns& from, std::uint32_t* words) {
    std::fill_n(words, from.cols, 0U);
    for (std::int64_t i = 0; i < from.rows; ++i) {
        const float* const x = from.data + i * from.next_row;
        for (std::int64_t j = 0; j < from.cols; ++j) {
            const auto word = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(x[j]) & ~fp32_sign);
            const auto largest = static_cast<std::int32_t>(words[j]);
            words[j] = static_cast<std::uint32_t>(word > largest ? word : largest);
        }
    }
}

/// 2^(field - 127), where the field is 0 to 254.
[[gnu::always_inline]] inline std::uint32_t power_word(std::int32_t field) {
    return static_cast<std::uint32_t>(field > 0 ? field << 23 : 1 << 22);
}

/// As ScaleOfBlock does it for finite statistics; returns the largest word and, in `zeros`, whether there is a zero.
[[gnu::always_inline]] inline std::uint32_t find_scales(const ExponentScales::Steps& steps, const std::uint32_t* words,
                                                        std::int64_t count, float* decodes, float* encodes,
                                                        bool& zeros) {
    const ExponentScales::Steps s = steps;
    const auto zero_decode = std::bit_cast<std::uint32_t>(s.of_zeros.decode);
    const auto zero_encode = std::bit_cast<std::uint32_t>(s.of_zeros.encode);
    std::int32_t largest = 0;
    std::int32_t any_zero = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto word = static_cast<std::int32_t>(words[i]);
        largest = word > largest ? word : largest;
        const std::int32_t below = (word >> 23) - s.moved;
        const std::int32_t up = (word & 0x7FFFFF) != 0 && below >= s.least ? s.up : 0;
        const std::int32_t raised = below + up > s.least ? below + up : s.least;
        const std::int32_t field = raised < s.most ? raised : s.most;
        const std::int32_t is_zero = word == 0 ? -1 : 0;
        any_zero |= is_zero;
        const auto mask = static_cast<std::uint32_t>(is_zero);
        decodes[i] = std::bit_cast<float>((zero_decode & mask) | (power_word(field) & ~mask));
        encodes[i] = std::bit_cast<float>((zero_encode & mask) | (power_word(254 - field) & ~mask));
    }
    zeros = any_zero != 0;
    return static_cast<std::uint32_t>(largest);
}

/// As Rounder does it (engine/tensor/rounder.hpp), without its cases for NaN.
[[gnu::always_inline]] inline float rounded(const ScaledRounding::Steps& s, float x) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t magnitude = bits & ~fp32_sign;
    const std::uint32_t normal = (magnitude + s.below_half + ((magnitude >> s.cut) & 1U)) >> s.cut << s.cut;
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>((std::bit_cast<float>(magnitude) + s.subnormal_magic) - s.subnormal_magic);
    // A mask in place of a choice, which the compilers would not vectorise.
    const std::uint32_t is_subnormal = 0U - static_cast<std::uint32_t>(magnitude < s.smallest_word);
    const auto result = static_cast<std::int32_t>((subnormal & is_subnormal) | (normal & ~is_subnormal));
    const auto largest = static_cast<std::int32_t>(s.largest_word);  // signed, as above
    return std::bit_cast<float>(static_cast<std::uint32_t>(result > largest ? largest : result) | (bits & fp32_sign));
}

[[gnu::always_inline]] inline void scale_and_round(const ScaledRounding::Steps& steps, float* numbers,
                                                   std::int64_t count, std::int64_t block, const float* encodes) {
    const ScaledRounding::Steps s = steps;
    for (std::int64_t first = 0; first < count; first += block) {
        float* const x = numbers + first;
        const std::int64_t size = std::min(block, count - first);
        const float encode = *encodes++;
        for (std::int64_t i = 0; i < size; ++i) x[i] = rounded(s, x[i] * encode);
    }
}

[[gnu::always_inline]] inline void scale_and_round_to(const ScaledRounding::Steps& steps, const float* __restrict from,
                                                      float* __restrict to, std::int64_t count, std::int64_t block,
                                                      const float* encodes) {
    const ScaledRounding::Steps s = steps;
    for (std::int64_t first = 0; first < count; first += block) {
        const std::int64_t last = std::min(first + block, count);
        const float encode = *encodes++;
        for (std::int64_t i = first; i < last; ++i) to[i] = rounded(s, from[i] * encode);
    }
}

[[gnu::always_inline]] inline void scale_and_round_columns(const ScaledRounding::Steps& steps, const Columns& from,
                                                           float* to, std::int64_t next_to, const float* encodes) {
    const ScaledRounding::Steps s = steps;
    for (std::int64_t i = 0; i < from.rows; ++i) {
        const float* __restrict const x = from.data + i * from.next_row;
        float* __restrict const y = to + i * next_to;
        for (std::int64_t j = 0; j < from.cols; ++j) y[j] = rounded(s, x[j] * encodes[j]);
    }
}

/// name_here: the loop, compiled for each set of instructions, by the widest one that may be used.
#ifdef __x86_64__
#define ULPLAB_WIDE_LOOP(Result, name, parameters, arguments)                                                        \
    [[gnu::target("avx2")]] Result name##_avx2 parameters { return name arguments; }                                 \
    [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] Result name##_avx512 parameters { return name arguments; } \
    Result name##_here parameters {                                                                                  \
        const Simd simd = simd_choice();                                                                             \
        if (simd >= Simd::avx512) return name##_avx512 arguments;                                                    \
        return simd >= Simd::avx2 ? name##_avx2 arguments : name arguments;                                          \
    }
#else
#define ULPLAB_WIDE_LOOP(Result, name, parameters, arguments) \
    Result name##_here parameters { return name arguments; }
#endif

ULPLAB_WIDE_LOOP(void, find_largest,
                 (const float* numbers, std::int64_t count, std::int64_t block, std::uint32_t* words),
                 (numbers, count, block, words))
ULPLAB_WIDE_LOOP(void, find_largest_of_columns, (const Columns& from, std::uint32_t* words), (from, words))
ULPLAB_WIDE_LOOP(std::uint32_t, find_scales,
                 (const ExponentScales::Steps& s, const std::uint32_t* words, std::int64_t count, float* decodes,
                  float* encodes, bool& zeros),
                 (s, words, count, decodes, encodes, zeros))
ULPLAB_WIDE_LOOP(void, scale_and_round,
                 (const ScaledRounding::Steps& s, float* numbers, std::int64_t count, std::int64_t block,
                  const float* encodes),
                 (s, numbers, count, block, encodes))
ULPLAB_WIDE_LOOP(void, scale_and_round_to,
                 (const ScaledRounding::Steps& s, const float* from, float* to, std::int64_t count, std::int64_t block,
                  const float* encodes),
                 (s, from, to, count, block, encodes))
ULPLAB_WIDE_LOOP(void, scale_and_round_columns,
                 (const ScaledRounding::Steps& s, const Columns& from, float* to, std::int64_t next_to,
                  const float* encodes),
                 (s, from, to, next_to, encodes))
#undef ULPLAB_WIDE_LOOP

float power_of_two(int exponent) { return std::ldexp(1.0F, exponent); }

}  // namespace

void largest_words(const float* numbers, std::int64_t count, std::int64_t block, std::uint32_t* words) {
    find_largest_here(numbers, count, block, words);
}

void largest_words_of_columns(const Columns& from, std::uint32_t* words) { find_largest_of_columns_here(from, words); }

ExponentScales::ExponentScales(const Quantization& how, const BlockScale& of_zeros)
    : steps_{.moved = how.element.emax(),
             .up = how.scale.rounding == Rounding::up ? 1 : 0,
             .least =
                 (how.scale.format.has_subnormals ? how.scale.format.smallest_exponent() : how.scale.format.emin()) +
                 127,
             .most = how.scale.format.emax() + 127,
             .of_zeros = of_zeros},
      zeros_have_encode_(of_zeros.encode > 0 && !std::isnan(of_zeros.decode)) {}

bool ExponentScales::operator()(const std::uint32_t* words, std::int64_t count, float* decodes, float* encodes) const {
    bool zeros = false;
    const std::uint32_t largest = find_scales_here(steps_, words, count, decodes, encodes, zeros);
    return largest < first_special_word && (!zeros || zeros_have_encode_);
}

bool ScaledRounding::fits(const Quantization& how) {
    const ElementRule& rule = how.elements;
    const Context& c = rule.rounding;
    const FloatFormat& f = how.element;
    return !rule.divide && !rule.ties_to_zero && !rule.whole.any() && c.rounding == Rounding::nearest_even &&
           !c.flush_inputs && !c.flush_outputs && f.has_sign && f.has_negative_zero() && f.has_subnormals &&
           f.fraction_bits > 0 && f.fraction_bits < formats::fp32.fraction_bits && f.emin() > formats::fp32.emin() &&
           f.emax() < formats::fp32.emax();
}

ScaledRounding::ScaledRounding(const FloatFormat& f)
    : steps_{.cut = formats::fp32.fraction_bits - f.fraction_bits,
             .below_half = (std::uint32_t{1} << (formats::fp32.fraction_bits - f.fraction_bits - 1)) - 1,
             .smallest_word = std::bit_cast<std::uint32_t>(power_of_two(f.emin())),
             .largest_word = std::bit_cast<std::uint32_t>(largest_number(f)),
             .subnormal_magic = power_of_two(f.smallest_exponent() + formats::fp32.fraction_bits)} {}

void ScaledRounding::operator()(float* numbers, std::int64_t count, std::int64_t block, const float* encodes) const {
    scale_and_round_here(steps_, numbers, count, block, encodes);
}

void ScaledRounding::operator()(const float* from, float* to, std::int64_t count, std::int64_t block,
                                const float* encodes) const {
    scale_and_round_to_here(steps_, from, to, count, block, encodes);
}

void ScaledRounding::operator()(const Columns& from, float* to, std::int64_t next_to, const float* encodes) const {
    scale_and_round_columns_here(steps_, from, to, next_to, encodes);
}

}  // namespace ulp
