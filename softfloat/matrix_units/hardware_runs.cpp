#include "softfloat/matrix_units/hardware_runs.hpp"

#include <array>

namespace ulp {
namespace {

/// Made by gpu/hardware_runs.sh from the counts in tests/recordings; a test compares.
constexpr auto runs = std::to_array<HardwareRun>({
#include "softfloat/matrix_units/hardware_runs.inc"
});

}  // namespace

std::optional<std::string> seen_on_hardware(std::string_view key) {
    std::string text;
    for (const HardwareRun& run : runs) {
        if (run.key != key) continue;
        text += text.empty() ? "" : " and ";
        text += std::string(run.blocks) + " blocks on " + std::string(run.device);
    }
    if (text.empty()) return std::nullopt;
    return text + ", none differs";
}

}  // namespace ulp
