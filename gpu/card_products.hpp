// A real card (or a model in its place) in the position of a soft backend: each product that an instruction of the card
// promises to compute as the backend's row does is computed by both and compared bit by bit.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/products/matmul.hpp"
#include "gpu/devices/executor.hpp"

namespace ulp::gpu {

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
