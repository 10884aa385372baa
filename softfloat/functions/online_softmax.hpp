// The softmax of a row whose scores come tile by tile (Milakov and Gimelshein, Online normalizer calculation for
// softmax, 2018; Dao et al., FlashAttention, 2022), in fp32 with correctly rounded exponentials. The kernel and the
// model on the CPU both call it, so that their bits differ only where their products do.
#pragma once

#include <cstdint>
#include <limits>

#include "softfloat/functions/catalog.hpp"
#include "softfloat/functions/evaluate.hpp"

namespace ulp {

/// What is known of a row after some tiles.
struct SoftmaxRow {
    float largest = -std::numeric_limits<float>::infinity();  // score that weights refer to
    float sum = 0;                                            // of exp(score - largest)
};

/// Replaces numbers by their exponentials. Another one with the same bits may be faster (exp_array).
struct EachExponential {
    constexpr void operator()(float* x, std::int64_t count) const {
        for (std::int64_t j = 0; j < count; ++j) x[j] = evaluate_fp32<functions::Exp>(x[j]);
    }
};

/// Takes the next scores of a row; -infinity is a masked key. On return they are weights, exp(score - row.largest),
/// which were added to the row's sum in ascending order. Returns the factor of everything that was summed before.
///
/// With a threshold, rescaling is lazy: row.largest stays behind a larger score until weights would exceed
/// 2^threshold, and the factor is 1 until then (FlashAttention-4 for Blackwell: 8). The result is the same but for
/// roundings.
template <class Exponentials = EachExponential>
constexpr float next_tile(SoftmaxRow& row, float* scores, std::int64_t count, float threshold = 0,
                          const Exponentials& exponentials = {}) {
    constexpr float nothing = -std::numeric_limits<float>::infinity();
    constexpr float log2_e = 0x1.715476p+0F;
    const float before = row.largest;
    float largest = before;
    for (std::int64_t j = 0; j < count; ++j) largest = scores[j] > largest ? scores[j] : largest;
    if (largest == nothing) {  // nothing but masked keys so far
        for (std::int64_t j = 0; j < count; ++j) scores[j] = 0;
        return 1;
    }
    if (before == nothing || (largest - before) * log2_e > threshold) row.largest = largest;
    float factor = before - row.largest;
    exponentials(&factor, 1);
    row.sum = row.sum * factor;
    for (std::int64_t j = 0; j < count; ++j) scores[j] = scores[j] - row.largest;
    exponentials(scores, count);
    for (std::int64_t j = 0; j < count; ++j) row.sum = row.sum + scores[j];
    return factor;
}

}  // namespace ulp
