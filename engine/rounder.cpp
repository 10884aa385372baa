#include "engine/rounder.hpp"

namespace ulp {
namespace {

template <class Real>
void round_each(const FloatFormat& format, std::span<Real> values, Extremes extremes) {
    const Rounder<Real> round(format, extremes);
    for (Real& x : values) x = round(x);
}

}  // namespace

void round_all(const FloatFormat& format, std::span<float> values, Extremes extremes) {
    round_each(format, values, extremes);
}
void round_all(const FloatFormat& format, std::span<double> values, Extremes extremes) {
    round_each(format, values, extremes);
}

}  // namespace ulp
