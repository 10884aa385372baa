// All 2^32 pairs of a 16-bit format, a row (one first operand, every second) at a time: the library's answers and those
// of something else.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softfloat/format.hpp"
#include "tests/softfloat/sweep/program.hpp"

namespace ulp::sweep {

enum class Operation : std::uint8_t { add, multiply, divide, remainder };
inline constexpr std::array operations{Operation::add, Operation::multiply, Operation::divide, Operation::remainder};
std::string_view name_of(Operation operation);

inline constexpr std::size_t row_length = 65536;
using Row = std::vector<std::uint16_t>;  // row_length results

/// The plain definition's results, to nearest even.
void plain_row(const FloatFormat& format, Operation operation, std::uint16_t a, Row& results);
/// The operators' results; false where there is no operator.
bool operator_row(const FloatFormat& format, Operation operation, std::uint16_t a, Row& results);
/// The results of the same operations called with a Context.
bool context_row(const FloatFormat& format, Operation operation, std::uint16_t a, Row& results);

/// What judges: fp16's + * / is the processor's own, where it has AVX512-FP16, else fp64 hardware rounded once more by
/// way of fp32 to odd; so is bf16's. Remainders, always exact, are the C library's in fp64.
void reference_row(const FloatFormat& format, Operation operation, std::uint16_t a, Row& results);
/// In words.
std::string reference_name(const FloatFormat& format, Operation operation);

/// The processor's own fp16 arithmetic. Not for remainder.
bool has_hardware_fp16();
void hardware_fp16_row(Operation operation, std::uint16_t a, std::uint16_t* results);

/// Where two rows differ; two NaN are the same.
void compare_rows(const FloatFormat& format, std::uint16_t a, const Row& got, const Row& expected, Difference& found);

/// Every 4093rd pair of the row against the slow oracle, from a place that moves with a.
void check_sample(const FloatFormat& format, Operation operation, std::uint16_t a, const Row& got, Difference& found);

}  // namespace ulp::sweep
