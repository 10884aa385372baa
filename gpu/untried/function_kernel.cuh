// One kernel asks a function for a range of operands.
#pragma once

#include <cstdint>

#include "gpu/instructions/input_classes.hpp"
#include "gpu/untried/function_kernels.hpp"
#include "gpu/untried/function_models.hpp"

namespace ulp::gpu {

// The instructions of function_models.hpp as types, by the kinds of their operands: bits(x) is the result of operand x.

inline constexpr int function_blocks = 2048;
inline constexpr int function_threads = 256;

/// Where the atomics of a warp meet in global memory.
static __device__ float sum_of_warp[function_blocks * function_threads / 32];

inline __device__ float float_of_sample(std::uint32_t number, int lane) {
    return __uint_as_float(models::sampled_float(number, lane));
}

/// result(number, lane) for the operand of each lane in turn, by all lanes together.
template <class Result>
__device__ std::uint32_t for_each_lane(std::uint32_t operand, Result result) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    std::uint32_t own = 0;
    for (int turn = 0; turn < 32; ++turn) {
        const std::uint32_t y = result(__shfl_sync(0xFFFFFFFF, operand, turn), lane);
        if (turn == lane) own = y;
    }
    return own;
}

/// An instruction: `...` computes the result's bits from those of x.
#define ULPLAB_BITS_OF(Type, ...)                                             \
    struct Type {                                                             \
        static __device__ std::uint32_t bits(std::uint32_t x) { __VA_ARGS__ } \
    }
#define ULPLAB_KIND_fp32_to_fp32(Type, PTX) \
    ULPLAB_BITS_OF(Type, float y; asm(PTX " %0, %1;" : "=f"(y) : "f"(__uint_as_float(x))); return __float_as_uint(y);)
#define ULPLAB_KIND_fp32_to_word(Type, PTX) \
    ULPLAB_BITS_OF(Type, std::uint32_t y; asm(PTX " %0, %1;" : "=r"(y) : "f"(__uint_as_float(x))); return y;)
#define ULPLAB_KIND_half_to_half(Type, PTX) \
    ULPLAB_BITS_OF(Type, std::uint16_t y; asm(PTX " %0, %1;" : "=h"(y) : "h"(static_cast<std::uint16_t>(x))); return y;)
#define ULPLAB_KIND_fp32_to_half(Type, PTX) \
    ULPLAB_BITS_OF(Type, std::uint16_t y; asm(PTX " %0, %1;" : "=h"(y) : "f"(__uint_as_float(x))); return y;)
#define ULPLAB_KIND_half_to_fp32(Type, PTX)                                  \
    ULPLAB_BITS_OF(Type, float y; asm(PTX " %0, %1;"                         \
                                      : "=f"(y)                              \
                                      : "h"(static_cast<std::uint16_t>(x))); \
                   return __float_as_uint(y);)
#define ULPLAB_KIND_two_halves(Type, PTX)                                                               \
    ULPLAB_BITS_OF(Type, std::uint16_t y;                                                               \
                   asm(PTX " %0, %1, %2;"                                                               \
                       : "=h"(y)                                                                        \
                       : "h"(static_cast<std::uint16_t>(x)), "h"(static_cast<std::uint16_t>(x >> 16))); \
                   return y;)
#define ULPLAB_KIND_three_halves(Type, PTX)                                                    \
    ULPLAB_BITS_OF(Type, const models::Halves in = models::sampled_halves(x); std::uint16_t y; \
                   asm(PTX " %0, %1, %2, %3;"                                                  \
                       : "=h"(y)                                                               \
                       : "h"(in.a), "h"(in.b), "h"(in.c));                                     \
                   return y;)
/// Two results, of which the lower is the operand's; so are those of all pairs below.
#define ULPLAB_KIND_fp32_to_halves(Type, PTX)                                        \
    ULPLAB_BITS_OF(Type, std::uint32_t y; asm(PTX " %0, %1, %2;"                     \
                                              : "=r"(y)                              \
                                              : "f"(0.0F), "f"(__uint_as_float(x))); \
                   return y & 0xFFFF;)
#define ULPLAB_KIND_fp32_to_pair(Type, PTX)                                          \
    ULPLAB_BITS_OF(Type, std::uint16_t y; asm(PTX " %0, %1, %2;"                     \
                                              : "=h"(y)                              \
                                              : "f"(0.0F), "f"(__uint_as_float(x))); \
                   return y & 0xFF;)
#define ULPLAB_KIND_fp32_to_nibbles(Type, PTX)                                                     \
    ULPLAB_BITS_OF(Type, std::uint16_t y; asm("{.reg .b8 t; " PTX " t, %1, %2; cvt.u16.u8 %0, t;}" \
                                              : "=h"(y)                                            \
                                              : "f"(0.0F), "f"(__uint_as_float(x)));               \
                   return y & 0xF;)
#define ULPLAB_KIND_halves_to_pair(Type, PTX) \
    ULPLAB_BITS_OF(Type, std::uint16_t y; asm(PTX " %0, %1;" : "=h"(y) : "r"(x & 0xFFFF)); return y & 0xFF;)
#define ULPLAB_KIND_pair_to_halves(Type, PTX)                                        \
    ULPLAB_BITS_OF(Type, std::uint32_t y; asm(PTX " %0, %1;"                         \
                                              : "=r"(y)                              \
                                              : "h"(static_cast<std::uint16_t>(x))); \
                   return y & 0xFFFF;)
#define ULPLAB_KIND_nibbles_to_halves(Type, PTX)                                               \
    ULPLAB_BITS_OF(Type, std::uint32_t y; asm("{.reg .b8 t; cvt.u8.u16 t, %1; " PTX " %0, t;}" \
                                              : "=r"(y)                                        \
                                              : "h"(static_cast<std::uint16_t>(x)));           \
                   return y & 0xFFFF;)
/// Numbers of a sample, and random bits.
#define ULPLAB_KIND_two_stochastic(Type, PTX)                                                                      \
    ULPLAB_BITS_OF(Type, std::uint32_t y;                                                                          \
                   asm(PTX " %0, %1, %2, %3;"                                                                      \
                       : "=r"(y)                                                                                   \
                       : "f"(float_of_sample(x, 0)), "f"(float_of_sample(x, 1)), "r"(models::sampled_word(x, 4))); \
                   return y;)
#define ULPLAB_KIND_four_stochastic(Type, PTX)                                                               \
    ULPLAB_BITS_OF(Type, std::uint32_t y;                                                                    \
                   asm(PTX " %0, {%1, %2, %3, %4}, %5;"                                                      \
                       : "=r"(y)                                                                             \
                       : "f"(float_of_sample(x, 0)), "f"(float_of_sample(x, 1)), "f"(float_of_sample(x, 2)), \
                         "f"(float_of_sample(x, 3)), "r"(models::sampled_word(x, 4)));                       \
                   return y;)
#define ULPLAB_KIND_four_stochastic_nibbles(Type, PTX)                                                       \
    ULPLAB_BITS_OF(Type, std::uint16_t y;                                                                    \
                   asm(PTX " %0, {%1, %2, %3, %4}, %5;"                                                      \
                       : "=h"(y)                                                                             \
                       : "f"(float_of_sample(x, 0)), "f"(float_of_sample(x, 1)), "f"(float_of_sample(x, 2)), \
                         "f"(float_of_sample(x, 3)), "r"(models::sampled_word(x, 4)));                       \
                   return y;)
/// A lane's operand is a sample of the warp's.
#define ULPLAB_KIND_words_of_warp(Type, PTX)                                                                         \
    ULPLAB_BITS_OF(Type, return for_each_lane(x, [](std::uint32_t number, int lane) {                                \
                       std::uint32_t y;                                                                              \
                       asm volatile(PTX " %0, %1, 0xffffffff;" : "=r"(y) : "r"(models::sampled_word(number, lane))); \
                       return y;                                                                                     \
                   });)
#define ULPLAB_KIND_floats_of_warp(Type, PTX)                                                                   \
    ULPLAB_BITS_OF(Type, return for_each_lane(x, [](std::uint32_t number, int lane) {                           \
                       float y;                                                                                 \
                       asm volatile(PTX " %0, %1, 0xffffffff;" : "=f"(y) : "f"(float_of_sample(number, lane))); \
                       return __float_as_uint(y);                                                               \
                   });)
/// A warp's atomic sum: `sum` is a volatile float*, `space` what asm calls a register of the address.
#define ULPLAB_ATOMIC_SUM(PTX, sum, space, address)                       \
    return for_each_lane(x, [=](std::uint32_t number, int lane) {         \
        if (lane == 0) *sum = 0;                                          \
        __syncwarp();                                                     \
        asm volatile("{.reg .f32 t; " PTX " t, [%0], %1;}"                \
                     :                                                    \
                     : space(address), "f"(float_of_sample(number, lane)) \
                     : "memory");                                         \
        __syncwarp();                                                     \
        const std::uint32_t y = __float_as_uint(*sum);                    \
        __syncwarp();                                                     \
        return y;                                                         \
    });
#define ULPLAB_KIND_shared_atomic_of_warp(Type, PTX)                                       \
    ULPLAB_BITS_OF(Type, __shared__ float sums[function_threads / 32];                     \
                   volatile float* const sum = sums + threadIdx.x / 32; ULPLAB_ATOMIC_SUM( \
                       PTX, sum, "r", static_cast<std::uint32_t>(__cvta_generic_to_shared(const_cast<float*>(sum)))))
#define ULPLAB_KIND_global_atomic_of_warp(Type, PTX)                                                             \
    ULPLAB_BITS_OF(Type, volatile float* const sum = sum_of_warp + (blockIdx.x * blockDim.x + threadIdx.x) / 32; \
                   ULPLAB_ATOMIC_SUM(PTX, sum, "l", const_cast<float*>(sum)))

template <class Function, class Model>
__global__ void ask(std::uint32_t first, std::uint64_t count, AnswersOnDevice* answers, std::uint32_t* results) {
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    AnswersOnDevice own{0, 0, 0, ~0ULL};
    // Whole warps: an instruction may be of all its lanes.
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i / 32 * 32 < count; i += threads) {
        const auto operand = static_cast<std::uint32_t>(first + i);
        const std::uint32_t result = Function::bits(operand);
        if (i >= count) continue;
        own.digest += digest_term(operand, result);
        if (results != nullptr) results[i] = result;
        if constexpr (Model::known) {
            const std::uint32_t expected = Model::bits(operand);
            if (result != expected) {
                (Model::is_nan_code(expected) ? own.differ_nan : own.differ) += 1;
                if (operand < own.first) own.first = operand;
            }
        }
    }
    atomicAdd(&answers->digest, own.digest);
    if (own.differ != 0) atomicAdd(&answers->differ, own.differ);
    if (own.differ_nan != 0) atomicAdd(&answers->differ_nan, own.differ_nan);
    if (own.first != ~0ULL) atomicMin(&answers->first, own.first);
}

template <class Function, class Model>
void launch_function(std::uint32_t first, std::uint64_t count, AnswersOnDevice* answers, std::uint32_t* results) {
    ask<Function, Model><<<function_blocks, function_threads>>>(first, count, answers, results);
}

/// A row of the list of functions as a type, and as one of a table of launchers.
#define ULPLAB_DEFINE_FUNCTION(Type, kind, PTX, Model) ULPLAB_KIND_##kind(Type, PTX);
#define ULPLAB_FUNCTION_LAUNCHER(Type, kind, name, Model) {name, launch_function<Type, models::Model>},

}  // namespace ulp::gpu
