// The models in place of a GPU: for tests, and for dry runs of what needs hardware. Its results prove nothing, and its
// info and every recording made with it say so.
#include <fmt/format.h>

#include "gpu/executor.hpp"
#include "gpu/reference.hpp"

namespace ulp::gpu {
namespace {

class SoftwareExecutor final : public Executor {
  public:
    explicit SoftwareExecutor(int architecture) {
        info_.name = fmt::format("software model of {}", architecture_name(architecture));
        info_.architecture = architecture;
    }
    [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  private:
    void compute(HostProduct& product) const override { expected_product(product, info_.architecture); }

    DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Executor> open_software_device(int architecture) {
    return std::make_unique<SoftwareExecutor>(architecture);
}

}  // namespace ulp::gpu
