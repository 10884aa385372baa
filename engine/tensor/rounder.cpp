#include "engine/tensor/rounder.hpp"

#include "softfloat/array/array.hpp"

namespace ulp {

void round_all(const FloatFormat& format, std::span<float> values, const Context& options) {
    round_array(format, values, options);
}
void round_all(const FloatFormat& format, std::span<double> values, const Context& options) {
    const Rounder<double> round(format, options);
    for (double& x : values) x = round(x);
}

}  // namespace ulp
