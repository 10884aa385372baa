#include "engine/tensor/rounder.hpp"

#include <algorithm>
#include <array>

#include "softfloat/array/array.hpp"

namespace ulp {

void round_all(const FloatFormat& format, std::span<float> values, const Context& options) {
    round_array(format, values, options);
}
void round_all(const FloatFormat& format, std::span<double> values, const Context& options) {
    if (format.is_table()) return round_array(format, values, options);
    const Rounder<double> round(format, options);
    for (double& x : values) x = round(x);
}

namespace {

/// A 64-bit word of Random is two 32-bit words of the same Philox block; its upper bits are those of the second. The
/// array kernels take one 32-bit word a number, so each number is given to them twice, and the second result counts.
template <class Real>
void round_parts(const ComputeFormat& format, std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                 std::span<Real> values) {
    Context context = results_of(format.options);
    context.rounding = Rounding::stochastic;
    context.random_bits = update_random_bits;
    context.seed = seed;
    context.stream = stream;
    constexpr std::size_t part = 512;
    std::array<Real, 2 * part> twice;
    for (std::size_t begin = 0; begin < values.size(); begin += part) {
        const std::span<Real> own = values.subspan(begin, std::min(part, values.size() - begin));
        for (std::size_t i = 0; i < own.size(); ++i) twice[2 * i] = twice[2 * i + 1] = own[i];
        context.first = 2 * (first + begin);
        round_array(format.format, std::span(twice).first(2 * own.size()), context);
        for (std::size_t i = 0; i < own.size(); ++i) own[i] = twice[2 * i + 1];
    }
}

}  // namespace

void round_stochastically(const ComputeFormat& format, std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                          std::span<float> values) {
    round_parts(format, seed, stream, first, values);
}
void round_stochastically(const ComputeFormat& format, std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                          std::span<double> values) {
    round_parts(format, seed, stream, first, values);
}

}  // namespace ulp
