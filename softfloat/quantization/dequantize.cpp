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

void dequantize_blocks(Quantized& q) {
    const Index lines = std::max<Index>(1, q.block_lines());
    const Index width = std::max<Index>(1, q.block_k());
    // Rows as they lie in memory, and the extent of a block in them.
    const Index rows = q.by_columns ? q.k : q.lines;
    const Index cols = q.by_columns ? q.lines : q.k;
    const Index block_rows = q.by_columns ? width : lines;
    const Index block_cols = q.by_columns ? lines : width;
    each_part(rows, cols, [&](Index first, Index last) {
        for (Index i = first; i < last; ++i) {
            for (Index j = 0; j < cols; j += block_cols) {
                const Index down = i / block_rows, across = j / block_cols;
                const float scale = q.by_columns ? q.scale(across, down) : q.scale(down, across);
                float* of_block = q.numbers.data() + i * cols + j;
                const Index count = std::min(block_cols, cols - j);
                if (std::isnan(scale))
                    std::fill_n(of_block, count, std::numeric_limits<float>::quiet_NaN());
                else
                    for (Index l = 0; l < count; ++l) of_block[l] *= scale;
            }
        }
    });
}

std::vector<float> dequantize(Quantized q) {
    dequantize_blocks(q);
    const std::pmr::vector<float> in_order = q.by_columns ? gathered(q.elements(), q.k) : std::move(q.numbers);
    std::vector<float> numbers(in_order.size());
    const support::FloatEnvironment own;
    std::ranges::transform(in_order, numbers.begin(), [&](float x) { return x * q.tensor_scale; });
    return numbers;
}

std::vector<std::uint8_t> element_codes(const Quantized& q) {
    return codes_of(q.how.element, gathered(q.elements(), q.k));
}

std::vector<std::uint8_t> scale_codes(const Quantized& q) { return codes_of(q.how.scale.format, q.scales); }

}  // namespace ulp
