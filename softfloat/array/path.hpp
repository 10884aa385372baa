// Which way an operation on arrays takes, and why. The operations themselves choose by these functions.
#pragma once

#include <string_view>

#include "softfloat/array/context.hpp"
#include "softfloat/array/operation.hpp"
#include "softfloat/format.hpp"
#include "softfloat/vector/simd_choice.hpp"

namespace ulp::array {

enum class Kernel {
    scalar_loop,        // the scalar operation, one element after the other
    fp32_words,         // decoded to fp32 words, rounded and encoded from there
    fp64_words,         // the same with fp64 words
    native_half,        // the processor's fp16 instructions
    half_nearest,       // fp16 by the processor's conversions from and to fp32
    half_rounded,       // fp16, computed in fp32 to odd, rounded there
    bfloat_nearest,     // bf16, computed in fp32 or fp64
    processor,          // the processor's fp32 instructions
    processor_options,  // the same, operands and results flushed or saturated in passes of their own
    truncated,          // computed toward zero, in fp32 or fp64; a part of the last place added, what is below dropped
    odd_in_single,      // decoded to fp32, computed to odd there, rounded and encoded
    odd_by_double,      // the same, computed in fp64
    odd_in_double,      // computed in fp64 to odd, rounded and encoded from there
    between_doubles,    // the same from the fp64 numbers on both sides of the result; scalar where they differ
    table_of_results,   // functions: looked up; with stochastic rounding two results and their chance
    quick_phase,        // functions: in vectors of fp64; the scalar function where that does not decide
    steps               // looked up: where the fp32 numbers lie at which the result changes; or the code's number
};

struct Path {
    Kernel kernel;
    Simd simd;                // the instructions that it is compiled for
    std::string_view reason;  // a sentence
};
/// As in the enumeration.
std::string_view name_of(Kernel kernel);

/// The path of round_array on values carried in fp32 or fp64. All of these throw std::invalid_argument where the
/// operation does.
Path choose_round_path(const FloatFormat& format, const FloatFormat& container, const Context& context,
                       Simd simd = simd_choice());
/// The path of convert_array.
Path choose_path(const FloatFormat& to, const FloatFormat& from, const Context& context, Simd simd = simd_choice());
/// The path of add_array and so on.
Path choose_path(Operation operation, const FloatFormat& format, const Context& context, Simd simd = simd_choice());
/// The path of exp_array and the other functions of one operand: the same for all of them today.
Path choose_path(Function function, const FloatFormat& format, const Context& context, Simd simd = simd_choice());

}  // namespace ulp::array
