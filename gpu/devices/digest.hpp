// A 64-bit digest of words that does not depend on the order in which they are visited.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/instructions/input_classes.hpp"

namespace ulp::gpu {

/// What word `index` adds to a digest, modulo 2^64.
constexpr std::uint64_t digest_term(std::uint64_t index, std::uint32_t word) { return mix(mix(index) ^ word); }

constexpr std::uint64_t digest(std::span<const std::uint32_t> words) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < words.size(); ++i) sum += digest_term(i, words[i]);
    return sum;
}

}  // namespace ulp::gpu
