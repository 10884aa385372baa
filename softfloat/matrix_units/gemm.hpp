// Whole products D = A * B + C in the arithmetic of a matrix instruction, on arrays that carry every format as fp32.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "softfloat/matrix_units/gemm_problem.hpp"
#include "softfloat/matrix_units/model.hpp"

namespace ulp {

/// Each element of D is chain_dot of a row and a column: instructions in ascending k, the last one filled with zeros.
/// Any model. Uses OpenMP's threads; the bits do not depend on their number. Throws std::invalid_argument as
/// require_shapes does.
///
/// The entries of A and B must be values of the model's input formats, those of C of its accumulator: what is not on
/// the grid is rounded to nearest even first (tf32 inputs: truncated, as the instruction does).
void gemm(const TensorCoreModel& model, const GemmProblem& problem);

/// The same by chain_dot alone: the definition that fast paths are tested against.
void gemm_plain(const TensorCoreModel& model, const GemmProblem& problem);

/// The same for models with fp64 operands and accumulators, and one element by the definition. Throws
/// std::invalid_argument for other models.
void gemm(const TensorCoreModel& model, const Fp64Problem& problem);
void gemm_plain(const TensorCoreModel& model, const Fp64Problem& problem);
double fp64_element(const TensorCoreModel& model, const Fp64Problem& problem, std::int64_t i, std::int64_t j);

/// fp32 is a container of a format if it holds every value of the format exactly. From a value in the container to the
/// storage word, rounded to nearest even (tf32: truncated), and from the storage word to the container. There and back
/// every code is unchanged, NaNs with their sign and payload included.
std::uint32_t operand_code(const FloatFormat& format, float value);
float in_fp32_container(const FloatFormat& format, std::uint32_t code);

/// The exponent of a positive normal number of the format below its largest binade, from the bits of its container;
/// nothing for every other value, on the format's grid or not. The quick test where nearly all values are such.
inline std::optional<int> normal_exponent(const FloatFormat& format, float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const int dropped = formats::fp32.fraction_bits - format.fraction_bits;
    if (dropped < 0) return std::nullopt;
    const std::uint32_t kept = (word & 0x7FFFFFU) >> dropped;
    const int exponent = static_cast<int>(word >> 23) - 127;  // beyond emax for a sign
    const bool whole = kept << dropped == (word & 0x7FFFFFU);
    if (!whole || exponent < std::max(format.emin(), -126) || exponent >= format.emax()) return std::nullopt;
    return exponent;
}

}  // namespace ulp
