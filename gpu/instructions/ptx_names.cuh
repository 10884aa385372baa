// How PTX writes the elements of instruction_list.hpp, and the registers that hold them: of 32 bits, of 64 for fp64.
// (PTX takes untyped registers where it takes typed ones of their size, so fp32 needs no others.)
#pragma once

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
