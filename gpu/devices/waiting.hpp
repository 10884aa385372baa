// Waiting with a limit. No CUDA needed, so that it can be tested anywhere.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace ulp::gpu {

/// Asks `done` until it is true, at first without pauses, then with ones of up to a millisecond. False: `seconds`
/// passed.
template <class Done>
bool wait_for(const Done& done, double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    for (int asked = 0; !done(); ++asked) {
        if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) return false;
        if (asked > 1000) std::this_thread::sleep_for(std::chrono::microseconds(std::min(asked - 1000, 1000)));
    }
    return true;
}

}  // namespace ulp::gpu
