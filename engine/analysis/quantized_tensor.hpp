// A tensor in a narrow format: codes, scales, and the numbers that they stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/files/stored_arrays.hpp"
#include "engine/tensor/tensor.hpp"
#include "softfloat/quantization/quantize.hpp"

namespace ulp {

/// What numbers are multiplied by before they are rounded to a format without scales of its own.
struct TensorScale {
    bool by_largest = false;  // the format's largest number / the tensor's
    float factor = 1;         // otherwise
};

/// How tensors are quantised: by a row of softfloat/quantization, or number by number to a format.
struct TensorFormat {
    std::string name;
    std::optional<Quantization> row{};
    FloatFormat format{};      // of the elements
    Context rounding{};        // of a format without a row; stochastic: the random bits
    TensorScale scale{};       // of a format without a row
    bool along_first = false;  // blocks and transforms run along the first extent instead of the last
    bool packed = false;       // two codes of 4 bits are written in each byte
};

struct QuantizedTensor {
    std::vector<std::uint32_t> codes;
    Shape code_shape;  // as the tensor; lines x k where blocks run along the first extent or k was filled up
    std::vector<float> scales;
    Shape scale_shape;  // blocks of lines x blocks along k; none: no scale
    float tensor_scale = 1;
    std::vector<float> zero_points;  // of whole numbers, in the order of the scales
    std::vector<float> signs;        // of a Hadamard transform
    std::vector<float> dequantized;  // in the shape and order of the tensor, a transform undone
};

/// Of numbers of fp32 or fp64 (Real: float or double), each rounded once: those of fp64 are scaled in fp64, or enter a
/// row's arithmetic by carry_in_fp32. Stochastic rounding and fresh signs draw from (seed, stream). Throws
/// std::invalid_argument for a format whose parts do not fit each other, std::range_error for numbers of fp64 beyond
/// fp32 where a scale, which is fp32's, depends on them. `first_line`: of lines of the last extent, those of the tensor
/// before these, where a piece of it is given.
template <class Real>
QuantizedTensor quantize_tensor(const TensorFormat& how, const Shape& shape, const std::vector<Real>& numbers,
                                std::uint64_t seed, std::uint64_t stream, std::uint64_t first_line = 0);

/// How many lines of the last extent a piece has that is quantised as in the whole tensor: a multiple of this; 0: the
/// tensor is one piece, because numbers depend on all of it.
Index lines_of_piece(const TensorFormat& how);

/// NaNs as they were in a file of codes of the format itself, to which nothing was scaled: sign and payload, which
/// rounding does not keep. `codes` are the tensor's, in its order.
void keep_nans(const FloatFormat& format, const std::vector<std::uint32_t>& codes, QuantizedTensor& quantized);

/// How far the dequantised numbers are from the tensor's: those that are finite in both.
struct QuantizationError {
    std::int64_t compared = 0, lost = 0, not_finite = 0;  // lost: nonzero ones that became zero
    double signal = 0, noise = 0;                         // sums of squares
    void add(const QuantizationError& other);
    /// 10 log10(signal / noise); nothing where there is no error.
    [[nodiscard]] std::optional<double> snr_db() const;
};
template <class Real>
QuantizationError error_of(const std::vector<Real>& numbers, const std::vector<float>& dequantized);

/// NAME.codes, NAME.dequantized, and where there are any NAME.scales, NAME.scale_codes (of formats of at most 8 bits),
/// NAME.tensor_scale, NAME.zero_points and NAME.signs. Packed, NAME.codes has half as many bytes along the last extent,
/// the first code of each in the low half; throws std::invalid_argument where that does not fit.
WrittenArrays arrays_of(const std::string& name, const TensorFormat& how, const Shape& shape,
                        const QuantizedTensor& quantized);

}  // namespace ulp
