// What a format loses of fp32 numbers, written once over a vector kit (softfloat/vector/). Included by
// format_losses_*.cpp.
//
// A magnitude x with exponent E (at least emin) is rounded by one addition:
//
//     c = 2^(E + cut)            so that the last place of fp32 numbers from c on is the format's last place at x
//     rounded = (x + c) - c      the addition rounds to nearest even as the format does; the subtraction is exact
//
// The error x - rounded is a number of fp32, and its square one of fp64, so only the sums round.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/kernels/format_losses.hpp"
#include "engine/kernels/lanes.hpp"

namespace ulp {
namespace {

template <class Vec>
std::uint32_t largest_of_lanes(typename Vec::Int x) {
    std::uint32_t lanes[Vec::lanes];
    Vec::store(lanes, x);
    std::uint32_t largest = 0;
    for (const std::uint32_t lane : lanes) largest = lane > largest ? lane : largest;
    return largest;
}

template <class Vec>
void scan_words(const float* values, std::size_t count, LossScan* scan) {
    const auto magnitude_bits = Vec::set(0x7FFFFFFF);
    const auto fraction_bits = Vec::set(0x007FFFFF);
    const auto zero = Vec::set(0);
    const auto one = Vec::set(1);
    auto largest = zero;
    auto powers = zero;
    auto zeros = zero;
    for (std::size_t i = 0; i < count; i += Vec::lanes) {
        const auto size = Vec::bit_and(Vec::load(values + i), magnitude_bits);
        largest = Vec::max(largest, size);
        zeros = Vec::add(zeros, Vec::where(Vec::equal(size, zero), one));
        powers = Vec::bit_or(powers, Vec::where(Vec::equal(Vec::bit_and(size, fraction_bits), zero), size));
    }
    scan->largest = largest_of_lanes<Vec>(largest);
    scan->powers = largest_of_lanes<Vec>(powers);
    scan->zeros = sum_of_lanes<Vec>(zeros);
}

/// Registers that hold loss_sums numbers.
template <class Vec>
struct DoubleSums {
    static constexpr int registers = 2 * loss_sums / Vec::lanes;
    typename Vec::Double sums[registers];

    DoubleSums() {
        for (auto& each : sums) each = Vec::set_double(0);
    }
    void add(int at, typename Vec::Float x) {
        sums[at] = Vec::add(sums[at], Vec::widen_low(Vec::as_int(x)));
        sums[at + 1] = Vec::add(sums[at + 1], Vec::widen_high(Vec::as_int(x)));
    }
    /// The squares are exact.
    void add_squares(int at, typename Vec::Float x) {
        const auto low = Vec::widen_low(Vec::as_int(x));
        const auto high = Vec::widen_high(Vec::as_int(x));
        sums[at] = Vec::add(sums[at], Vec::mul(low, low));
        sums[at + 1] = Vec::add(sums[at + 1], Vec::mul(high, high));
    }
    void store(double* to) const {
        for (int i = 0; i < registers; ++i) Vec::store(to + i * (Vec::lanes / 2), sums[i]);
    }
};

template <class Vec, bool all_inside>
void count_losses(const LossLimits& limits, const float* values, std::size_t count, LossSums* result) {
    using Int = typename Vec::Int;
    const Int magnitude_bits = Vec::set(0x7FFFFFFF);
    const Int exponent_bits = Vec::set(0x7F800000);
    const Int one = Vec::set(1);
    const Int kept = Vec::set(limits.kept_at - 1);
    const Int normal = Vec::set(limits.normal_at - 1);
    const Int overflow = Vec::set(limits.overflow_at);
    const Int lowest = Vec::set(limits.lowest_exponent);
    const Int cut = Vec::set(limits.cut);
    Int lost = Vec::set(0);
    Int small = Vec::set(0);
    Int worst = Vec::set(0);
    DoubleSums<Vec> relative, signal, noise;
    for (std::size_t i = 0; i < count; i += loss_sums) {
        for (int j = 0; j < loss_sums / Vec::lanes; ++j) {
            Int size = Vec::bit_and(Vec::load(values + i + j * Vec::lanes), magnitude_bits);
            if constexpr (!all_inside) size = Vec::where(Vec::greater(overflow, size), size);
            const Int before = Vec::sub(size, one);  // the largest word for zeros
            lost = Vec::add(lost, Vec::where(Vec::greater_unsigned(kept, before), one));
            small = Vec::add(small, Vec::where(Vec::greater_unsigned(normal, before), one));
            const auto x = Vec::as_float(size);
            const auto c = Vec::as_float(Vec::add(Vec::max(Vec::bit_and(size, exponent_bits), lowest), cut));
            const auto difference = Vec::sub(x, Vec::sub(Vec::add(x, c), c));
            const auto error = Vec::as_float(Vec::bit_and(Vec::as_int(difference), magnitude_bits));
            const auto share = Vec::div(error, Vec::as_float(Vec::max(size, one)));
            worst = Vec::max(worst, Vec::as_int(share));
            relative.add(2 * j, share);
            signal.add_squares(2 * j, x);
            noise.add_squares(2 * j, error);
        }
    }
    result->lost = sum_of_lanes<Vec>(lost);
    result->small = sum_of_lanes<Vec>(small);
    const std::uint32_t worst_word = largest_of_lanes<Vec>(worst);
    __builtin_memcpy(&result->worst, &worst_word, sizeof worst_word);
    relative.store(result->relative);
    signal.store(result->signal);
    noise.store(result->noise);
}

template <class Vec>
constexpr LossKernels make_loss_kernels() {
    return {scan_words<Vec>, count_losses<Vec, true>, count_losses<Vec, false>};
}

}  // namespace
}  // namespace ulp
