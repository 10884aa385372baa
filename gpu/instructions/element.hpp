// The element types of matrix instructions.
#pragma once

#include <cstdint>
#include <string_view>

#include "softfloat/round.hpp"

namespace ulp::gpu {

/// FP6 and FP4 elements fill a byte of a register; with k = 64 FP4 is packed, two a byte.
enum class Element : std::uint8_t {
    fp64,
    fp32,
    tf32,
    bf16,
    fp16,
    e5m2,
    e4m3,
    e3m2,
    e2m3,
    e2m1,
    packed_e2m1,
    s32,
    s8,
    u8,
    s4,
    u4,
    b1
};

/// Bits of an element in a register: tf32 fills a 32-bit word, of which the instruction reads 19 bits.
constexpr int bits_of(Element element) {
    switch (element) {
        case Element::fp64: return 64;
        case Element::fp32:
        case Element::tf32:
        case Element::s32: return 32;
        case Element::bf16:
        case Element::fp16: return 16;
        case Element::e5m2:
        case Element::e4m3:
        case Element::e3m2:
        case Element::e2m3:
        case Element::e2m1:
        case Element::s8:
        case Element::u8: return 8;
        case Element::packed_e2m1:
        case Element::s4:
        case Element::u4: return 4;
        case Element::b1: return 1;
    }
    return 0;
}

/// "fp16", "s8", ...
constexpr std::string_view name_of(Element element) {
    switch (element) {
        case Element::fp64: return "fp64";
        case Element::fp32: return "fp32";
        case Element::tf32: return "tf32";
        case Element::bf16: return "bf16";
        case Element::fp16: return "fp16";
        case Element::e5m2: return "e5m2";
        case Element::e4m3: return "e4m3";
        case Element::e3m2: return "e3m2";
        case Element::e2m3: return "e2m3";
        case Element::e2m1:
        case Element::packed_e2m1: return "e2m1";
        case Element::s32: return "s32";
        case Element::s8: return "s8";
        case Element::u8: return "u8";
        case Element::s4: return "s4";
        case Element::u4: return "u4";
        case Element::b1: return "b1";
    }
    return "";
}

constexpr bool is_float(Element element) { return element <= Element::packed_e2m1; }
constexpr bool is_signed_integer(Element element) {
    return element == Element::s32 || element == Element::s8 || element == Element::s4;
}

/// FP4 in the middle of its byte, bits 5 to 2 (PTX ISA 9.0).
ULPLAB_DEVICE_CONSTANT FloatFormat e2m1_in_a_byte = [] {
    FloatFormat format = formats::e2m1;
    format.padding_bits = 2;
    return format;
}();

/// The format of a floating-point element, with the padding that it has in a register. Meaningful where is_float().
constexpr FloatFormat format_of(Element element) {
    switch (element) {
        case Element::fp64: return formats::fp64;
        case Element::tf32: return formats::tf32;
        case Element::bf16: return formats::bf16;
        case Element::fp16: return formats::fp16;
        case Element::e5m2: return formats::e5m2;
        case Element::e4m3: return formats::e4m3;
        case Element::e3m2: return formats::e3m2;
        case Element::e2m3: return formats::e2m3;
        case Element::e2m1: return e2m1_in_a_byte;
        case Element::packed_e2m1: return formats::e2m1;
        default: return formats::fp32;
    }
}

static_assert(bits_of(Element::tf32) == format_of(Element::tf32).storage_bits());
static_assert(pack(format_of(Element::e2m1), true, 7) == 0x3C && bits_of(Element::e2m1) == 8);
static_assert(is_float(Element::e4m3) && !is_float(Element::s32));

// The tile of a matrix instruction: D (m x n) = A (m x k) * B (k x n) + C (m x n).

struct TileShape {
    int m;
    int n;
    int k;
    constexpr bool operator==(const TileShape&) const = default;
};

/// A row and a column of a matrix.
struct Place {
    int row;
    int column;
    constexpr bool operator==(const Place&) const = default;
};

}  // namespace ulp::gpu
