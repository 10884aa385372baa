// A sum rounded to odd by instructions that only round to nearest. See kernels_round.hpp for how this is compiled.
#pragma once

namespace ulp::array {
namespace {

/// Knuth's TwoSum: sum + error is a + b exactly, if nothing overflows ("The Art of Computer Programming" 2, 4.2.2).
template <class Real>
typename Real::Reg two_sum_to_odd(typename Real::Reg a, typename Real::Reg b) {
    const auto sum = Real::add(a, b);
    const auto b_part = Real::subtract(sum, a);
    const auto a_part = Real::subtract(sum, b_part);
    const auto error = Real::add(Real::subtract(a, a_part), Real::subtract(b, b_part));
    return Real::to_odd(sum, error);
}

}  // namespace
}  // namespace ulp::array
