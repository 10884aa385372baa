// Loops on all threads. What a loop computes must not depend on how it is divided.
#pragma once

#include <omp.h>

#include <cstdint>

namespace ulp {

/// Whether a loop should run on all threads: if it is long, and its caller is not one of several threads already. A
/// one-thread region would give the same result, at the cost of two needless system calls.
inline bool worth_threads(bool is_long) { return is_long && omp_get_max_threads() > 1 && omp_in_parallel() == 0; }

/// f(i) for each i in [0, count), where `parallel` on all threads as they become free: of one i no other thread is
/// told, for it would only wait.
template <class Function>
void for_each_index(std::int64_t count, bool parallel, const Function& f) {
    if (!parallel || count < 2) {
        for (std::int64_t i = 0; i < count; ++i) f(i);
        return;
    }
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t i = 0; i < count; ++i) f(i);
}

}  // namespace ulp
