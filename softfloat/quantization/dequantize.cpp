#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "softfloat/format_names.hpp"
#include "softfloat/quantization/layout.hpp"
#include "softfloat/quantization/quantize.hpp"
#include "softfloat/round.hpp"

namespace ulp {
namespace {

using Index = Quantized::Index;

std::vector<std::uint8_t> codes_of(const FloatFormat& format, std::span<const float> numbers) {
    if (format.storage_bits() > 8) throw std::invalid_argument("codes of one byte need a format of at most 8 bits");
    std::vector<std::uint8_t> codes;
    codes.reserve(numbers.size());
    Context exact;
    for (const float x : numbers) {
        codes.push_back(
            static_cast<std::uint8_t>(convert_bits(format, formats::fp32, std::bit_cast<std::uint32_t>(x), exact)));
    }
    return codes;
}

}  // namespace

std::vector<float> dequantize_blocks(Quantized q) {
    std::vector<float> numbers = q.by_columns ? gathered(q.elements(), q.k) : std::move(q.numbers);
    const Index lines = std::max<Index>(1, q.block_lines());
    const Index width = std::max<Index>(1, q.block_k());
    each_part(q.lines, q.k, [&](Index first, Index last) {
        for (Index i = first; i < last; ++i) {
            for (Index j = 0; j < q.k; j += width) {
                const float scale = q.scale(i / lines, j / width);
                float* of_block = numbers.data() + i * q.k + j;
                const Index count = std::min(width, q.k - j);
                if (std::isnan(scale))
                    std::fill_n(of_block, count, std::numeric_limits<float>::quiet_NaN());
                else
                    for (Index l = 0; l < count; ++l) of_block[l] *= scale;
            }
        }
    });
    return numbers;
}

std::vector<float> dequantize(Quantized q) {
    const float tensor_scale = q.tensor_scale;
    std::vector<float> numbers = dequantize_blocks(std::move(q));
    const support::FloatEnvironment own;
    for (float& x : numbers) x *= tensor_scale;
    return numbers;
}

std::vector<std::uint8_t> element_codes(const Quantized& q) {
    return codes_of(q.how.element, gathered(q.elements(), q.k));
}

std::vector<std::uint8_t> scale_codes(const Quantized& q) { return codes_of(q.how.scale.format, q.scales); }

}  // namespace ulp
