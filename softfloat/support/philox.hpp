// Philox4x32-10, a counter-based random generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011): four words are a function of a counter and a key, with no state, so results depend on no order of evaluation.
#pragma once

#include <array>
#include <cstdint>

namespace ulp::philox {

using Block = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;

constexpr Block round(const Block& counter, const Key& key) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    return {high(p1) ^ counter[1] ^ key[0], low(p1), high(p0) ^ counter[3] ^ key[1], low(p0)};
}

/// Four words from a counter and a key.
constexpr Block generate(Block counter, Key key) {
    for (int i = 0; i < 10; ++i) {
        counter = round(counter, key);
        key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
    }
    return counter;
}

// Known answers of the Random123 distribution (kat_vectors).
static_assert(generate({0, 0, 0, 0}, {0, 0}) == Block{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
static_assert(generate({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, {0xFFFFFFFF, 0xFFFFFFFF}) ==
              Block{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});

}  // namespace ulp::philox
