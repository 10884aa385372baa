// Runs an implementation of an operation against the oracle, in every rounding mode, and counts where they differ.
//
// The implementation is an argument, so the same check runs over the library, which must have no mismatch, and over
// mutants of it, each of which must have some.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "softfloat/names.hpp"
#include "tests/softfloat/oracle.hpp"

namespace ulp::test {

inline constexpr std::array deterministic_roundings{
    Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero, Rounding::down, Rounding::up, Rounding::odd};

/// What a check found. `first` describes the first mismatch: operands, mode, both answers.
struct Mismatches {
    std::uint64_t checks = 0;
    std::uint64_t count = 0;
    std::string first;
};

std::string describe(const Oracle& oracle, std::initializer_list<std::uint64_t> operands, const Context& context,
                     const Answer& expected, const Answer& got);

/// Compares one call with the oracle's answer: the bits (a NaN must be the format's one quiet NaN) and the flags.
template <class Call>
void check_call(Mismatches& found, const Oracle& oracle, const Located& place, const Context& options,
                std::initializer_list<std::uint64_t> operands, Call call) {
    Context context = options;
    const std::uint64_t bits = call(context);
    const Answer got{bits, context.flags};
    const Answer expected = oracle.round(place, options);
    ++found.checks;
    if (got == expected) return;
    if (found.count++ == 0) found.first = describe(oracle, operands, options, expected, got);
}

/// check_call in the six deterministic modes; where the result is tiny with tininess before rounding as well.
template <class Call>
void check_modes(Mismatches& found, const Oracle& oracle, const Located& place,
                 std::initializer_list<std::uint64_t> operands, Call call) {
    for (const Rounding rounding : deterministic_roundings) {
        check_call(found, oracle, place, Context{.rounding = rounding}, operands, call);
        if (!place.tiny) continue;
        check_call(found, oracle, place, Context{.rounding = rounding, .tininess = Tininess::before_rounding}, operands,
                   call);
    }
}

}  // namespace ulp::test
