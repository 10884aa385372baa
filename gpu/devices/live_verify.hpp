// Recordings of GPUs, run again on the device at hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/devices/executor.hpp"
#include "softfloat/lab/recordings.hpp"

namespace ulp::gpu {

/// A recorded set on one instruction of the device.
struct LiveComparison {
    std::string set;          // "H100 fp16->fp32"
    std::string instruction;  // that ran
    std::uint64_t rows = 0;
    std::uint64_t equal_recorded = 0;
    bool must_equal_recorded = false;  // the set is of this architecture and made by this family of instructions
    std::uint64_t equal_model = 0;
    bool has_model = false;
    std::string first;  // the first row that should agree and does not
    [[nodiscard]] bool good() const {
        return (!must_equal_recorded || equal_recorded == rows) && (!has_model || equal_model == rows);
    }
};

/// The rows of a set on the device's instructions of its formats, one comparison a family.
std::vector<LiveComparison> run_recorded_set(const Executor& executor, const RecordedSet& set);

}  // namespace ulp::gpu
