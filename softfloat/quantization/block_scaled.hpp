// Block-scaled formats: small elements that share a scale. MXFP8, MXFP6 and MXFP4 of the OCP microscaling formats (MX)
// specification 1.0, and NVIDIA's NVFP4.
//
//     MX      | scale E8M0 |  32 elements              value = 2^(scale-127) * element
//     NVFP4   | scale E4M3 |  16 elements FP4 E2M1     value = tensor scale (fp32) * scale * element
//
// Codes stand one a byte, in the low bits.
#pragma once

#include <cstdint>
#include <span>

#include "softfloat/context.hpp"
#include "softfloat/format.hpp"

namespace ulp {

inline constexpr std::size_t mx_block_size = 32;
inline constexpr std::size_t nvfp4_block_size = 16;

/// Rounds `values` to blocks of 32 elements with a scale each (MX 1.0, section 6.3): the scale is the largest power of
/// two not above the largest magnitude, divided by the element's largest power of two and kept within 2^-127 .. 2^127;
/// the elements are values / scale, rounded as `options` say, beyond the largest element: the largest element.
/// Stochastic rounding draws a number of (seed, stream, first + i) for element i, as array operations do. A block with
/// a NaN or an infinity becomes NaN by its scale. `element` is any OCP format of 8, 6 or 4 bits.
///
/// Throws std::invalid_argument unless values and elements have the same size, a multiple of 32, and scales one for
/// each block.
void quantize_mx(const FloatFormat& element, std::span<const float> values, std::span<std::uint8_t> scales,
                 std::span<std::uint8_t> elements, const Context& options = {});

/// scale * element, rounded once to fp32 (exact unless the product leaves fp32's range). Sizes as in quantize_mx.
void dequantize_mx(const FloatFormat& element, std::span<const std::uint8_t> scales,
                   std::span<const std::uint8_t> elements, std::span<float> values);

/// Rounds `values` to NVFP4 and returns the tensor scale, which maps the largest magnitude to 6 * 448 (NVIDIA,
/// "Pretraining large language models with NVFP4", 2025, appendix B), each step one fp32 operation to nearest even:
///
///     tensor scale = 1 / (2688 / largest of all)           1 where all are zero
///     block scale  = E4M3(largest of the block / 6 * (2688 / largest of all))
///     element      = E2M1(value * (1 / (block scale * tensor scale)))
///
/// A factor that would overflow (2688 / largest where that is below 7.9e-36, or the factor of an element) is fp32's
/// largest number, as in NVIDIA's Transformer Engine (core_nvfp4.cuh).
///
/// Only the elements follow the rounding of `options`; stochastic rounding draws as in quantize_mx. A block whose scale
/// rounds to zero has zeros; a block with a NaN or an infinity gets a NaN scale and counts for nothing in the tensor
/// scale. Throws std::invalid_argument unless the sizes agree and are multiples of 16.
float quantize_nvfp4(std::span<const float> values, std::span<std::uint8_t> scales, std::span<std::uint8_t> elements,
                     const Context& options = {});

/// (scale * element) * tensor_scale: the first product is exact, the second rounds to fp32.
void dequantize_nvfp4(float tensor_scale, std::span<const std::uint8_t> scales, std::span<const std::uint8_t> elements,
                      std::span<float> values);

}  // namespace ulp
