#include "engine/tensor/rounded_sums.hpp"

#include <algorithm>

#include "engine/tensor/parallel.hpp"
#include "engine/tensor/steps.hpp"

namespace ulp {
namespace {

/// A sum of two numbers of at most 11 bits may be rounded to fp32 first: 24 >= 2 * 11 + 2, and where it is subnormal in
/// the format it is a multiple of the format's smallest number, and exact.
bool may_go_through_fp32(const ComputeFormat& format) {
    return format.format.precision() <= 11 && !format.options.flush_inputs;
}

template <class Real>
void add_step_by_step(std::span<const Real> from, const ComputeFormat& format, Real* to) {
    with_steps<Real>(format, [&](const auto& s) {
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = s.add(to[i], from[i]);
    });
}

void add_and_round(std::span<const float> from, const ComputeFormat& format, float* to) {
    constexpr std::size_t part = 4096;  // added and rounded while it is in the nearest cache
    for (std::size_t first = 0; first < from.size(); first += part) {
        const std::size_t last = std::min(first + part, from.size());
        for (std::size_t i = first; i < last; ++i) to[i] = to[i] + from[i];
        round_all(format.format, {to + first, last - first}, format.options);
    }
}

/// add(part of from, part of to) on all threads; `cost` is that of one number.
template <class Real, class Function>
void in_parts(std::span<const Real> from, Index cost, Real* to, const Function& add) {
    in_parallel(static_cast<Index>(from.size()), cost, [&](Index first, Index last) {
        add(from.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)), to + first);
    });
}

}  // namespace

void add_rounded(std::span<const float> from, const ComputeFormat& format, float* to) {
    // A sum of fp32 numbers, and one that is rounded in vectors, is less work than waking a thread where a recurrent
    // net adds up the gradients of its weights.
    const bool through_fp32 = may_go_through_fp32(format);
    const Index cost = format == ComputeFormat{} ? 1 : through_fp32 ? 2 : 16;
    in_parts(from, cost, to, [&](std::span<const float> some, float* there) {
        through_fp32 ? add_and_round(some, format, there) : add_step_by_step(some, format, there);
    });
}
void add_rounded(std::span<const double> from, const ComputeFormat& format, double* to) {
    in_parts(from, 4, to, [&](std::span<const double> some, double* there) { add_step_by_step(some, format, there); });
}

}  // namespace ulp
