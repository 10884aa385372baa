// Operations on arrays, vectorised for AVX2 and AVX-512 with a choice at run time (softfloat/vector/simd_choice.hpp),
// with the bits of the scalar operations element by element. One thread each; give threads pieces of the arrays.
//
//     ulp::round_array(ulp::formats::bf16, weights);                                     // in place, nearest even
//     ulp::round_array(ulp::formats::e4m3, x, y, {.rounding = ulp::Rounding::stochastic, .random_bits = 32, .seed =
//     7});
//
// All of them throw std::invalid_argument for spans of different sizes, for random_bits outside 1 to 32 where the
// rounding is stochastic, and for instructions that the processor lacks. Spans of input and output are the same or do
// not overlap.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>

#include "softfloat/array/context.hpp"
#include "softfloat/array/path.hpp"
#include "softfloat/array/words.hpp"
#include "softfloat/float.hpp"
#include "softfloat/format.hpp"
#include "softfloat/vector/simd_choice.hpp"

namespace ulp {

/// to[i] = round_to(format, from[i]): rounded to the format's grid, in fp32. Any format.
void round_array(const FloatFormat& format, std::span<const float> from, std::span<float> to,
                 const Context& context = {}, Simd simd = simd_choice());
/// The same with fp64 as the container.
void round_array(const FloatFormat& format, std::span<const double> from, std::span<double> to,
                 const Context& context = {}, Simd simd = simd_choice());
/// In place.
void round_array(const FloatFormat& format, std::span<float> values, const Context& context = {},
                 Simd simd = simd_choice());
void round_array(const FloatFormat& format, std::span<double> values, const Context& context = {},
                 Simd simd = simd_choice());

namespace array {

/// The format of float, double or a Float<F>.
template <class Real>
constexpr FloatFormat format_of() {
    if constexpr (std::is_same_v<Real, float>) {
        return formats::fp32;
    } else if constexpr (std::is_same_v<Real, double>) {
        return formats::fp64;
    } else {
        return Real::format;
    }
}

template <class Real>
concept Number = std::is_same_v<Real, float> || std::is_same_v<Real, double> || requires {
    Real::format;
};

/// Checks the sizes of the operands that the operation has, and operates on their words.
template <Number Real>
void operate(std::string_view function, Operation operation, std::span<const Real> a, std::span<const Real> b,
             std::span<const Real> c, std::span<Real> out, const Context& context, Simd simd) {
    require_same_size(function, a.size(), out.size());
    const bool two = operation != op_sqrt;
    const bool three = operation == op_fma;
    if (two) require_same_size(function, b.size(), out.size());
    if (three) require_same_size(function, c.size(), out.size());
    const Operands operands{a.data(), two ? b.data() : nullptr, three ? c.data() : nullptr};
    operate_words(format_of<Real>(), operation, operands, out.data(), out.size(), context, simd);
}

}  // namespace array

/// to[i] = from[i] rounded to To's format. From and To: float, double or Float<F> of any F.
template <array::Number From, array::Number To>
void convert_array(std::span<const From> from, std::span<To> to, const Context& context = {},
                   Simd simd = simd_choice()) {
    array::require_same_size("convert_array", from.size(), to.size());
    array::convert_words(array::format_of<To>(), array::format_of<From>(), from.data(), to.data(), from.size(), context,
                         simd);
}

/// out[i] = a[i] + b[i], and so on below, for float, double or Float<F> of any F. Give the type where the arguments are
/// not spans of it: add_array<fp16>(x, y, sum) with vectors.
template <array::Number Real>
void add_array(std::span<const Real> a, std::span<const Real> b, std::span<Real> out, const Context& context = {},
               Simd simd = simd_choice()) {
    array::operate<Real>("add_array", array::op_add, a, b, {}, out, context, simd);
}
/// out[i] = a[i] - b[i]
template <array::Number Real>
void subtract_array(std::span<const Real> a, std::span<const Real> b, std::span<Real> out, const Context& context = {},
                    Simd simd = simd_choice()) {
    array::operate<Real>("subtract_array", array::op_subtract, a, b, {}, out, context, simd);
}
/// out[i] = a[i] * b[i]
template <array::Number Real>
void multiply_array(std::span<const Real> a, std::span<const Real> b, std::span<Real> out, const Context& context = {},
                    Simd simd = simd_choice()) {
    array::operate<Real>("multiply_array", array::op_multiply, a, b, {}, out, context, simd);
}
/// out[i] = a[i] / b[i]
template <array::Number Real>
void divide_array(std::span<const Real> a, std::span<const Real> b, std::span<Real> out, const Context& context = {},
                  Simd simd = simd_choice()) {
    array::operate<Real>("divide_array", array::op_divide, a, b, {}, out, context, simd);
}
/// out[i] = sqrt(a[i])
template <array::Number Real>
void sqrt_array(std::span<const Real> a, std::span<Real> out, const Context& context = {}, Simd simd = simd_choice()) {
    array::operate<Real>("sqrt_array", array::op_sqrt, a, {}, {}, out, context, simd);
}
/// out[i] = a[i] * b[i] + c[i], rounded once.
template <array::Number Real>
void fma_array(std::span<const Real> a, std::span<const Real> b, std::span<const Real> c, std::span<Real> out,
               const Context& context = {}, Simd simd = simd_choice()) {
    array::operate<Real>("fma_array", array::op_fma, a, b, c, out, context, simd);
}

}  // namespace ulp
