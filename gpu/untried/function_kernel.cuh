// One kernel asks a function for a range of operands.
#pragma once

#include "gpu/devices/digest.hpp"
#include "gpu/untried/function_kernels.hpp"
#include "gpu/untried/function_kinds.cuh"
#include "gpu/untried/function_list.hpp"
#include "gpu/untried/function_models.hpp"

namespace ulp::gpu {

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
