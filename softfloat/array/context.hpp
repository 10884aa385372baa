// The random numbers of array operations, and what the scalar operation on one element is given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softfloat/context.hpp"
#include "softfloat/support/philox.hpp"

namespace ulp {

/// The random number of an element: the upper random_bits of the word (position mod 4) of Philox block position / 4.
constexpr std::uint64_t random_for(const Context& context, std::size_t element) {
    const std::uint64_t position = context.first + element;
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const auto block =
        philox::generate({low(position / 4), high(position / 4), low(context.stream), high(context.stream)},
                         {low(context.seed), high(context.seed)});
    return block[position % 4] >> (32 - context.random_bits);
}

/// The context of the scalar operation on an element: the array's, with the element's random number.
constexpr Context scalar_context(const Context& context, std::size_t element) {
    Context scalar = context;
    if (is_stochastic(context.rounding)) scalar.random = random_for(context, element);
    return scalar;
}

}  // namespace ulp
