// Eigen's traits for Float<F>: matrices of these types multiply, sum and decompose with every step rounded to F.
#pragma once

#include <Eigen/Core>
#include <random>

#include "softfloat/float.hpp"

namespace Eigen {

template <ulp::FloatFormat F>
struct NumTraits<ulp::Float<F>> : GenericNumTraits<ulp::Float<F>> {
    using Scalar = ulp::Float<F>;
    using Limits = std::numeric_limits<Scalar>;
    using Real = Scalar;
    using NonInteger = Scalar;
    using Nested = Scalar;
    using Literal = Scalar;
    enum {
        IsInteger = 0,
        IsSigned = F.has_sign ? 1 : 0,
        IsComplex = 0,
        RequireInitialization = 0,
        ReadCost = 1,
        AddCost = 20,
        MulCost = 20
    };
    static constexpr Scalar epsilon() { return Limits::epsilon(); }
    static constexpr Scalar dummy_precision() { return Scalar(16) * Limits::epsilon(); }
    static constexpr Scalar highest() { return Limits::max(); }
    static constexpr Scalar lowest() { return Limits::lowest(); }
    static constexpr Scalar infinity() { return Limits::infinity(); }
    static constexpr Scalar quiet_NaN() { return Limits::quiet_NaN(); }
    static constexpr int digits10() { return Limits::digits10; }
};

namespace internal {
/// Eigen's own draws an integer up to RAND_MAX, which is beyond fp16's range: draw in double, round once.
template <ulp::FloatFormat F>
struct random_impl<ulp::Float<F>> {
    using Scalar = ulp::Float<F>;
    static Scalar run() { return run(Scalar(-1), Scalar(1)); }
    static Scalar run(const Scalar& low, const Scalar& high) {
        const double unit = static_cast<double>(std::rand()) / RAND_MAX;
        return Scalar(static_cast<double>(low) + (static_cast<double>(high) - static_cast<double>(low)) * unit);
    }
};
}  // namespace internal

}  // namespace Eigen
