// Matrices of a format from .npy files, and back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "softfloat/context.hpp"
#include "softfloat/format.hpp"
#include "softfloat/matrix_view.hpp"

namespace ulp {

/// A row-major matrix; fp32 carries the values of every format but fp64.
template <class Real>
struct LoadedMatrix {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<Real> values;
    std::int64_t overflows = 0;  // finite elements that rounding made infinite, or NaN where the format has no infinity
};

/// The matrix, or its transpose, where it lies.
template <class Real>
BasicMatrixView<const Real> view_of(const LoadedMatrix<Real>& matrix, bool transposed = false) {
    const BasicMatrixView<const Real> rows(matrix.values.data(), matrix.rows, matrix.cols);
    return transposed ? rows.transposed() : rows;
}

/// How elements are rounded to a format.
struct OperandRounding {
    Rounding rounding = Rounding::nearest_even;
    bool saturate = false;  // what is too large becomes the largest finite number (PTX: cvt with .satfinite)
};

/// Reads a matrix whose elements are values of `format`: float16, float32 or float64 numbers, or the format's codes as
/// unsigned integers of its width (uint8, uint16, uint32). Every code comes back by operand_code unchanged; a NaN that
/// is read as a number keeps its sign and payload. Rounds to the format where `rounding` says how; otherwise throws
/// DataError naming the first element that is not on the format's grid. Throws DataError, too, for a word above the
/// format's codes (two codes of E2M1 packed into a byte, say), a bad file, another type or not two dimensions. Either
/// memory order is read.
LoadedMatrix<float> load_matrix(const std::filesystem::path& path, const FloatFormat& format,
                                const std::optional<OperandRounding>& rounding);

/// A matrix of scales: as load_matrix, and never rounded, which the refusal of another value says.
LoadedMatrix<float> load_scales(const std::filesystem::path& path, const FloatFormat& format);

/// What to do about an operand or a scale that is not a value of its format, for the end of a message.
inline constexpr std::string_view remedy_of_operands = "use --rounding nearest_even to round first";
std::string_view remedy_of_scales(const FloatFormat& format);

/// The same for fp64: float64, float32 or float16 numbers, or codes as uint64.
LoadedMatrix<double> load_fp64_matrix(const std::filesystem::path& path);

/// Integers in [least, greatest]: int8, uint8, int16 or int32 numbers.
LoadedMatrix<std::int32_t> load_integer_matrix(const std::filesystem::path& path, std::int64_t least,
                                               std::int64_t greatest);

/// Writes values of a format: float16 for fp16, else float32. NaNs keep their bits.
void save_matrix(const std::filesystem::path& path, const FloatFormat& format, std::int64_t rows, std::int64_t cols,
                 const std::vector<float>& values);

}  // namespace ulp
