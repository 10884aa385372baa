#include "experiments/binade_histogram.hpp"

#include <bit>
#include <cmath>

#include "softfloat/round.hpp"

namespace ulp {

void BinadeHistogram::add(std::span<const float> values) {
    constexpr float smallest_normal = 0x1p-14F;
    for (const float value : values) {
        ++total_;
        const float magnitude = std::fabs(value);
        if (magnitude == 0) {
            ++zeros_;
        } else if (std::isfinite(magnitude)) {
            ++bins_[std::ilogb(magnitude)];
            const float rounded = round_to(formats::fp16, magnitude);
            lost_ += rounded == 0 ? 1 : 0;
            subnormal_ += rounded > 0 && rounded < smallest_normal ? 1 : 0;
        }
    }
}

std::int64_t BinadeHistogram::below(int exponent) const {
    std::int64_t sum = 0;
    for (auto bin = bins_.begin(); bin != bins_.lower_bound(exponent); ++bin) sum += bin->second;
    return sum;
}

Series BinadeHistogram::series(std::string name) const {
    Series series{std::move(name), formats::fp64, {}};
    for (int bin = first_shown_bin; bin <= last_shown_bin; ++bin) {
        const auto found = bins_.find(bin);
        series.points.push_back({static_cast<double>(bin), share(found == bins_.end() ? 0 : found->second)});
    }
    return series;
}

bool BinadeHistogram::equals_shifted(const BinadeHistogram& other, int binades) const {
    std::map<int, std::int64_t> moved;
    for (const auto& [bin, count] : bins_) moved[bin + binades] = count;
    return total_ == other.total_ && zeros_ == other.zeros_ && moved == other.bins_;
}

}  // namespace ulp
