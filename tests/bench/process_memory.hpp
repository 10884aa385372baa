// The memory of this process, as Linux counts it.
#pragma once

#include <malloc.h>

#include <fstream>
#include <string>

#include "engine/tensor/storage.hpp"

namespace ulp::bench {

/// A line of /proc/self/status ("VmHWM:"), in bytes; 0 where there is none.
inline double process_bytes(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string name; status >> name; status.ignore(1000, '\n')) {
        double kibibytes = 0;
        if (name == field && status >> kibibytes) return kibibytes * 1024;
    }
    return 0;
}

/// The process's peak memory starts again at what it holds now (Linux: clear_refs, value 5).
inline double restart_process_peak() {
    restart_storage_peak();
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";
    return process_bytes("VmRSS:");
}

}  // namespace ulp::bench
