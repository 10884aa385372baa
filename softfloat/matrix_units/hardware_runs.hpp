// What bulk runs on GPUs counted for the rows of the model tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ulp {

/// All runs of a row on one GPU: every block was as the row says.
struct HardwareRun {
    std::string_view key;     // "sm_90:mma.fp16.fp32"
    std::string_view device;  // GPU, driver, CUDA, date
    std::string_view blocks;  // "1.2e11"
};

/// "1.2e11 blocks on NVIDIA H100 80GB HBM3, driver 580.159.04, CUDA 13.0, 2026-11-22, none differs", if the row was
/// seen.
std::optional<std::string> seen_on_hardware(std::string_view key);

}  // namespace ulp
