// Operands in memory: copies without gaps, parts of them, loops over them on all threads.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "softfloat/matrix_view.hpp"
#include "softfloat/support/float_environment.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {

/// Rows of numbers in memory, `next_row` apart.
struct Stretch {
    float* data;
    std::int64_t rows, cols, next_row;
};

/// The view's rows without gaps, each filled up with zeros to `width` numbers.
std::pmr::vector<float> gathered(const MatrixView& view, std::int64_t width,
                                 std::pmr::memory_resource* memory = std::pmr::get_default_resource());

/// f(first, last) for parts of [0, count), on all threads where they are worth it. `cost` is what one of the count
/// takes, in simple operations; what f computes must not depend on the parts. The processor
/// rounds to nearest there and keeps subnormal numbers, whatever the caller's control register says.
template <class Function>
void each_part(std::int64_t count, std::int64_t cost, const Function& f) {
    constexpr std::int64_t worth = std::int64_t{1} << 16;
    const std::int64_t grain = worth / (cost < 1 ? 1 : cost) + 1;
    const std::int64_t parts = (count + grain - 1) / grain;
    if (!worth_threads(parts > 3)) {
        const support::FloatEnvironment own;
        if (count > 0) f(std::int64_t{0}, count);
        return;
    }
#pragma omp parallel for schedule(static)
    for (std::int64_t part = 0; part < parts; ++part) {
        const support::FloatEnvironment own;
        f(part * grain, (part + 1) * grain < count ? (part + 1) * grain : count);
    }
}

}  // namespace ulp
