// Tables of all results of a function in a format of up to 16 bits.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "softfloat/array/functions.hpp"
#include "softfloat/functions/evaluate.hpp"

namespace ulp::array {

using BitsFunction = std::uint64_t (*)(const FloatFormat&, std::uint64_t, Context&);
/// The scalar function on bits.
BitsFunction scalar_function(Function function);

using ChanceFunction = Chance (*)(const FloatFormat&, std::uint64_t, const Context&);
/// evaluate_chance of the function.
ChanceFunction chance_function(Function function);

/// Indexed by the storage word.
using FunctionTable = std::vector<std::uint16_t>;

/// The table for this function, format and context (not stochastic), computed at the first call with these. Safe to
/// call from several threads.
std::shared_ptr<const FunctionTable> function_table(const FloatFormat& format, Function function,
                                                    const Context& context);

/// The same for stochastic rounding: a result, and what is xored with it where `fraction` and the random number, both
/// in the upper bits of words, carry.
struct ChanceEntry {
    std::uint16_t down, change;
    std::uint32_t fraction;
};
using ChanceTable = std::vector<ChanceEntry>;
std::shared_ptr<const ChanceTable> chance_table(const FloatFormat& format, Function function, const Context& context);

}  // namespace ulp::array
