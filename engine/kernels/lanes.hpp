// What the lanes of a register of 32-bit words add up to. For the kernels of this room.
#pragma once

#include <cstdint>

namespace ulp {
namespace {

template <class Vec>
std::int64_t sum_of_lanes(typename Vec::Int x) {
    std::uint32_t lanes[Vec::lanes];
    Vec::store(lanes, x);
    std::int64_t sum = 0;
    for (const std::uint32_t lane : lanes) sum += lane;
    return sum;
}

}  // namespace
}  // namespace ulp
