#include "softfloat/quantization/block_scaled.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "softfloat/array/context.hpp"
#include "softfloat/float.hpp"

namespace ulp {

namespace {

void require_sizes(std::size_t values, std::size_t elements, std::size_t scales, std::size_t block) {
    if (values != elements) {
        throw std::invalid_argument("there are " + std::to_string(values) + " values for " + std::to_string(elements) +
                                    " elements; the spans must have the same size");
    }
    if (values % block != 0) {
        throw std::invalid_argument(std::to_string(values) + " values do not fill blocks of " + std::to_string(block) +
                                    "; pad them with zeros");
    }
    if (scales != values / block) {
        throw std::invalid_argument("there are " + std::to_string(scales) + " scales for " +
                                    std::to_string(values / block) + " blocks of " + std::to_string(block) +
                                    "; give one for each block");
    }
}

Unpacked<std::uint64_t> unpack(float x) { return decode(formats::fp32, std::bit_cast<std::uint32_t>(x)); }

/// The bits of the largest magnitude: fp32 magnitudes are in the order of their bits, NaN and infinity above all.
std::uint32_t largest_magnitude(std::span<const float> values) {
    std::uint32_t largest = 0;
    for (const float value : values) largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFF);
    return largest;
}
constexpr std::uint32_t infinity_magnitude = 0x7F800000;

/// The exponent of the scale of a block with this largest magnitude (finite).
int mx_exponent(const FloatFormat& element, std::uint32_t largest) {
    const auto value = decode(formats::fp32, largest);
    if (value.kind == Kind::zero) return -127;
    const int leading = value.exponent + bit_length(value.significand) - 1;
    return std::clamp(leading - element.emax(), -127, 127);
}

/// x / 2^exponent in the element's format; too large ones become the largest element.
std::uint8_t mx_element(const FloatFormat& element, float x, int exponent, Context context) {
    context.saturate = true;
    const auto value = unpack(x);
    if (value.kind == Kind::zero) return static_cast<std::uint8_t>(zero_bits(element, value.sign, context));
    return static_cast<std::uint8_t>(
        round_to_bits(element, value.sign, value.exponent - exponent, value.significand, context));
}

/// A factor that overflows is the largest finite number.
fp32 capped(fp32 factor) { return minimum(factor, std::numeric_limits<fp32>::max()); }

}  // namespace

void quantize_mx(const FloatFormat& element, std::span<const float> values, std::span<std::uint8_t> scales,
                 std::span<std::uint8_t> elements, const Context& options) {
    require_sizes(values.size(), elements.size(), scales.size(), mx_block_size);
    static_cast<void>(can_round(options));
    for (std::size_t block = 0; block < scales.size(); ++block) {
        const std::size_t first = block * mx_block_size;
        const auto in = values.subspan(first, mx_block_size);
        const auto out = elements.subspan(first, mx_block_size);
        const std::uint32_t largest = largest_magnitude(in);
        if (largest >= infinity_magnitude) {
            scales[block] = static_cast<std::uint8_t>(nan_bits(formats::e8m0));
            std::fill(out.begin(), out.end(), std::uint8_t{0});
            continue;
        }
        const int exponent = mx_exponent(element, largest);
        scales[block] = static_cast<std::uint8_t>(exponent + 127);
        for (std::size_t i = 0; i < in.size(); ++i) {
            out[i] = mx_element(element, in[i], exponent, scalar_context(options, first + i));
        }
    }
}

void dequantize_mx(const FloatFormat& element, std::span<const std::uint8_t> scales,
                   std::span<const std::uint8_t> elements, std::span<float> values) {
    require_sizes(values.size(), elements.size(), scales.size(), mx_block_size);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint8_t scale = scales[i / mx_block_size];
        Context context;
        std::uint64_t bits = nan_bits(formats::fp32);
        if (!is_nan(formats::e8m0, scale)) {
            bits = convert_bits(formats::fp64, element, elements[i], context);
            bits = scalb_bits(formats::fp64, bits, scale - 127, context);  // exact: fp64 has the range
            bits = convert_bits(formats::fp32, formats::fp64, bits, context);
        }
        values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    }
}

float quantize_nvfp4(std::span<const float> values, std::span<std::uint8_t> scales, std::span<std::uint8_t> elements,
                     const Context& options) {
    require_sizes(values.size(), elements.size(), scales.size(), nvfp4_block_size);
    static_cast<void>(can_round(options));
    std::uint32_t largest = 0;
    for (std::size_t block = 0; block < scales.size(); ++block) {
        const std::uint32_t of_block = largest_magnitude(values.subspan(block * nvfp4_block_size, nvfp4_block_size));
        if (of_block < infinity_magnitude) largest = std::max(largest, of_block);
    }
    const fp32 encode = largest == 0 ? fp32{1} : capped(fp32{2688} / fp32::from_bits(largest));
    const fp32 tensor_scale = fp32{1} / encode;
    for (std::size_t block = 0; block < scales.size(); ++block) {
        const std::size_t first = block * nvfp4_block_size;
        const auto in = values.subspan(first, nvfp4_block_size);
        const auto out = elements.subspan(first, nvfp4_block_size);
        const fp32 of_block = fp32::from_bits(largest_magnitude(in));
        const e4m3 scale =
            isfinite(of_block) ? e4m3(of_block / fp32{6} * encode) : std::numeric_limits<e4m3>::quiet_NaN();
        scales[block] = scale.bits();
        if (isnan(scale) || scale == e4m3{0}) {
            std::fill(out.begin(), out.end(), std::uint8_t{0});
            continue;
        }
        const fp32 to_element = capped(fp32{1} / (fp32(scale) * tensor_scale));
        for (std::size_t i = 0; i < in.size(); ++i) {
            Context context = scalar_context(options, first + i);
            out[i] = convert<e2m1>(fp32(in[i]) * to_element, context).bits();
        }
    }
    return static_cast<float>(tensor_scale);
}

void dequantize_nvfp4(float tensor_scale, std::span<const std::uint8_t> scales, std::span<const std::uint8_t> elements,
                      std::span<float> values) {
    require_sizes(values.size(), elements.size(), scales.size(), nvfp4_block_size);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const fp32 scaled = fp32(e4m3::from_bits(scales[i / nvfp4_block_size])) * fp32(e2m1::from_bits(elements[i]));
        values[i] = static_cast<float>(scaled * fp32(tensor_scale));
    }
}

}  // namespace ulp
