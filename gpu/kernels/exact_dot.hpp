// What matrix instructions with integer, 1-bit and fp64 inputs compute, as the project's models of them say.
#pragma once

#include <cstdint>

#include "gpu/instructions/instruction.hpp"
#include "softfloat/matrix_units/chained_units.hpp"
#include "softfloat/matrix_units/integer_model.hpp"

namespace ulp::gpu {

/// The integer model of an instruction. Meaningful where the inputs are integers.
constexpr IntegerModel integer_model(const Instruction& row) {
    IntegerProduct product = IntegerProduct::multiply;
    if (row.bit_operation == BitOperation::exclusive_or) product = IntegerProduct::exclusive_or;
    if (row.bit_operation == BitOperation::conjunction) product = IntegerProduct::conjunction;
    return {.bits = bits_of(row.a),
            .a_signed = is_signed_integer(row.a),
            .b_signed = is_signed_integer(row.b),
            .product = product,
            .saturates = row.saturates,
            .instruction_k = row.shape.k};
}

/// The value of an integer code, sign-extended where the type has a sign.
constexpr std::int32_t integer_value(Element element, std::uint64_t code) {
    const int bits = bits_of(element);
    const bool negative = is_signed_integer(element) && ((code >> (bits - 1)) & 1) != 0;
    return static_cast<std::int32_t>(static_cast<std::int64_t>(code) - (negative ? std::int64_t{1} << bits : 0));
}

/// One product.
constexpr std::int64_t integer_product(const Instruction& row, std::uint64_t a, std::uint64_t b) {
    return ulp::integer_product(integer_model(row), integer_value(row.a, a), integer_value(row.b, b));
}

/// The s32 accumulator after one instruction whose products sum up to `products`.
constexpr std::uint32_t integer_accumulate(const Instruction& row, std::int64_t products, std::uint32_t c) {
    return static_cast<std::uint32_t>(accumulate(integer_model(row), products, static_cast<std::int32_t>(c)));
}

/// One step of fp64: a fused multiply-add to nearest even; an instruction is a chain of them over ascending k (Fasi et
/// al., PeerJ CS 7:e330, section 3.4, found A100's fp64 sums rounded at each step).
constexpr std::uint64_t fp64_step(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    return chained_fma({.accumulator = formats::fp64, .rounding = Rounding::nearest_even, .nan = NanStyle::dmma}, a, b,
                       c);
}

}  // namespace ulp::gpu
