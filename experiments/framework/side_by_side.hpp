// Runs that have nothing to do with each other, on the machine's cores. The results do not depend on how many there
// are.
#pragma once

#include <functional>
#include <string>

namespace ulp {

/// Whether runs whose products go through this backend may stand side by side: those of software ones.
bool may_run_side_by_side(const std::string& backend);

/// run(0) ... run(count - 1), side by side if `parallel`. The last is begun first: what is listed first, plain fp32, is
/// the quickest and fills the gap at the end. `progress` is told the share done; the first error is passed on.
void run_side_by_side(
    std::size_t count, bool parallel, const std::function<void(std::size_t)>& run,
    const std::function<void(double)>& progress = [](double) {});

}  // namespace ulp
