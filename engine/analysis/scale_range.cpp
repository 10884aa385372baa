#include "engine/analysis/scale_range.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "engine/analysis/tensor_counts.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"

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
    const int zero = *zero_up_to(format);
    int n = zero + 1 - all.begin()->first;  // nothing is lost
    while (lost_up_to(all, zero - (n - 1)) * one_lost_of <= total) --n;
    return n;
}

/// The names of tensors by how many numbers they lose, most first.
std::vector<std::string> losers(const std::vector<NamedCounts>& tensors, const FloatFormat& format, int n) {
    std::vector<std::pair<std::int64_t, std::string>> found;
    const int tie = *zero_up_to(format) - n;
    for (const NamedCounts& tensor : tensors) {
        const std::int64_t lost = lost_up_to(tensor.counts.binades, tie);
        if (lost > 0) found.emplace_back(lost, tensor.name);
    }
    std::ranges::stable_sort(found, std::ranges::greater{}, [](const auto& each) { return each.first; });
    std::vector<std::string> names;
    for (auto& [lost, name] : found) names.push_back(std::move(name));
    return names;
}

}  // namespace

std::optional<int> zero_up_to(const FloatFormat& format) {
    if (!format.is_table()) return format.smallest_exponent() - 1;
    const auto becomes_zero = [&](float x) { return round_to(format, x) == 0 && round_to(format, -x) == 0; };
    int e = formats::fp32.smallest_exponent();
    while (e < formats::fp32.emax() && becomes_zero(std::ldexp(1.0F, e))) ++e;
    const float tie = std::ldexp(1.0F, --e), above = std::nextafter(tie, 2 * tie);
    const bool ends = tie > 0 && round_to(format, above) != 0 && round_to(format, -above) != 0;
    return ends ? std::optional(e) : std::nullopt;
}

std::int64_t lost_up_to(const Binades& binades, int tie) {
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
    if (!zero_up_to(format)) {
        throw UsageError(fmt::format(
            "a loss scale needs a format in which numbers up to a power of two become zero, and {} is not one; choose "
            "another --target",
            name_of(format)));
    }
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

namespace {

/// Formats that hold negative numbers and zero.
bool can_hold_tensors(const FloatFormat& format) { return format.has_sign && format.has_subnormals; }

bool can_be_judged(const Quantization& how) {
    return how.transform.size == 0 && !is_stochastic(how.elements.rounding.rounding);
}

/// A format beyond the rows, by name or file, that holds tensors and lies within fp32.
std::optional<NamedFormat> further_format(const std::string& name) {
    try {
        const NamedFormat found = named_format(name);
        const FloatFormat& f = found.format;
        const bool within_fp32 =
            f.emax() <= formats::fp32.emax() && f.smallest_exponent() >= formats::fp32.smallest_exponent();
        if (f.is_table() || (can_hold_tensors(f) && within_fp32)) return found;
    } catch (const std::invalid_argument&) {
    }
    return std::nullopt;
}

struct StoredType {
    std::string_view name, numpy;
    FloatFormat format;
};
constexpr std::array stored_types = {
    StoredType{"F64", "<f8", formats::fp64},          StoredType{"F32", "<f4", formats::fp32},
    StoredType{"F16", "<f2", formats::fp16},          StoredType{"BF16", "", formats::bf16},
    StoredType{"F8_E4M3", "", formats::e4m3},         StoredType{"F8_E5M2", "", formats::e5m2},
    StoredType{"F8_E4M3FNUZ", "", formats::e4m3fnuz}, StoredType{"F8_E5M2FNUZ", "", formats::e5m2fnuz},
    StoredType{"F8_E8M0", "", formats::e8m0}};

}  // namespace

JudgedFormat judged_format(const std::string& name) {
    std::vector<std::string> known;
    for (const NamedFormat& row : named_formats()) {
        if (!can_hold_tensors(row.format)) continue;
        if (row.name == name) return {name, row.format};
        known.emplace_back(row.name);
    }
    for (const NamedQuantization& row : named_quantizations()) {
        if (!can_be_judged(row.how)) continue;
        if (row.name == name) return {name, row.how.element, row.how};
        known.push_back(row.name);
    }
    if (const auto further = further_format(name)) return {std::string(further->name), further->format};
    throw UsageError(fmt::format("no format '{}' for tensors; there are {}", name, fmt::join(known, ", ")));
}

std::optional<FloatFormat> format_of_type(const std::string& type) {
    for (const StoredType& row : stored_types) {
        if (row.name == type || row.numpy == type) return row.format;
    }
    return std::nullopt;
}

std::optional<FloatFormat> counted_format(const std::string& type) {
    if (type == "F4") return formats::e2m1;
    if (type == "F6_E2M3") return formats::e2m3;
    if (type == "F6_E3M2") return formats::e3m2;
    return format_of_type(type);
}

}  // namespace ulp
