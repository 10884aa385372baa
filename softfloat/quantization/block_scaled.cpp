#include "softfloat/quantization/block_scaled.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "softfloat/float.hpp"
#include "softfloat/quantization/quantize.hpp"

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

/// Quantises one line by a row whose elements are rounded as the options say.
Quantized of_line(const char* name, const FloatFormat& element, std::span<const float> values, const Context& options) {
    Quantization how = quantization_by_name(name);
    how.element = element;
    how.elements.rounding = options;
    const MatrixView line(values.data(), 1, static_cast<std::int64_t>(values.size()));
    return quantize(how, line, {.seed = options.seed, .stream = options.stream, .first = options.first});
}

void copy_codes(const Quantized& quantized, std::span<std::uint8_t> scales, std::span<std::uint8_t> elements) {
    std::ranges::copy(scale_codes(quantized), scales.begin());
    std::ranges::copy(element_codes(quantized), elements.begin());
}

}  // namespace

void quantize_mx(const FloatFormat& element, std::span<const float> values, std::span<std::uint8_t> scales,
                 std::span<std::uint8_t> elements, const Context& options) {
    require_sizes(values.size(), elements.size(), scales.size(), mx_block_size);
    Context rounding = options;
    rounding.flush_inputs = false;  // what is rounded is a quotient, not an operand
    copy_codes(of_line("mxfp8", element, values, rounding), scales, elements);
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
    const Quantized quantized = of_line("nvfp4", formats::e2m1, values, options);
    copy_codes(quantized, scales, elements);
    return quantized.tensor_scale;
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
