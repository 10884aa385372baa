// Matrix instructions on integers: int8, int4 and single bits with int32 accumulators.
//
// PTX ISA, mma: sums wrap modulo 2^32, or with .satfinite are clamped to the range of s32 after each instruction; 1-bit
// operands meet by xor or by and, and the ones are counted. The order of the products does not matter.
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/gemm.hpp"

namespace ulp {

/// How two operands meet.
enum class IntegerProduct : std::uint8_t { multiply, exclusive_or, conjunction };

struct IntegerModel {
    int bits = 8;  // of an operand; in memory a sign- or zero-extended byte each
    bool a_signed = true;
    bool b_signed = true;
    IntegerProduct product = IntegerProduct::multiply;
    bool saturates = false;
    int instruction_k = 32;

    constexpr bool operator==(const IntegerModel&) const = default;
};

/// The int32 accumulator after the products' sum is added.
constexpr std::int32_t accumulate(const IntegerModel& model, std::int64_t products, std::int32_t c) {
    std::int64_t sum = products + c;
    constexpr std::int64_t most = 0x7FFFFFFF;
    if (model.saturates) sum = sum > most ? most : (sum < -most - 1 ? -most - 1 : sum);
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
}

constexpr std::int64_t integer_product(const IntegerModel& model, std::int32_t a, std::int32_t b) {
    switch (model.product) {
        case IntegerProduct::exclusive_or: return (a ^ b) & 1;
        case IntegerProduct::conjunction: return a & b & 1;
        case IntegerProduct::multiply: break;
    }
    return std::int64_t{a} * b;
}

/// A dot product of any length by instructions in ascending k. Operands as values, -128 to 255 at most.
template <class Value>
constexpr std::int32_t integer_dot(const IntegerModel& model, const Value* a, const Value* b, std::int32_t c,
                                   std::int64_t k) {
    for (std::int64_t first = 0; first < k; first += model.instruction_k) {
        std::int64_t products = 0;
        for (std::int64_t i = first; i < k && i < first + model.instruction_k; ++i) {
            products += integer_product(model, a[i], b[i]);
        }
        c = accumulate(model, products, c);
    }
    return c;
}

/// A whole product; element (i, j) of D is integer_dot of a row and a column.
using IntegerProblem = ProductProblem<std::int32_t>;

/// Operands must lie in operand_range. Uses OpenMP's threads. Throws std::invalid_argument for negative sizes, missing
/// arrays, or an operand out of range (naming its place).
void gemm(const IntegerModel& model, const IntegerProblem& problem);

/// The same by integer_dot alone: the definition.
void gemm_plain(const IntegerModel& model, const IntegerProblem& problem);

/// The smallest and the largest operand.
struct IntegerRange {
    int least, greatest;
};
constexpr IntegerRange operand_range(const IntegerModel& model, bool is_signed) {
    const int half = 1 << (model.bits - 1);
    return is_signed ? IntegerRange{-half, half - 1} : IntegerRange{0, 2 * half - 1};
}

}  // namespace ulp
