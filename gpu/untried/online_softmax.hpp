// The softmax of a row whose scores come tile by tile (Milakov and Gimelshein, Online normalizer calculation for
// softmax, 2018; Dao et al., FlashAttention, 2022), in fp32 with correctly rounded exponentials. The kernel and the
// model on the CPU both call it, so that their bits differ only where their products do.
#pragma once

#include <cstdint>
#include <limits>

#include "softfloat/functions/catalog.hpp"
#include "softfloat/functions/evaluate.hpp"

namespace ulp::gpu {

/// What is known of a row after some tiles.
struct SoftmaxRow {
    float largest = -std::numeric_limits<float>::infinity();  // score
    float sum = 0;                                            // of exp(score - largest)
};

/// Takes the next scores of a row; -infinity is a masked key. On return they are weights, exp(score - row.largest),
/// which were added to the row's sum in ascending order. Returns the factor of everything that was summed before.
constexpr float next_tile(SoftmaxRow& row, float* scores, std::int64_t count) {
    const auto exponential = [](float x) { return evaluate_fp32<functions::Exp>(x); };
    const float before = row.largest;
    for (std::int64_t j = 0; j < count; ++j) row.largest = scores[j] > row.largest ? scores[j] : row.largest;
    if (row.largest == -std::numeric_limits<float>::infinity()) {  // nothing but masked keys so far
        for (std::int64_t j = 0; j < count; ++j) scores[j] = 0;
        return 1;
    }
    const float factor = exponential(before - row.largest);
    row.sum = row.sum * factor;
    for (std::int64_t j = 0; j < count; ++j) {
        scores[j] = exponential(scores[j] - row.largest);
        row.sum = row.sum + scores[j];
    }
    return factor;
}

}  // namespace ulp::gpu
