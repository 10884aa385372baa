#include <fmt/format.h>

#include <charconv>

#include "gpu/devices/executor.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {

std::unique_ptr<Executor> open_device(std::string_view spec) {
    if (spec == "cuda") return open_cuda_device();
    constexpr std::string_view prefix = "software:sm_";
    if (spec.starts_with(prefix)) {
        const std::string_view digits = spec.substr(prefix.size());
        int architecture = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), architecture);
        if (error == std::errc{} && end == digits.data() + digits.size()) return open_software_device(architecture);
    }
    throw UsageError(fmt::format("no device '{}'; choose cuda, or software:sm_90 and the like for a dry run", spec));
}

}  // namespace ulp::gpu
