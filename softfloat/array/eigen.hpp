// Eigen expressions of Float<F> by the array operations: an assignment of one element-wise operation on matrices,
// arrays, maps and blocks, as in
//
//     sum = a + b;   quotient = x.array() / y.array();   y = x.array().exp();   halves = floats.cast<ulp::fp16>();
//
// runs vectorised where its operands and result lie in one piece of memory in the same order. The bits are those of the
// scalar operators that Eigen would call. Nested expressions (a + b * c), compound assignments (a += b), reductions and
// matrix products stay with Eigen's own loops over the scalar operators; so does log2, which Eigen makes of log.
#pragma once

#include "softfloat/array/functions.hpp"
#include "softfloat/eigen.hpp"
#include "softfloat/functions/functions.hpp"

namespace ulp::array {

/// An expression whose elements are in memory.
template <class Expression>
inline constexpr bool in_memory = (Eigen::internal::traits<std::decay_t<Expression>>::Flags & Eigen::DirectAccessBit) !=
                                  0;
/// The storage orders agree; both orders are those of a vector.
template <class A, class B>
inline constexpr bool same_order = std::decay_t<A>::IsVectorAtCompileTime || std::decay_t<B>::IsVectorAtCompileTime ||
                                   static_cast<bool>(std::decay_t<A>::IsRowMajor) ==
                                       static_cast<bool>(std::decay_t<B>::IsRowMajor);
template <class Destination, class... Sources>
inline constexpr bool by_array = in_memory<Destination> &&
                                 ((in_memory<Sources> && same_order<Destination, Sources>)&&...);

/// Whether all elements lie in one piece.
template <class Expression>
bool contiguous(const Expression& x) {
    return x.size() == 0 || (x.innerStride() == 1 && (x.outerSize() == 1 || x.outerStride() == x.innerSize()));
}

/// Resizes the destination as Eigen does, and runs `operate` or, where something is not contiguous, Eigen's loop.
template <class Destination, class Source, class Functor, class Operate, class... Operands>
void assign(Destination& destination, const Source& source, const Functor& functor, const Operate& operate,
            const Operands&... operands) {
    Eigen::internal::resize_if_allowed(destination, source, functor);
    if (contiguous(destination) && (contiguous(operands) && ...)) {
        operate(static_cast<std::size_t>(destination.size()));
    } else {
        Eigen::internal::call_dense_assignment_loop(destination, source, functor);
    }
}

}  // namespace ulp::array

namespace Eigen::internal {

#define ULPLAB_EIGEN_BINARY(Functor, operation)                                                                        \
    template <class Destination, ulp::FloatFormat F, class A, class B>                                                 \
    struct Assignment<Destination, CwiseBinaryOp<Functor<ulp::Float<F>, ulp::Float<F>>, A, B>,                         \
                      assign_op<ulp::Float<F>, ulp::Float<F>>, Dense2Dense,                                            \
                      std::enable_if_t<ulp::array::by_array<Destination, A, B>>> {                                     \
        using Source = CwiseBinaryOp<Functor<ulp::Float<F>, ulp::Float<F>>, A, B>;                                     \
        static void run(Destination& d, const Source& s, const assign_op<ulp::Float<F>, ulp::Float<F>>& functor) {     \
            const auto operate = [&](std::size_t count) {                                                              \
                ulp::array::operate_words(F, ulp::array::operation, {s.lhs().data(), s.rhs().data()}, d.data(), count, \
                                          {}, ulp::simd_choice());                                                     \
            };                                                                                                         \
            ulp::array::assign(d, s, functor, operate, s.lhs(), s.rhs());                                              \
        }                                                                                                              \
    };
ULPLAB_EIGEN_BINARY(scalar_sum_op, op_add)
ULPLAB_EIGEN_BINARY(scalar_difference_op, op_subtract)
ULPLAB_EIGEN_BINARY(scalar_product_op, op_multiply)
ULPLAB_EIGEN_BINARY(scalar_quotient_op, op_divide)
#undef ULPLAB_EIGEN_BINARY

/// `call` sees the operand's words `from`, the destination's `to`, and `count`.
#define ULPLAB_EIGEN_UNARY(Functor, call)                                                                            \
    template <class Destination, ulp::FloatFormat F, class X>                                                        \
    struct Assignment<Destination, CwiseUnaryOp<Functor<ulp::Float<F>>, X>, assign_op<ulp::Float<F>, ulp::Float<F>>, \
                      Dense2Dense, std::enable_if_t<ulp::array::by_array<Destination, X>>> {                         \
        using Source = CwiseUnaryOp<Functor<ulp::Float<F>>, X>;                                                      \
        static void run(Destination& d, const Source& s, const assign_op<ulp::Float<F>, ulp::Float<F>>& functor) {   \
            const void* const from = s.nestedExpression().data();                                                    \
            const auto operate = [&](std::size_t count) {                                                            \
                void* const to = d.data();                                                                           \
                ulp::array::call;                                                                                    \
            };                                                                                                       \
            ulp::array::assign(d, s, functor, operate, s.nestedExpression());                                        \
        }                                                                                                            \
    };
ULPLAB_EIGEN_UNARY(scalar_sqrt_op, operate_words(F, ulp::array::op_sqrt, {from}, to, count, {}, ulp::simd_choice()))
#define ULPLAB_FUNCTION(name, Definition)  \
    ULPLAB_EIGEN_UNARY(scalar_##name##_op, \
                       evaluate_words(F, ulp::array::Function::name, from, to, count, {}, ulp::simd_choice()))
ULPLAB_FUNCTIONS_OF_EIGEN(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION
#undef ULPLAB_EIGEN_UNARY

/// Casts between float, double and formats.
template <class Destination, class From, class To, class X>
struct Assignment<
    Destination, CwiseUnaryOp<scalar_cast_op<From, To>, X>, assign_op<To, To>, Dense2Dense,
    std::enable_if_t<ulp::array::Number<From> && ulp::array::Number<To> &&
                     !(std::is_arithmetic_v<From> && std::is_arithmetic_v<To>)&&ulp::array::by_array<Destination, X>>> {
    using Source = CwiseUnaryOp<scalar_cast_op<From, To>, X>;
    static void run(Destination& d, const Source& s, const assign_op<To, To>& functor) {
        const auto operate = [&](std::size_t count) {
            ulp::array::convert_words(ulp::array::format_of<To>(), ulp::array::format_of<From>(),
                                      s.nestedExpression().data(), d.data(), count, {}, ulp::simd_choice());
        };
        ulp::array::assign(d, s, functor, operate, s.nestedExpression());
    }
};

}  // namespace Eigen::internal
