// The mathematical functions on arrays, correctly rounded: the bits of softfloat/functions/functions.hpp.
//
//     ulp::exp_array<ulp::fp16>(x, y);
//     ulp::tanh_array<ulp::bf16>(x, y, {.rounding = ulp::Rounding::up});
//
// For formats of up to 16 bits the first call for a function, format and rounding computes all results (up to 65,536,
// some milliseconds), and every element is one look-up: 0.3 ns, whatever the function costs. The tables stay: 128 KiB
// each for 16 bits. With stochastic rounding the entries are two results and their chance: 512 KiB each, for each
// number of random bits; with more than 24 bits the first call takes a tenth of a second. fp32 and tf32 are computed in
// vectors of doubles (kernels/function_kernel.hpp), the few elements that these cannot decide by the scalar function;
// so are all elements of other formats.
#pragma once

#include <span>

#include "softfloat/array/array.hpp"
#include "softfloat/array/operation.hpp"

namespace ulp {

namespace array {

/// out[i] = function(in[i]) on storage words (words.hpp); in and out are the same or do not overlap. Throws
/// std::invalid_argument for precisions above 24.
void evaluate_words(const FloatFormat& format, Function function, const void* in, void* out, std::size_t count,
                    const Context& context, Simd simd);

/// out[i] = x[i]^y[i], element by element.
void pow_words(const FloatFormat& format, const void* x, const void* y, void* out, std::size_t count,
               const Context& context);

template <Number Real>
void evaluate(std::string_view name, Function function, std::span<const Real> x, std::span<Real> out,
              const Context& context, Simd simd) {
    require_same_size(name, x.size(), out.size());
    evaluate_words(format_of<Real>(), function, x.data(), out.data(), out.size(), context, simd);
}

}  // namespace array

/// out[i] = function(x[i]) for float and Float<F>; spans of the same size, or std::invalid_argument.
#define ULPLAB_FUNCTION(name, Definition)                                                        \
    template <array::Number Real>                                                                \
    void name##_array(std::span<const Real> x, std::span<Real> out, const Context& context = {}, \
                      Simd simd = simd_choice()) {                                               \
        array::evaluate<Real>(#name "_array", array::Function::name, x, out, context, simd);     \
    }
ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION

/// out[i] = x[i] to the power y[i], for float and Float<F>; sizes as above.
template <array::Number Real>
void pow_array(std::span<const Real> x, std::span<const Real> y, std::span<Real> out, const Context& context = {}) {
    array::require_same_size("pow_array", x.size(), out.size());
    array::require_same_size("pow_array", y.size(), out.size());
    array::pow_words(array::format_of<Real>(), x.data(), y.data(), out.data(), out.size(), context);
}

}  // namespace ulp
