// What matrix instructions with integer, 1-bit and fp64 inputs compute. No policy is open here but fp64's order.
#pragma once

#include <cstdint>

#include "gpu/instruction.hpp"
#include "softfloat/arithmetic.hpp"

namespace ulp::gpu {

/// The value of an integer code, sign-extended where the type has a sign.
constexpr std::int64_t integer_value(Element element, std::uint64_t code) {
    const int bits = bits_of(element);
    const bool negative = is_signed_integer(element) && ((code >> (bits - 1)) & 1) != 0;
    return static_cast<std::int64_t>(code) - (negative ? std::int64_t{1} << bits : 0);
}

/// One product: of integers, or of single bits, whose populations of xor or and are counted.
constexpr std::int64_t integer_product(const Instruction& row, std::uint64_t a, std::uint64_t b) {
    if (row.bit_operation == BitOperation::exclusive_or) return static_cast<std::int64_t>(a ^ b);
    if (row.bit_operation == BitOperation::conjunction) return static_cast<std::int64_t>(a & b);
    return integer_value(row.a, a) * integer_value(row.b, b);
}

/// The s32 accumulator after one instruction whose products sum up to `products`: modulo 2^32 (PTX ISA, mma: "wraps"),
/// or clamped with .satfinite.
constexpr std::uint32_t integer_accumulate(const Instruction& row, std::int64_t products, std::uint32_t c) {
    std::int64_t sum = products + integer_value(Element::s32, c);
    if (row.saturates) {
        constexpr std::int64_t largest = 0x7FFFFFFF;
        sum = sum > largest ? largest : (sum < -largest - 1 ? -largest - 1 : sum);
    }
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(sum));
}

/// One step of fp64: a fused multiply-add to nearest even; an instruction is a chain of them over ascending k. Claimed
/// (Fasi et al., PeerJ CS 7:e330, section 3.4, found A100's fp64 sums rounded at each step).
constexpr std::uint64_t fp64_step(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    Context context;
    return fma_bits<UInt128>(formats::fp64, a, b, c, context);
}

}  // namespace ulp::gpu
