// mma.sync: a type an instruction, Mma<m, n, k, a, b, accumulator, modifier>, with its registers and its PTX (PTX
// ISA 9.0, section 9.7.14.5.14). All follow from the lists of instruction_list.hpp.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/instructions/fragment_layout.hpp"
#include "gpu/instructions/instruction.hpp"
#include "gpu/instructions/instruction_list.hpp"

// How PTX writes the elements of instruction_list.hpp, and the registers that hold them: of 32 bits, of 64 for fp64.
// (PTX takes untyped registers where it takes typed ones of their size, so fp32 needs no others.)

#define ULPLAB_PTX_fp64 "f64"
#define ULPLAB_PTX_fp32 "f32"
#define ULPLAB_PTX_tf32 "tf32"
#define ULPLAB_PTX_bf16 "bf16"
#define ULPLAB_PTX_fp16 "f16"
#define ULPLAB_PTX_e5m2 "e5m2"
#define ULPLAB_PTX_e4m3 "e4m3"
#define ULPLAB_PTX_e3m2 "e3m2"
#define ULPLAB_PTX_e2m3 "e2m3"
#define ULPLAB_PTX_e2m1 "e2m1"
#define ULPLAB_PTX_packed_e2m1 "e2m1"
#define ULPLAB_PTX_s32 "s32"
#define ULPLAB_PTX_s8 "s8"
#define ULPLAB_PTX_u8 "u8"
#define ULPLAB_PTX_s4 "s4"
#define ULPLAB_PTX_u4 "u4"
#define ULPLAB_PTX_b1 "b1"

#define ULPLAB_PTX_SHAPE(M, N, K) "m" #M "n" #N "k" #K

#define ULPLAB_REGISTER_fp64 "l"
#define ULPLAB_REGISTER_fp32 "r"
#define ULPLAB_REGISTER_fp16 "r"
#define ULPLAB_REGISTER_s32 "r"

namespace ulp::gpu {

/// A, B, C and D of one instruction as raw words: 32 bits each, 64 for fp64. The instruction's
///
///     static __device__ void apply(Word (&d)[c_words], const Word (&a)[a_words], const Word (&b)[b_words]);
///
/// computes d += a * b in place. With block scales a lane's registers of them come last, and `scales` bytes of each
/// count.
template <int M, int N, int K, Element A, Element D, Modifier Modified>
struct WarpTile {
    using Word = std::conditional_t<bits_of(A) == 64, std::uint64_t, std::uint32_t>;
    static constexpr TileShape shape{M, N, K};
    static constexpr int input_bits = bits_of(A);
    static constexpr int accumulator_bits = bits_of(D);
    static constexpr int a_words = layout::a_words(shape, input_bits);
    static constexpr int b_words = layout::b_words(shape, input_bits);
    static constexpr int c_words = layout::c_words(shape, accumulator_bits);
    static constexpr int scales = scales_of(scaling_of(Modified), K);
};

template <int M, int N, int K, Element A, Element B, Element D, Modifier Modified = Modifier::unmodified>
struct Mma;

#define ULPLAB_PTX_unmodified(shape, types) shape ".row.col." types
#define ULPLAB_PTX_satfinite(shape, types) shape ".row.col.satfinite." types
#define ULPLAB_PTX_xor_popc(shape, types) shape ".row.col." types ".xor.popc"
#define ULPLAB_PTX_and_popc(shape, types) shape ".row.col." types ".and.popc"
#define ULPLAB_PTX_f8f6f4(shape, types) "kind::f8f6f4." shape ".row.col." types
#define ULPLAB_PTX_mxf8f6f4(shape, types) "kind::mxf8f6f4.block_scale.scale_vec::1X." shape ".row.col." types ".ue8m0"
#define ULPLAB_PTX_mxf4(shape, types) "kind::mxf4.block_scale.scale_vec::2X." shape ".row.col." types ".ue8m0"
#define ULPLAB_PTX_nvf4(shape, types) "kind::mxf4nvf4.block_scale.scale_vec::4X." shape ".row.col." types ".ue4m3"
#define ULPLAB_MMA_PTX(M, N, K, A, B, D, MODIFIER)                       \
    "mma.sync.aligned." ULPLAB_PTX_##MODIFIER(ULPLAB_PTX_SHAPE(M, N, K), \
                                              ULPLAB_PTX_##D "." ULPLAB_PTX_##A "." ULPLAB_PTX_##B "." ULPLAB_PTX_##D)

#define ULPLAB_MMA_TYPE(M, N, K, A, B, D, MODIFIER) Mma<M, N, K, Element::A, Element::B, Element::D, Modifier::MODIFIER>
#define ULPLAB_MMA_BASE(M, N, K, A, B, D, MODIFIER) WarpTile<M, N, K, Element::A, Element::D, Modifier::MODIFIER>

// R is the constraint of a register. The branches are by the numbers of registers: others are never instantiated.
#define ULPLAB_MMA_APPLY(PTX, R)                                                                                     \
    template <class Word, int Ds, int As, int Bs>                                                                    \
    static __device__ void apply(Word(&d)[Ds], const Word(&a)[As], const Word(&b)[Bs]) {                             \
        static_assert(Ds == c_words && As == a_words && Bs == b_words);                                              \
        if constexpr (Ds == 4 && As == 8) {                                                                          \
            asm volatile(PTX                                                                                         \
                         " {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, "             \
                         "{%0, %1, %2, %3};"                                                                         \
                         : "+" R(d[0]), "+" R(d[1]), "+" R(d[2]), "+" R(d[3])                                        \
                         : R(a[0]), R(a[1]), R(a[2]), R(a[3]), R(a[4]), R(a[5]), R(a[6]), R(a[7]), R(b[0]), R(b[1]), \
                           R(b[2]), R(b[3]));                                                                        \
        } else if constexpr (Ds == 4 && As == 4) {                                                                   \
            asm volatile(PTX " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                      \
                         : "+" R(d[0]), "+" R(d[1]), "+" R(d[2]), "+" R(d[3])                                        \
                         : R(a[0]), R(a[1]), R(a[2]), R(a[3]), R(b[0]), R(b[1]));                                    \
        } else if constexpr (Ds == 4) {                                                                              \
            asm volatile(PTX " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"                                  \
                         : "+" R(d[0]), "+" R(d[1]), "+" R(d[2]), "+" R(d[3])                                        \
                         : R(a[0]), R(a[1]), R(b[0]));                                                               \
        } else if constexpr (As == 4) {                                                                              \
            asm volatile(PTX " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"                                      \
                         : "+" R(d[0]), "+" R(d[1])                                                                  \
                         : R(a[0]), R(a[1]), R(a[2]), R(a[3]), R(b[0]), R(b[1]));                                    \
        } else if constexpr (As == 2) {                                                                              \
            asm volatile(PTX " {%0, %1}, {%2, %3}, {%4}, {%0, %1};"                                                  \
                         : "+" R(d[0]), "+" R(d[1])                                                                  \
                         : R(a[0]), R(a[1]), R(b[0]));                                                               \
        } else {                                                                                                     \
            asm volatile(PTX " {%0, %1}, {%2}, {%3}, {%0, %1};" : "+" R(d[0]), "+" R(d[1]) : R(a[0]), R(b[0]));      \
        }                                                                                                            \
    }

#define ULPLAB_DEFINE_MMA(AVAILABILITY, M, N, K, A, B, D, MODIFIER)                                    \
    template <>                                                                                        \
    struct ULPLAB_MMA_TYPE(M, N, K, A, B, D, MODIFIER) : ULPLAB_MMA_BASE(M, N, K, A, B, D, MODIFIER) { \
        ULPLAB_MMA_APPLY(ULPLAB_MMA_PTX(M, N, K, A, B, D, MODIFIER), ULPLAB_REGISTER_##D)              \
    };
// The selectors {byte-id, thread-id} are 0: which lanes supply the scales is then as fragment_layout.hpp says.
#define ULPLAB_DEFINE_SCALED_MMA(AVAILABILITY, M, N, K, A, B, D, MODIFIER)                                              \
    template <>                                                                                                         \
    struct ULPLAB_MMA_TYPE(M, N, K, A, B, D, MODIFIER) : ULPLAB_MMA_BASE(M, N, K, A, B, D, MODIFIER) {                  \
        static __device__ void apply(Word (&d)[4], const Word (&a)[4], const Word (&b)[2], Word a_scales,               \
                                     Word b_scales) {                                                                   \
            asm volatile(ULPLAB_MMA_PTX(M, N, K, A, B, D, MODIFIER)                                                   \
                         " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {0, 0}, %11, {0, 0};" \
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                             \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales),           \
                           "r"(b_scales)); \
        }                                                                                                               \
    };

ULPLAB_MMA_FLOATS(ULPLAB_DEFINE_MMA)
ULPLAB_MMA_FP8(ULPLAB_DEFINE_MMA)
ULPLAB_MMA_FP64_M8(ULPLAB_DEFINE_MMA)
ULPLAB_MMA_FP64_M16(ULPLAB_DEFINE_MMA)
ULPLAB_MMA_NARROW(ULPLAB_DEFINE_MMA)
ULPLAB_MMA_SCALED(ULPLAB_DEFINE_SCALED_MMA)
ULPLAB_MMA_INTEGERS(ULPLAB_DEFINE_MMA)

#undef ULPLAB_DEFINE_MMA
#undef ULPLAB_DEFINE_SCALED_MMA
#undef ULPLAB_MMA_APPLY

}  // namespace ulp::gpu
