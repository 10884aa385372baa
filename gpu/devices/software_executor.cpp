// The models in place of a GPU: for tests, and for dry runs of what needs hardware. Its results prove nothing, and its
// info and every recording made with it say so.
#include <fmt/format.h>

#include <utility>

#include "gpu/devices/cuda_errors.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/devices/reference.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/policies.hpp"

namespace ulp::gpu {
namespace {

class SoftwareExecutor final : public Executor {
  public:
    SoftwareExecutor(int architecture, const PolicySet* policies, std::uint64_t memory_bytes) : policies_(policies) {
        info_.name = fmt::format("software model of {}", architecture_name(architecture));
        if (policies != nullptr) info_.name += fmt::format(" under policies {}", policies->name);
        info_.architecture = architecture;
        info_.memory_bytes = memory_bytes;
    }
    [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  private:
    /// Asks for the product's memory, matrix by matrix.
    void allocate(const HostProduct& p) const {
        std::uint64_t free_bytes = info_.memory_bytes;
        for (const PackedMatrix* matrix : {&p.a, &p.b, &p.c, &p.a_scales, &p.b_scales, &p.d}) {
            const std::uint64_t bytes = matrix->words().size() * sizeof(std::uint32_t);
            if (bytes > free_bytes) throw DataError(memory_failure(bytes, free_bytes, info_.memory_bytes));
            free_bytes -= bytes;
        }
    }
    void compute(HostProduct& product) const override {
        if (info_.memory_bytes > 0) allocate(product);
        if (policies_ == nullptr) return expected_product(product, info_.architecture);
        if (const auto claimed = promised_model(*product.instruction, info_.architecture)) {
            product_by_model(product, with_policies(claimed->model, *policies_));
        } else if (auto scaled = claimed_scaled_model(*product.instruction, info_.architecture)) {
            scaled->model.unscaled = with_policies(scaled->model.unscaled, *policies_);
            product_by_model(product, scaled->model);
        } else {
            expected_product(product, info_.architecture);
        }
    }

    const PolicySet* policies_;
    DeviceInfo info_;
};

class UnitExecutor final : public Executor {
  public:
    UnitExecutor(std::string name, int architecture, std::function<void(HostProduct&)> compute)
        : compute_(std::move(compute)) {
        info_.name = std::move(name);
        info_.architecture = architecture;
    }
    [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  private:
    void compute(HostProduct& product) const override { compute_(product); }

    std::function<void(HostProduct&)> compute_;
    DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Executor> open_unit_device(std::string name, int architecture,
                                           std::function<void(HostProduct& product)> compute) {
    return std::make_unique<UnitExecutor>(std::move(name), architecture, std::move(compute));
}

std::unique_ptr<Executor> open_software_device(int architecture, const PolicySet* policies,
                                               std::uint64_t memory_bytes) {
    return std::make_unique<SoftwareExecutor>(architecture, policies, memory_bytes);
}

}  // namespace ulp::gpu
