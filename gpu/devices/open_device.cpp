#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/devices/cuda_errors.hpp"
#include "gpu/devices/executor.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/support/read_number.hpp"

namespace ulp::gpu {
namespace {

/// Throws UsageError for an architecture without a row in the table of units: no model could answer for it.
void check_has_models(int architecture) {
    const std::string name = architecture_name(architecture);
    std::vector<std::string> known;
    for (const UnitRow& row : unit_table()) {
        if (row.architecture == name) return;
        const bool is_new = std::ranges::find(known, row.architecture) == known.end();
        if (is_new && row.architecture.starts_with("sm_")) known.push_back(row.architecture);
    }
    throw UsageError(
        fmt::format("no model of {} to stand in for that GPU; there are {}", name, fmt::join(known, ", ")));
}

}  // namespace

std::unique_ptr<Executor> open_device(std::string_view spec) {
    if (spec == "cuda") return open_cuda_device();
    constexpr std::string_view prefix = "software:sm_";
    if (spec.starts_with(prefix)) {
        const std::string_view rest = spec.substr(prefix.size());
        const std::string_view digits = rest.substr(0, rest.find(':'));
        const std::string_view state = digits.size() < rest.size() ? rest.substr(digits.size() + 1) : "0";
        const auto architecture = read_number<int>(digits);
        const auto memory_bytes = read_number<std::uint64_t>(state);
        const bool busy = state == "busy";
        if (architecture && (busy || memory_bytes)) {
            check_has_models(*architecture);
            if (busy) throw DataError(busy_failure("cudaSetDevice"));
            return open_software_device(*architecture, nullptr, *memory_bytes);
        }
    }
    throw UsageError(
        fmt::format("no device '{}'; choose cuda, or for a dry run software:sm_90 and the like (software:sm_90:BYTES "
                    "has so much memory, software:sm_90:busy is held by another program)",
                    spec));
}

}  // namespace ulp::gpu
