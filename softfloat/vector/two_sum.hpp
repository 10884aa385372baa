// A sum rounded to odd by instructions that only round to nearest. Included by vec_*.hpp.
#pragma once

namespace ulp::vec {
namespace {

/// Knuth's TwoSum: sum + error is a + b exactly, if nothing overflows ("The Art of Computer Programming" 2, 4.2.2).
template <class Vec, class Real>
Real two_sum_to_odd(Real a, Real b) {
    const Real sum = Vec::add(a, b);
    const Real b_part = Vec::sub(sum, a);
    const Real a_part = Vec::sub(sum, b_part);
    const Real error = Vec::add(Vec::sub(a, a_part), Vec::sub(b, b_part));
    return Vec::to_odd(sum, error);
}

}  // namespace
}  // namespace ulp::vec
