// Which vector instructions the fast paths use: chosen at run time, the same bits from each.
//
// A fast path is compiled once for each set, in a translation unit with its own -m flags (ulplab_simd_source in
// cmake/UlplabTargets.cmake), and reached through a table of functions. Such a unit must keep everything it compiles
// in an unnamed namespace: an inline function shared with other units might be linked from the one with the widest
// instructions and then run on a processor that lacks them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ulp {

/// Sets of instructions. Of those that a processor has, each contains the ones before it.
enum class Simd : std::uint8_t {
    portable,     // whatever the compiler's target has
    avx2,         // AVX2, FMA, F16C
    avx512,       // and AVX-512 F, BW, DQ, VL
    avx512_vnni,  // and AVX512-VNNI, sums of products of bytes and of 16-bit words; without use for it the same as
                  // avx512
    avx512_fp16,  // and AVX512-FP16, arithmetic on halves; for a path that has no use for it the same as avx512_vnni
    neon          // every 64-bit ARM processor's
};

/// "portable", "avx2", "avx512", "avx512_vnni", "avx512_fp16", "neon".
std::string_view name_of(Simd simd);

/// The sets that this processor and its operating system support, least first. Always begins with portable.
std::span<const Simd> supported_simd();

/// Throws std::invalid_argument for a set that this processor lacks.
void require_instructions(Simd simd);

/// The set of that name. Throws std::invalid_argument that lists the supported names, for a name that is unknown and
/// for a set that this processor lacks. An empty name means the best set.
Simd simd_by_name(std::string_view name);

/// What fast paths use unless told otherwise: the set that the environment variable ULPLAB_SIMD names, else the best.
/// Read once, at the first call. Throws as simd_by_name does, at each call.
Simd simd_choice();

}  // namespace ulp
