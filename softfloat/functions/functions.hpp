// The mathematical functions of Float<F>, correctly rounded in every mode, for formats with a precision of up to 24:
//
//     exp exp2 expm1 log log2 log1p sin cos tanh sigmoid erf gelu softplus rsqrt cbrt     of one operand
//     pow hypot                                                                           of two
//
//     ulp::fp16 y = exp(x);                                   // to nearest even
//     ulp::Context up{.rounding = ulp::Rounding::up};
//     ulp::bf16 z = tanh(w, up);                              // up.flags tells what happened
//     exp_bits(formats::e4m3, bits, context)                  // a format given at run time
//
// Flags: inexact exactly where the result is, overflow and underflow as for the operations, divide_by_zero where a
// finite operand gives an infinity (log(0), log1p(-1), rsqrt(0), pow(0, -1)), invalid outside the domain.
// What each function does with special operands: catalog.hpp, binary.hpp.
#pragma once

#include "softfloat/float.hpp"
#include "softfloat/functions/binary.hpp"
#include "softfloat/functions/catalog.hpp"
#include "softfloat/functions/list.hpp"

namespace ulp {

/// Three ways to call the function `name`: on bits of a format given at run time, on Float<F>, and on Float<F> with a
/// rounding and flags of one's own.
#define ULPLAB_FUNCTION(name, Function)                                                                      \
    constexpr std::uint64_t name##_bits(const FloatFormat& format, std::uint64_t bits, Context& context) {   \
        return evaluate_bits<functions::Function>(format, bits, context);                                    \
    }                                                                                                        \
    template <FloatFormat F>                                                                                 \
    constexpr Float<F> name(Float<F> x, Context& context) {                                                  \
        return Float<F>::from_bits(static_cast<typename Float<F>::Bits>(name##_bits(F, x.bits(), context))); \
    }                                                                                                        \
    template <FloatFormat F>                                                                                 \
    constexpr Float<F> name(Float<F> x) {                                                                    \
        Context context;                                                                                     \
        return name(x, context);                                                                             \
    }
ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION

/// x to the power y, with IEEE 754-2019's special cases (section 9.2.1).
template <FloatFormat F>
constexpr Float<F> pow(Float<F> x, Float<F> y, Context& context) {
    return Float<F>::from_bits(static_cast<typename Float<F>::Bits>(pow_bits(F, x.bits(), y.bits(), context)));
}
template <FloatFormat F>
constexpr Float<F> pow(Float<F> x, Float<F> y) {
    Context context;
    return pow(x, y, context);
}
/// sqrt(x^2 + y^2), without overflow or underflow on the way.
template <FloatFormat F>
constexpr Float<F> hypot(Float<F> x, Float<F> y, Context& context) {
    return Float<F>::from_bits(static_cast<typename Float<F>::Bits>(hypot_bits(F, x.bits(), y.bits(), context)));
}
template <FloatFormat F>
constexpr Float<F> hypot(Float<F> x, Float<F> y) {
    Context context;
    return hypot(x, y, context);
}

static_assert(exp(fp16{1}).bits() == 0x4170 && log2(bf16{8}) == bf16{3} && cbrt(e4m3{27}) == e4m3{3});
static_assert(tanh(fp16{20}) == fp16{1} && rsqrt(fp16{16}) == fp16{0.25} && sigmoid(bf16{0}) == bf16{0.5});
static_assert(pow(fp16{3}, fp16{4}) == fp16{81} && hypot(bf16{3}, bf16{-4}) == bf16{5});

}  // namespace ulp
