// What every wrapper of a warp's matrix instruction states about itself: its shape and the registers of a lane.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/instructions/fragment_layout.hpp"

namespace ulp::gpu {

/// A, B, C and D of one instruction as raw words: 32 bits each, 64 for fp64. The wrapper's
///
///     static __device__ void apply(Word (&d)[c_words], const Word (&a)[a_words], const Word (&b)[b_words]);
///
/// computes d += a * b in place. With block scales a lane's registers of them come last, and `scales` bytes of each
/// count.
template <int M, int N, int K, int InputBits, int AccumulatorBits>
struct WarpTile {
    using Word = std::conditional_t<InputBits == 64, std::uint64_t, std::uint32_t>;
    static constexpr TileShape shape{M, N, K};
    static constexpr int input_bits = InputBits;
    static constexpr int accumulator_bits = AccumulatorBits;
    static constexpr int a_words = layout::a_words(shape, InputBits);
    static constexpr int b_words = layout::b_words(shape, InputBits);
    static constexpr int scales = 0;
    static constexpr int c_words = layout::c_words(shape, AccumulatorBits);
};

}  // namespace ulp::gpu
