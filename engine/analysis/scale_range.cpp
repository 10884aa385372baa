#include "engine/analysis/scale_range.hpp"

#include <algorithm>
#include <cmath>

namespace ulp {
namespace {

constexpr std::int64_t one_lost_of = 1000;

std::int64_t nonzeros(const Binades& binades) {
    std::int64_t sum = 0;
    for (const auto& [exponent, binade] : binades) sum += binade.numbers;
    return sum;
}

int smallest_scale(const Binades& all, const FloatFormat& format) {
    const std::int64_t total = nonzeros(all);
    int n = format.smallest_exponent() - all.begin()->first;  // nothing is lost
    while (lost_under_scale(all, format, n - 1) * one_lost_of <= total) --n;
    return n;
}

/// The names of tensors by how many numbers they lose, most first.
std::vector<std::string> losers(const std::vector<NamedCounts>& tensors, const FloatFormat& format, int n) {
    std::vector<std::pair<std::int64_t, std::string>> found;
    for (const NamedCounts& tensor : tensors) {
        const std::int64_t lost = lost_under_scale(tensor.counts.binades, format, n);
        if (lost > 0) found.emplace_back(lost, tensor.name);
    }
    std::ranges::stable_sort(found, std::ranges::greater{}, [](const auto& each) { return each.first; });
    std::vector<std::string> names;
    for (auto& [lost, name] : found) names.push_back(std::move(name));
    return names;
}

}  // namespace

std::int64_t lost_under_scale(const Binades& binades, const FloatFormat& format, int n) {
    const int tie = format.smallest_exponent() - 1 - n;  // half of the smallest number, which rounds to zero itself
    std::int64_t lost = 0;
    for (const auto& [exponent, binade] : binades) {
        if (exponent < tie) lost += binade.numbers;
        if (exponent == tie) lost += binade.powers;
    }
    return lost;
}

bool overflows_under_scale(double absmax, const FloatFormat& format, int n) {
    return std::ldexp(absmax, n) >= overflow_from(format);
}

int largest_scale(double absmax, const FloatFormat& format) {
    int n = format.emax() - std::ilogb(absmax) + 1;
    while (overflows_under_scale(absmax, format, n)) --n;
    return n;
}

ScaleRange scale_range(const std::vector<NamedCounts>& tensors, const FloatFormat& format) {
    Binades all;
    double absmax = 0;
    for (const NamedCounts& tensor : tensors) {
        absmax = std::max(absmax, tensor.counts.absmax);
        for (const auto& [exponent, binade] : tensor.counts.binades) {
            all[exponent].numbers += binade.numbers;
            all[exponent].powers += binade.powers;
        }
    }
    if (all.empty()) return {};
    ScaleRange range;
    range.smallest = smallest_scale(all, format);
    range.largest = largest_scale(absmax, format);
    if (*range.smallest <= *range.largest) {
        range.recommended = std::max(*range.smallest, *range.largest - scale_headroom);
    }
    range.limits_smallest = losers(tensors, format, *range.smallest - 1);
    for (const NamedCounts& tensor : tensors) {
        if (overflows_under_scale(tensor.counts.absmax, format, *range.largest + 1)) {
            range.limits_largest.push_back(tensor.name);
        }
    }
    return range;
}

}  // namespace ulp
