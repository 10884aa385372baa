#include "engine/watching/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/kernels/exponent_counts.hpp"
#include "softfloat/support/parallel.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {

std::int64_t add_exponents(std::span<const float> values, std::int64_t* fields, std::int64_t& zeros, Simd simd) {
    return kernels_of<ExponentKernels>(simd).count(values.data(), values.size(), fields, &zeros);
}

Tally tally_of(std::span<const float> values, Simd simd) {
    Tally tally;
    kernels_of<ExponentKernels>(simd).tally(values.data(), values.size(), &tally.zeros, &tally.finite);
    return tally;
}

float largest_magnitude(std::span<const float> values, Simd simd) {
    return std::bit_cast<float>(kernels_of<ExponentKernels>(simd).largest(values.data(), values.size()));
}

bool all_finite(std::span<const float> values, Simd simd) { return std::isfinite(largest_magnitude(values, simd)); }

Tally tally_of(std::span<const double> values) {
    constexpr std::uint64_t infinity = 0x7FF0000000000000;
    Tally tally;
    for (const double x : values) {
        tally.zeros += x == 0 ? 1 : 0;
        tally.finite += (std::bit_cast<std::uint64_t>(x) & infinity) != infinity ? 1 : 0;
    }
    return tally;
}

bool all_finite(std::span<const double> values) {
    return tally_of(values).finite == static_cast<std::int64_t>(values.size());
}

namespace {

constexpr std::size_t chunk = std::size_t{1} << 16;  // what one thread takes at a time
constexpr std::size_t worth = 4 * chunk;             // fewer are counted before another thread wakes

}  // namespace

void ExponentHistogram::add(std::span<const float> values) {
    if (!worth_threads(values.size() > worth)) return add_chunk(values);
    const auto chunks = static_cast<std::int64_t>((values.size() + chunk - 1) / chunk);
#pragma omp parallel
    {
        ExponentHistogram own;
#pragma omp for schedule(static) nowait
        for (std::int64_t c = 0; c < chunks; ++c) {
            const std::size_t first = static_cast<std::size_t>(c) * chunk;
            own.add_chunk(values.subspan(first, std::min(chunk, values.size() - first)));
        }
#pragma omp critical
        add(own);
    }
}

void ExponentHistogram::add_chunk(std::span<const float> values) {
    constexpr std::ptrdiff_t field_0 = -127 - lowest;  // where the field 0 would be counted
    if (add_exponents(values, counts_.data() + field_0, zeros_) == 0) return;
    // fp32's subnormals, infinities and NaNs need a second look, where there are any.
    for (const float x : values) {
        const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF;
        if (magnitude != 0 && magnitude < 0x00800000) {
            ++counts_[static_cast<std::size_t>(31 - std::countl_zero(magnitude))];
        } else if (magnitude == 0x7F800000) {
            ++infinities_;
        } else if (magnitude > 0x7F800000) {
            ++nans_;
        }
    }
}

void ExponentHistogram::add(const ExponentHistogram& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    zeros_ += other.zeros_;
    infinities_ += other.infinities_;
    nans_ += other.nans_;
}

std::int64_t ExponentHistogram::sum(int first, int last) const {
    std::int64_t result = 0;
    for (int e = std::max(first, lowest); e <= std::min(last, highest); ++e) result += at(e);
    return result;
}

std::int64_t ExponentHistogram::total() const { return sum(lowest, highest) + zeros_ + infinities_ + nans_; }

std::optional<int> ExponentHistogram::largest_exponent() const {
    for (int e = highest; e >= lowest; --e) {
        if (at(e) > 0) return e;
    }
    return std::nullopt;
}

}  // namespace ulp
