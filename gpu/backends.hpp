// The matmul backends that run on a GPU.
//
//     cuda:mma                          mma.sync, the shape with the largest k for the product's types
//     cuda:wmma, cuda:wgmma             the same of the other families
//     cuda:mma.m16n8k8.fp16.fp32        that one instruction
//     wgmma:fp16.fp32                   wgmma of these types
//     cublas:fp16, cublaslt:fp16        the libraries' products of these inputs; they claim no model
#pragma once

#include <memory>
#include <string_view>

#include "engine/products/matmul.hpp"
#include "gpu/devices/executor.hpp"

namespace ulp::gpu {

/// Which instruction a backend takes: of a family the best for the types, or one by name.
struct InstructionChoice {
    Family family = Family::mma;
    const Instruction* fixed = nullptr;
};
/// "mma", "wgmma", "wmma", or an instruction's name. Throws std::invalid_argument.
InstructionChoice instruction_choice(std::string_view argument);

/// Products by matrix instructions on an executor. Edges are filled up with zeros; each element is a chain of
/// instructions over ascending k, the first of which takes C.
std::unique_ptr<MatmulBackend> make_instruction_backend(std::string_view name, std::shared_ptr<const Executor> executor,
                                                        const InstructionChoice& choice);

/// Adds cuda, wgmma, cublas and cublaslt to what make_backend knows. Making one without a GPU throws DataError. Call
/// once.
void register_gpu_backends();

}  // namespace ulp::gpu
