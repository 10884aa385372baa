// How array operations round: the Context of scalar operations, with a random generator in place of a random number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softfloat/context.hpp"
#include "softfloat/support/philox.hpp"

namespace ulp {

/// Options of an array operation. Arrays collect no flags.
///
/// Stochastic rounding draws one number for each element, a function of (seed, stream, position of the element): an
/// array cut into pieces for several threads rounds as it does whole, if each piece says where it begins in `first`.
struct ArrayContext {
    Rounding rounding = Rounding::nearest_even;
    Tininess tininess = Tininess::after_rounding;
    bool flush_inputs = false;
    bool flush_outputs = false;
    bool saturate = false;
    int random_bits = 32;      // stochastic rounding: 1 to 32
    std::uint64_t seed = 0;    // the generator's key
    std::uint64_t stream = 0;  // the upper half of its counter: say, a tensor and a step of training
    std::uint64_t first = 0;   // position of the array's first element in the stream
};

/// The random number of an element: the upper random_bits of the word (position mod 4) of Philox block position / 4.
constexpr std::uint64_t random_for(const ArrayContext& context, std::size_t element) {
    const std::uint64_t position = context.first + element;
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const auto block =
        philox::generate({low(position / 4), high(position / 4), low(context.stream), high(context.stream)},
                         {low(context.seed), high(context.seed)});
    return block[position % 4] >> (32 - context.random_bits);
}

/// What the scalar operation on an element is given.
constexpr Context scalar_context(const ArrayContext& context, std::size_t element) {
    Context scalar{.rounding = context.rounding,
                   .tininess = context.tininess,
                   .flush_inputs = context.flush_inputs,
                   .flush_outputs = context.flush_outputs,
                   .saturate = context.saturate};
    if (context.rounding == Rounding::stochastic) {
        scalar.random_bits = context.random_bits;
        scalar.random = random_for(context, element);
    }
    return scalar;
}

}  // namespace ulp
