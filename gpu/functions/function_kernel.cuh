// One kernel asks a function for a range of operands; wrappers of the instructions by the kinds of their operands.
#pragma once

#include "gpu/functions/function_kernels.hpp"
#include "gpu/functions/function_models.hpp"
#include "gpu/recordings/digest.hpp"

namespace ulp::gpu {

template <class Function, class Model>
__global__ void ask(std::uint32_t first, std::uint64_t count, AnswersOnDevice* answers) {
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    AnswersOnDevice own{0, 0, 0, ~0ULL};
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
        const auto operand = static_cast<std::uint32_t>(first + i);
        const std::uint32_t result = Function::bits(operand);
        own.digest += digest_term(operand, result);
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
void launch_function(std::uint32_t first, std::uint64_t count, AnswersOnDevice* answers) {
    ask<Function, Model><<<2048, 256>>>(first, count, answers);
}

#define ULPLAB_FP32_TO_FP32(Name, PTX)                               \
    struct Name {                                                    \
        static __device__ std::uint32_t bits(std::uint32_t x) {      \
            float y;                                                 \
            asm(PTX " %0, %1;" : "=f"(y) : "f"(__uint_as_float(x))); \
            return __float_as_uint(y);                               \
        }                                                            \
    }
#define ULPLAB_HALF_TO_HALF(Name, PTX)                                          \
    struct Name {                                                               \
        static __device__ std::uint32_t bits(std::uint32_t x) {                 \
            std::uint16_t y;                                                    \
            asm(PTX " %0, %1;" : "=h"(y) : "h"(static_cast<std::uint16_t>(x))); \
            return y;                                                           \
        }                                                                       \
    }
#define ULPLAB_FP32_TO_HALF(Name, PTX)                               \
    struct Name {                                                    \
        static __device__ std::uint32_t bits(std::uint32_t x) {      \
            std::uint16_t y;                                         \
            asm(PTX " %0, %1;" : "=h"(y) : "f"(__uint_as_float(x))); \
            return y;                                                \
        }                                                            \
    }
#define ULPLAB_HALF_TO_FP32(Name, PTX)                                          \
    struct Name {                                                               \
        static __device__ std::uint32_t bits(std::uint32_t x) {                 \
            float y;                                                            \
            asm(PTX " %0, %1;" : "=f"(y) : "h"(static_cast<std::uint16_t>(x))); \
            return __float_as_uint(y);                                          \
        }                                                                       \
    }
#define ULPLAB_TWO_HALVES(Name, PTX)                                                                   \
    struct Name {                                                                                      \
        static __device__ std::uint32_t bits(std::uint32_t pair) {                                     \
            std::uint16_t y;                                                                           \
            asm(PTX " %0, %1, %2;"                                                                     \
                : "=h"(y)                                                                              \
                : "h"(static_cast<std::uint16_t>(pair)), "h"(static_cast<std::uint16_t>(pair >> 16))); \
            return y;                                                                                  \
        }                                                                                              \
    }
#define ULPLAB_THREE_HALVES(Name, PTX)                                            \
    struct Name {                                                                 \
        static __device__ std::uint32_t bits(std::uint32_t number) {              \
            const models::Halves x = models::sampled_halves(number);              \
            std::uint16_t y;                                                      \
            asm(PTX " %0, %1, %2, %3;" : "=h"(y) : "h"(x.a), "h"(x.b), "h"(x.c)); \
            return y;                                                             \
        }                                                                         \
    }
/// A pair of narrow codes, of which the lower is the operand's.
#define ULPLAB_FP32_TO_PAIR(Name, PTX)                                              \
    struct Name {                                                                   \
        static __device__ std::uint32_t bits(std::uint32_t x) {                     \
            std::uint16_t y;                                                        \
            asm(PTX " %0, %1, %2;" : "=h"(y) : "f"(0.0F), "f"(__uint_as_float(x))); \
            return y & 0xFF;                                                        \
        }                                                                           \
    }
#define ULPLAB_HALVES_TO_PAIR(Name, PTX)                        \
    struct Name {                                               \
        static __device__ std::uint32_t bits(std::uint32_t x) { \
            std::uint16_t y;                                    \
            asm(PTX " %0, %1;" : "=h"(y) : "r"(x & 0xFFFF));    \
            return y & 0xFF;                                    \
        }                                                       \
    }

#define ULPLAB_LAUNCHER(Wrapper, name, operand_bits, Model) {name, launch_function<Wrapper, models::Model>},

}  // namespace ulp::gpu
