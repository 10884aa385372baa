// Bits of the numbers of a product, as its explanation compares them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace ulp {

template <class Real>
using WordOf = std::conditional_t<std::is_same_v<Real, double>, std::uint64_t, std::uint32_t>;

template <class Real>
WordOf<Real> bits_of(Real x) {
    return std::bit_cast<WordOf<Real>>(x);
}

/// The same bits, or both NaN.
template <class Real>
bool same_bits(Real x, Real y) {
    return bits_of(x) == bits_of(y) || (std::isnan(x) && std::isnan(y));
}

}  // namespace ulp
