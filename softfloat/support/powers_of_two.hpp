// Powers of two that are normal numbers of fp32, as nearly all scales of format e8m0 are.
#pragma once

#include <bit>
#include <cstdint>

namespace ulp {

/// put(s, exponent) for `count` scales, `stride` numbers apart. False where one of them is no such power: what was put
/// for it says nothing then. Without branches, for loops over many.
template <class Put>
bool powers_of_two(const float* scales, std::int64_t stride, std::int64_t count, const Put& put) {
    constexpr std::uint32_t smallest = 0x00800000;  // words of 2^-126 and of 2^127
    constexpr std::uint32_t largest = 0x7F000000;
    std::uint32_t wrong = 0;
    for (std::int64_t s = 0; s < count; ++s) {
        const auto word = std::bit_cast<std::uint32_t>(scales[s * stride]);
        wrong |= (word & 0x007FFFFFU) | static_cast<std::uint32_t>(word - smallest > largest - smallest);
        put(s, static_cast<std::int32_t>(word >> 23) - 127);
    }
    return wrong == 0;
}

}  // namespace ulp
