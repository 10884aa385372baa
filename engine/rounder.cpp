#include "engine/rounder.hpp"

#include "softfloat/array/array.hpp"

namespace ulp {

void round_all(const FloatFormat& format, std::span<float> values, Extremes extremes) {
    round_array(format, values, {.flush_outputs = extremes.flush_tiny, .saturate = extremes.saturate});
}
void round_all(const FloatFormat& format, std::span<double> values, Extremes extremes) {
    const Rounder<double> round(format, extremes);
    for (double& x : values) x = round(x);
}

}  // namespace ulp
