#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "softfloat/quantization/quantize.hpp"
#include "softfloat/support/philox.hpp"

namespace ulp {
namespace {

/// Transformer Engine's signs, for all layers and steps.
constexpr float fixed_signs[] = {1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1};

/// The sign at a place, a bit of the stream's random numbers.
float drawn_sign(std::uint64_t seed, std::uint64_t stream, std::size_t place) {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const philox::Block words =
        philox::generate({low(place / 128), 0, low(stream), high(stream)}, {low(seed), high(seed)});
    return (words[place % 128 / 32] >> (place % 32) & 1) != 0 ? -1.0F : 1.0F;
}

}  // namespace

std::vector<float> hadamard_signs(const HadamardTransform& transform, std::uint64_t seed, std::uint64_t stream) {
    if (transform.size < 0 || (transform.size > 0 && !std::has_single_bit(static_cast<unsigned>(transform.size)))) {
        throw std::invalid_argument("a Hadamard transform of " + std::to_string(transform.size) +
                                    " numbers: the size must be a power of two");
    }
    std::vector<float> signs(static_cast<std::size_t>(transform.size), 1.0F);
    for (std::size_t i = 0; i < signs.size(); ++i) {
        if (transform.signs == HadamardSigns::fixed) signs[i] = fixed_signs[i % std::size(fixed_signs)];
        if (transform.signs == HadamardSigns::fresh) signs[i] = drawn_sign(seed, stream, i);
    }
    return signs;
}

void hadamard_transform(float* numbers, std::int64_t count, const std::vector<float>& signs) {
    const auto size = static_cast<std::int64_t>(signs.size());
    const auto norm = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
    for (float* group = numbers; group < numbers + count; group += size) {
        for (std::int64_t i = 0; i < size; ++i) group[i] *= signs[static_cast<std::size_t>(i)];
        for (std::int64_t half = 1; half < size; half *= 2) {
            for (std::int64_t first = 0; first < size; first += 2 * half) {
                for (std::int64_t i = first; i < first + half; ++i) {
                    const float a = group[i];
                    const float b = group[i + half];
                    group[i] = a + b;
                    group[i + half] = a - b;
                }
            }
        }
        for (std::int64_t i = 0; i < size; ++i) group[i] *= norm;
    }
}

}  // namespace ulp
