// What fits into the memory of this machine, said before the system kills the process for it.
#pragma once

#include <string>

namespace ulp {

/// Throws a std::bad_alloc whose what() is "out of memory: <what> of 26.2 GB beside 1.3 GB in tensors, on a machine
/// with 16.8 GB; use smaller sizes" if `bytes` and `beside` are more than memory and swap. `always`: throws in any
/// case.
void require_memory(double bytes, const char* what, double beside = 0, bool always = false);

}  // namespace ulp
