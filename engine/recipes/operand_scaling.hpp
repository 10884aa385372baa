// Operands of products in 8 bits and less: scales that bring numbers into a format's range.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/tensor/matrix.hpp"
#include "engine/tensor/storage.hpp"
#include "softfloat/format.hpp"

namespace ulp {

/// The largest magnitudes of the last uses of an operand, oldest first, by place ("fc1/linear, forward, a").
using ScalingHistory = std::map<std::string, std::vector<float>>;

/// round(original * scale), values beyond the format's range becoming its largest number.
struct ScaledMatrix {
    Storage<float> values;  // without gaps, in the order that the original has in memory
    MatrixView matrix;      // the same as rows and columns
    float inverse_scale;    // a power of two
};

/// Scales by the largest power of two that keeps the largest magnitude of the last `length` uses in the format's range
/// (1 before the first use), then enters this use's own: the scale is known before the numbers are ("delayed").
ScaledMatrix with_delayed_scale(const MatrixView& original, const FloatFormat& format, const std::string& place,
                                int length, ScalingHistory& history);

/// The same from a history that stays as it is: for evaluation.
ScaledMatrix with_remembered_scale(const MatrixView& original, const FloatFormat& format, const std::string& place,
                                   const ScalingHistory& history);

/// A matrix as MX blocks along its rows: element times the scale of its block is what survives of a number.
struct BlockScaledMatrix {
    Matrix elements;  // numbers of the element format
    Matrix scales;    // rows x blocks, numbers of e8m0 (NaN for a block with an infinity or a NaN)
};
BlockScaledMatrix block_scaled(const MatrixView& rows, const FloatFormat& element);

/// Each row as MX blocks of 32 numbers (the last one filled up with zeros), and back: what survives of it.
Matrix in_blocks(const MatrixView& rows, const FloatFormat& element);

}  // namespace ulp
