#include "engine/tensor/memory.hpp"

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <cmath>
#include <memory>
#include <new>

namespace ulp {
namespace {

/// What std::bad_alloc does not say.
class OutOfMemory : public std::bad_alloc {
  public:
    explicit OutOfMemory(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
    [[nodiscard]] const char* what() const noexcept override { return text_->c_str(); }

  private:
    std::shared_ptr<const std::string> text_;
};

double memory_of_machine() {
    struct sysinfo info {};
    if (sysinfo(&info) != 0) return HUGE_VAL;
    return (static_cast<double>(info.totalram) + static_cast<double>(info.totalswap)) * info.mem_unit;
}

}  // namespace

void require_memory(double bytes, const char* what, double beside, bool always) {
    static const double most = memory_of_machine();
    if (bytes + beside <= most && !always) return;
    throw OutOfMemory(fmt::format(
        "out of memory: {} of {:.1f} GB beside {:.1f} GB in tensors, on a machine with {:.1f} GB; use smaller "
        "sizes",
        what, bytes / 1e9, beside / 1e9, most / 1e9));
}

}  // namespace ulp
