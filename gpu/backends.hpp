// The matmul backends that run on a GPU.
//
//     cuda:mma                          mma.sync, the shape with the largest k for the product's types
//     cuda:wmma, cuda:wgmma             the same of the other families
//     cuda:mma.m16n8k8.fp16.fp32        that one instruction
//     wgmma:fp16.fp32                   wgmma of these types
//     cublas:fp16, cublaslt:fp16        the libraries' products of these inputs; they claim no model
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
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

// A real card (or a model in its place) in the position of a soft backend: each product that an instruction of the card
// promises to compute as the backend's row does is computed by both and compared bit by bit.

/// Products compared, by the row's key, and the row of the one that differed. From any thread.
class CardProducts {
  public:
    explicit CardProducts(std::shared_ptr<const Executor> executor) : executor_(std::move(executor)) {}

    /// The backend itself where it is no model of a matrix unit ("soft:h100"); else one with the same name, promises
    /// and bits that also asks the card where it has the row, and throws BitsDiffer, as `checked` does, at the first
    /// element that differs. This object must outlive it.
    std::unique_ptr<MatmulBackend> beside(std::unique_ptr<MatmulBackend> backend);

    void count(const std::string& unit, bool equal);
    /// The one that differed is among them.
    [[nodiscard]] std::map<std::string, std::int64_t> counts() const;
    /// Empty: none differed.
    [[nodiscard]] std::string differing_unit() const;

  private:
    std::shared_ptr<const Executor> executor_;
    mutable std::mutex mutex_;
    std::map<std::string, std::int64_t> counts_;
    std::string differing_unit_;
};

}  // namespace ulp::gpu
