#include "softfloat/quantization/wide_loops.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "softfloat/quantization/scale_of_block.hpp"
#include "softfloat/vector/simd_choice.hpp"

namespace ulp {
namespace {

constexpr std::uint32_t sign_bit = 0x80000000U;

// Plain loops: what is called in them would have to be compiled for the same instructions.

[[gnu::always_inline]] inline void find_largest(const float* numbers, std::int64_t count, std::int64_t block,
                                                std::uint32_t* words) {
    for (std::int64_t first = 0; first < count; first += block) {
        const float* const x = numbers + first;
        const std::int64_t size = std::min(block, count - first);
        std::int32_t largest = 0;  // signed: the smallest instruction sets compare no others
        for (std::int64_t i = 0; i < size; ++i) {
            const auto word = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(x[i]) & ~sign_bit);
            largest = word > largest ? word : largest;
        }
        *words++ = static_cast<std::uint32_t>(largest);
    }
}

/// As Rounder does it (engine/rounding/rounder.hpp), without its cases for NaN.
[[gnu::always_inline]] inline float rounded(const ScaledRounding::Steps& s, float x) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t magnitude = bits & ~sign_bit;
    const std::uint32_t normal = (magnitude + s.below_half + ((magnitude >> s.cut) & 1U)) >> s.cut << s.cut;
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>((std::bit_cast<float>(magnitude) + s.subnormal_magic) - s.subnormal_magic);
    // A mask in place of a choice, which the compilers would not vectorise.
    const std::uint32_t is_subnormal = 0U - static_cast<std::uint32_t>(magnitude < s.smallest_word);
    const auto result = static_cast<std::int32_t>((subnormal & is_subnormal) | (normal & ~is_subnormal));
    const auto largest = static_cast<std::int32_t>(s.largest_word);  // signed, as above
    return std::bit_cast<float>(static_cast<std::uint32_t>(result > largest ? largest : result) | (bits & sign_bit));
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

#ifdef __x86_64__
[[gnu::target("avx2")]] void find_largest_avx2(const float* numbers, std::int64_t count, std::int64_t block,
                                               std::uint32_t* words) {
    find_largest(numbers, count, block, words);
}
[[gnu::target("avx2")]] void scale_and_round_avx2(const ScaledRounding::Steps& s, float* numbers, std::int64_t count,
                                                  std::int64_t block, const float* encodes) {
    scale_and_round(s, numbers, count, block, encodes);
}
#endif

float power_of_two(int exponent) { return std::ldexp(1.0F, exponent); }

}  // namespace

void largest_words(const float* numbers, std::int64_t count, std::int64_t block, std::uint32_t* words) {
#ifdef __x86_64__
    if (simd_choice() >= Simd::avx2) return find_largest_avx2(numbers, count, block, words);
#endif
    find_largest(numbers, count, block, words);
}

bool ScaledRounding::fits(const Quantization& how) {
    const ElementRule& rule = how.elements;
    const Context& c = rule.rounding;
    const FloatFormat& f = how.element;
    return !rule.divide && !rule.ties_to_zero && c.rounding == Rounding::nearest_even && !c.flush_inputs &&
           !c.flush_outputs && f.has_sign && f.has_negative_zero() && f.has_subnormals && f.fraction_bits > 0 &&
           f.fraction_bits < formats::fp32.fraction_bits && f.emin() > formats::fp32.emin() &&
           f.emax() < formats::fp32.emax();
}

ScaledRounding::ScaledRounding(const FloatFormat& f)
    : steps_{.cut = formats::fp32.fraction_bits - f.fraction_bits,
             .below_half = (std::uint32_t{1} << (formats::fp32.fraction_bits - f.fraction_bits - 1)) - 1,
             .smallest_word = std::bit_cast<std::uint32_t>(power_of_two(f.emin())),
             .largest_word = std::bit_cast<std::uint32_t>(largest_number(f)),
             .subnormal_magic = power_of_two(f.smallest_exponent() + formats::fp32.fraction_bits)} {}

void ScaledRounding::operator()(float* numbers, std::int64_t count, std::int64_t block, const float* encodes) const {
#ifdef __x86_64__
    if (simd_choice() >= Simd::avx2) return scale_and_round_avx2(steps_, numbers, count, block, encodes);
#endif
    scale_and_round(steps_, numbers, count, block, encodes);
}

}  // namespace ulp
