// GPUs and generations by name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ulp {

/// "sm_90" for "H100", "hopper", "sm_90". Throws std::invalid_argument that lists the names.
std::string architecture_of(std::string_view gpu);

/// The GPUs and generations that architecture_of knows, with their architectures.
struct NamedGpu {
    std::string_view name;
    std::string_view architecture;
};
std::span<const NamedGpu> named_gpus();

}  // namespace ulp
