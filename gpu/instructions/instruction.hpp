// The matrix instructions of NVIDIA GPUs that the project runs (instruction_list.hpp), as a table: the key is the name.
//
//     mma.m16n8k16.fp16.fp32            mma.sync, fp16 inputs, fp32 accumulator
//     mma.m16n8k32.e4m3_e5m2.fp16       A is E4M3, B is E5M2
//     mma.m16n8k32.s8.s32.satfinite     saturating sums
//     mma.m16n8k64.nvf4.e2m1.fp32       packed FP4 with E4M3 scales for 16 elements each
//     mma.m16n8k256.b1_xor.s32          population count of xor
//     wgmma.m64n8k16.fp16.fp32          a warpgroup's instruction of sm_90
//     tcgen05.m128n16k32.e4m3_e2m1.fp32 an instruction of sm_100 with its accumulator in tensor memory
//     wmma.m16n16k16.fp16.fp32          the compiler's C++ interface, which issues several mma.sync
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gpu/instructions/element.hpp"
#include "softfloat/format.hpp"

namespace ulp::gpu {

// The kinds of block scaling that mma.sync of sm_120 and tcgen05.mma of sm_100 have (PTX ISA 9.0, "Block scaling"):
// every `scale_block` elements of a row of A, and of a column of B, share a scale of one byte.

/// Named as in softfloat/matrix_units/block_scaled.hpp.
enum class Scaling : std::uint8_t {
    none,
    mxf8f6f4,      // .kind::mxf8f6f4, .scale_vec::1X, .ue8m0
    mxf4,          // .kind::mxf4, .scale_vec::2X, .ue8m0
    mxf4_block16,  // .kind::mxf4nvf4, .scale_vec::4X, .ue8m0
    nvf4           // .kind::mxf4nvf4, .scale_vec::4X, .ue4m3
};

constexpr std::string_view name_of(Scaling scaling) {
    switch (scaling) {
        case Scaling::none: return "";
        case Scaling::mxf8f6f4: return "mxf8f6f4";
        case Scaling::mxf4: return "mxf4";
        case Scaling::mxf4_block16: return "mxf4_block16";
        case Scaling::nvf4: return "nvf4";
    }
    return "";
}

/// Scales of `k` elements.
constexpr int scales_of(Scaling scaling, int k) {
    if (scaling == Scaling::none) return 0;
    return k / (scaling == Scaling::nvf4 || scaling == Scaling::mxf4_block16 ? 16 : 32);
}

/// Meaningful where there are scales.
constexpr FloatFormat scale_format_of(Scaling scaling) {
    return scaling == Scaling::nvf4 ? formats::e4m3 : formats::e8m0;
}

static_assert(scales_of(Scaling::mxf8f6f4, 32) == 1 && scales_of(Scaling::mxf4, 64) == 2);
static_assert(scales_of(Scaling::mxf4_block16, 64) == 4 && scale_format_of(Scaling::mxf4_block16) == formats::e8m0);
static_assert(scales_of(Scaling::nvf4, 64) == 4 && scale_format_of(Scaling::mxf4).storage_bits() == 8);

enum class Family : std::uint8_t { mma, wmma, wgmma, tcgen05 };
/// All of them.
inline constexpr Family families[] = {Family::mma, Family::wmma, Family::wgmma, Family::tcgen05};
std::string_view name_of(Family family);

/// How 1-bit operands meet.
enum class BitOperation : std::uint8_t { none, exclusive_or, conjunction };

/// On which architectures an instruction exists.
struct Availability {
    int minimum;         // 10 * major + minor of the compute capability
    bool exact = false;  // of no later architecture (wgmma, tcgen05, block scaling)
    [[nodiscard]] constexpr bool on(int architecture) const {
        return exact ? architecture == minimum : architecture >= minimum;
    }
    constexpr bool operator==(const Availability&) const = default;
};
inline constexpr Availability ampere{80};
inline constexpr Availability ada{89};
inline constexpr Availability hopper{90};
inline constexpr Availability hopper_only{90, true};
inline constexpr Availability blackwell_only{100, true};
inline constexpr Availability rtx_blackwell_only{120, true};

/// What an instruction's PTX says beside its shape and its types.
enum class Modifier : std::uint8_t {
    unmodified,
    satfinite,
    xor_popc,
    and_popc,
    f8f6f4,
    mxf8f6f4,
    mxf4,
    mxf4_block16,
    nvf4
};
constexpr Scaling scaling_of(Modifier modifier) {
    switch (modifier) {
        case Modifier::mxf8f6f4: return Scaling::mxf8f6f4;
        case Modifier::mxf4: return Scaling::mxf4;
        case Modifier::mxf4_block16: return Scaling::mxf4_block16;
        case Modifier::nvf4: return Scaling::nvf4;
        default: return Scaling::none;
    }
}

struct Instruction {
    Family family;
    TileShape shape;
    Element a;
    Element b;
    Element accumulator;
    Availability availability;
    BitOperation bit_operation = BitOperation::none;
    bool saturates = false;
    Scaling scaling = Scaling::none;

    /// "mma.m16n8k16.fp16.fp32"
    [[nodiscard]] std::string name() const;
    /// Scales of a row of A, or of a column of B, in one instruction.
    [[nodiscard]] constexpr int scales() const { return scales_of(scaling, shape.k); }
    /// The input's part of the name: "fp16", "e4m3_e5m2", "b1_xor", "mxf8f6f4.e4m3_e2m1".
    [[nodiscard]] std::string input_name() const;
    constexpr bool operator==(const Instruction&) const = default;
};

/// A row of instruction_list.hpp.
constexpr Instruction instruction_of(Family family, Availability availability, TileShape shape, Element a, Element b,
                                     Element accumulator, Modifier modifier) {
    const BitOperation operation = modifier == Modifier::xor_popc   ? BitOperation::exclusive_or
                                   : modifier == Modifier::and_popc ? BitOperation::conjunction
                                                                    : BitOperation::none;
    return {family,
            shape,
            a,
            b,
            accumulator,
            availability,
            operation,
            modifier == Modifier::satfinite,
            scaling_of(modifier)};
}
#define ULPLAB_INSTRUCTION(FAMILY, AVAILABILITY, M, N, K, A, B, D, MODIFIER)                           \
    ::ulp::gpu::instruction_of(::ulp::gpu::Family::FAMILY, ::ulp::gpu::AVAILABILITY, {M, N, K},        \
                               ::ulp::gpu::Element::A, ::ulp::gpu::Element::B, ::ulp::gpu::Element::D, \
                               ::ulp::gpu::Modifier::MODIFIER)

std::span<const Instruction> instructions();
/// Throws std::invalid_argument that lists the names that begin alike.
const Instruction& instruction_by_name(std::string_view name);

/// "sm_90"
std::string architecture_name(int architecture);

/// The instruction of a family with these elements, without scales, and the largest k on the architecture. Throws
/// std::invalid_argument that says what there is.
const Instruction& choose_instruction(Family family, Element a, Element b, Element accumulator, int architecture);

}  // namespace ulp::gpu
