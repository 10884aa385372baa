#include "engine/histogram.hpp"

#include <algorithm>
#include <bit>

namespace ulp {

void ExponentHistogram::add(std::span<const float> values) {
    // By exponent field first; two tables in turn, so that equal neighbours do not wait for each other's count.
    std::array<std::array<std::int64_t, 256>, 2> fields{};
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto word = std::bit_cast<std::uint32_t>(values[i]);
        ++fields[i % 2][(word >> 23) & 0xFF];
    }
    for (std::size_t field = 1; field < 255; ++field) {
        counts_[field - 127 - static_cast<std::size_t>(lowest)] += fields[0][field] + fields[1][field];
    }
    // Zeros, fp32's subnormals, infinities and NaNs need a second look, where there are any.
    if (fields[0][0] + fields[1][0] + fields[0][255] + fields[1][255] == 0) return;
    for (const float x : values) {
        const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF;
        if (magnitude == 0) {
            ++zeros_;
        } else if (magnitude < 0x00800000) {
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

std::int64_t ExponentHistogram::subnormal_in(const FloatFormat& format) const {
    return sum(format.smallest_exponent(), format.emin() - 1);
}
std::int64_t ExponentHistogram::below(const FloatFormat& format) const {
    return sum(lowest, format.smallest_exponent() - 1);
}
std::int64_t ExponentHistogram::above(const FloatFormat& format) const { return sum(format.emax() + 1, highest); }

}  // namespace ulp
