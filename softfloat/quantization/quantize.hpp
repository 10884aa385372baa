// One function quantises operands by any row (softfloat/quantization/quantization.hpp): transform, statistic, scales of
// the candidates, elements, the better candidate.
//
//     const Quantized q = ulp::quantize(ulp::quantization_by_name("nvfp4"), ulp::MatrixView(weights.data(), 64, 256));
//     q.elements();                        // numbers of E2M1, 64 x 256
//     ulp::element_codes(q);               // the same as codes, one a byte
//     q.scale(0, 3), q.tensor_scale;       // of the first line's numbers 48 to 63, and of all
//     ulp::dequantize(q);                  // what they stand for
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "softfloat/matrix_view.hpp"
#include "softfloat/quantization/quantization.hpp"

namespace ulp {

/// What differs from one use of a row to the next.
struct QuantizedUse {
    /// The statistic of the whole operand, from elsewhere (delayed scales), where it is one block.
    std::optional<float> statistic{};
    /// What `SpecialScale::old` stands for: enc of the use before.
    float old_encode = 1;
    /// Stochastic rounding draws a number of (seed, stream, first + line * k + place) for each element; fresh signs of
    /// a Hadamard transform are bits of (seed, signs_stream), which both operands of a product share.
    std::uint64_t seed = 0, stream = 0, signs_stream = 0;
    std::uint64_t first = 0;  // added to the places of the numbers in the stream
    /// Where the elements lie; outlives them.
    std::pmr::memory_resource* memory = std::pmr::get_default_resource();
};

/// A quantised operand: number (i, j) is elements()(i, j) * scale(i / block.lines, j / block.k) * tensor_scale.
struct Quantized {
    using Index = std::int64_t;

    Quantization how;
    Index lines = 0;
    Index k = 0;                        // with a transform, filled up with zeros to whole groups of it
    std::pmr::vector<float> numbers{};  // of the element format, in the order that the operand had in memory or line by
                                        // line
    bool by_columns = false;            // that order: line i of place j is numbers[j * lines + i]
    std::vector<float> scales{};        // dec of each block, blocks of a line side by side
    std::vector<float> zero_points{};   // of each block, where the elements are whole numbers
    Index blocks_along_k = 0;
    float tensor_scale = 1;  // 1 / S
    float statistic = 0;     // of the whole operand, where it is one block: for the history of a delayed scale
    float encode = 1;        // what its numbers were multiplied by, where it is one block

    /// lines x k numbers of the element format.
    [[nodiscard]] MatrixView elements() const {
        return by_columns ? MatrixView(numbers.data(), k, lines).transposed() : MatrixView(numbers.data(), lines, k);
    }
    /// The extent of a block, and how many of them there are.
    [[nodiscard]] Index block_lines() const { return how.block.lines == 0 ? lines : how.block.lines; }
    [[nodiscard]] Index block_k() const { return how.block.k == 0 ? k : how.block.k; }
    [[nodiscard]] float scale(Index line_block, Index k_block) const {
        return scales[static_cast<std::size_t>(line_block * blocks_along_k + k_block)];
    }
};

/// Quantises lines of numbers along k by a row; the last block of a line or a column of blocks may be shorter. The same
/// bits on any number of threads. Throws std::invalid_argument for a row whose parts do not fit each other: a factor S
/// with a step that has none, a transform whose size is no power of two, a statistic from elsewhere for more than one
/// block, a stochastic rounding without random bits, and one of whole numbers.
Quantized quantize(const Quantization& how, const MatrixView& lines, const QuantizedUse& use = {});

/// What a quantised operand stands for, lines x k, line by line: element * dec, rounded to fp32, times the tensor
/// scale. NaN where dec is. A transform is not undone.
std::vector<float> dequantize(Quantized quantized);

/// The same in place, in the elements' order, without the tensor scale, which products multiply in at their end.
void dequantize_blocks(Quantized& quantized);

/// The codes of the elements, line by line, one a byte (formats of at most 8 bits); of whole numbers with their block's
/// zero point, in two's complement.
std::vector<std::uint8_t> element_codes(const Quantized& quantized);
/// The codes of the scales where their format has at most 8 bits (e8m0, e4m3). Throws std::invalid_argument otherwise.
std::vector<std::uint8_t> scale_codes(const Quantized& quantized);

/// A Hadamard transform of each `size` numbers: signs, butterflies in fp32 from distance 1 up, times 1 / sqrt(size).
/// `signs` are +1 and -1, one for each of the size.
void hadamard_transform(float* numbers, std::int64_t count, const std::vector<float>& signs);
/// The signs of a transform.
std::vector<float> hadamard_signs(const HadamardTransform& transform, std::uint64_t seed, std::uint64_t stream);

}  // namespace ulp
