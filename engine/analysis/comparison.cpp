#include "engine/analysis/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "engine/analysis/tensor_counts.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/round.hpp"

namespace ulp {

namespace {

/// Codes in the order of their numbers: neighbours differ by 1, and both zeros are 0.
std::int64_t place_of(const FloatFormat& format, std::uint64_t code) {
    const auto magnitude = static_cast<std::int64_t>(code & format.magnitude_mask());
    return format.has_sign && (code >> (format.code_bits() - 1) & 1) != 0 ? -magnitude : magnitude;
}

double number_of(const FloatFormat& format, std::uint64_t code) {
    if (format == formats::fp32) return std::bit_cast<float>(static_cast<std::uint32_t>(code));
    if (format == formats::fp64) return std::bit_cast<double>(code);
    Context exact;
    return std::bit_cast<double>(convert_bits(formats::fp64, format, code, exact));
}

void compare_numbers(const FloatFormat& format, std::uint64_t x, std::uint64_t y, TensorDifference& found) {
    const double distance = std::fabs(number_of(format, x) - number_of(format, y));
    if (std::isfinite(distance)) found.largest_difference = std::max(found.largest_difference, distance);
    if (is_nan(format, x) || is_nan(format, y)) {
        found.only_one_nan += is_nan(format, x) != is_nan(format, y) ? 1 : 0;
        return;
    }
    const std::int64_t a = place_of(format, x);
    const std::int64_t b = place_of(format, y);
    const std::uint64_t ulps = a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)
                                     : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
    if (ulps <= found.most_ulps) return;
    found.most_ulps = ulps;
    found.most_ulps_at = found.count;
}

TensorDifference difference(const InputTensor& tensor, const InputTensor& other) {
    const std::optional<FloatFormat> format = format_of_type(tensor.stored.type);
    const auto bytes = static_cast<std::size_t>(format ? format->storage_bits() / 8 : 1);
    TensorDifference found{tensor.name, tensor.step};
    const PieceReader next = tensor.stored.open();
    const PieceReader next_other = other.stored.open();
    for (std::string_view x = next(), y = next_other(); !x.empty(); x = next(), y = next_other()) {
        const auto items = static_cast<std::int64_t>(x.size() / bytes);
        if (x == y) {
            found.count += items;
            continue;
        }
        for (std::size_t i = 0; i < x.size(); i += bytes, ++found.count) {
            std::uint64_t a = 0, b = 0;
            std::memcpy(&a, x.data() + i, bytes);
            std::memcpy(&b, y.data() + i, bytes);
            if (a == b) continue;
            if (found.differ++ == 0) {
                found.first = found.count;
                found.first_bits = a;
                found.first_other_bits = b;
            }
            if (format) compare_numbers(*format, a, b, found);
        }
    }
    return found;
}

void require_same_kind(const InputTensor& tensor, const InputTensor& other) {
    if (tensor.stored.type == other.stored.type && tensor.stored.shape == other.stored.shape) return;
    throw DataError(fmt::format(
        "{}: {} is {} of shape ({}), in {} it is {} of shape ({}); compare dumps of the same net", tensor.file.string(),
        printable(tensor.name), tensor.stored.type, fmt::join(tensor.stored.shape, ", "), other.file.string(),
        other.stored.type, fmt::join(other.stored.shape, ", ")));
}

}  // namespace

std::vector<TensorDifference> differences(const std::vector<InputTensor>& tensors,
                                          const std::vector<InputTensor>& others) {
    std::map<std::string, const InputTensor*> by_name;
    for (const InputTensor& other : others) by_name.emplace(other.name, &other);
    const bool one_each = tensors.size() == 1 && others.size() == 1;
    std::vector<TensorDifference> found;
    for (const InputTensor& tensor : tensors) {
        const auto partner = by_name.find(tensor.name);
        if (partner == by_name.end() && !one_each) {
            throw DataError(fmt::format("{}: {} has no partner in the second dump; compare dumps of the same net",
                                        tensor.file.string(), printable(tensor.name)));
        }
        const InputTensor& other = one_each ? others.front() : *partner->second;
        require_same_kind(tensor, other);
        found.push_back(difference(tensor, other));
    }
    if (others.size() > tensors.size()) {
        throw DataError(fmt::format("{}: the second dump has {} tensors, the first {}; compare dumps of the same net",
                                    others.front().file.string(), others.size(), tensors.size()));
    }
    return found;
}

namespace {

std::string step_name(const StepDrift& at) {
    return at.step ? fmt::format("step {}", *at.step) : "files without a step";
}

}  // namespace

std::vector<StepDrift> drift_over_steps(const std::vector<TensorDifference>& differences) {
    std::vector<StepDrift> drift;
    for (const TensorDifference& each : differences) {
        if (drift.empty() || drift.back().step != each.step) drift.push_back({each.step});
        StepDrift& now = drift.back();
        ++now.tensors;
        now.count += each.count;
        if (each.differ == 0) continue;
        if (now.tensors_differ++ == 0) now.first = each.name;
        now.differ += each.differ;
        now.most_ulps = std::max(now.most_ulps, each.most_ulps);
        now.largest_difference = std::max(now.largest_difference, each.largest_difference);
    }
    return drift;
}

std::string drift_sentence(const std::vector<StepDrift>& drift) {
    if (drift.size() < 2) return "";
    const auto first = std::ranges::find_if(drift, [](const StepDrift& each) { return each.differ > 0; });
    if (first == drift.end()) return fmt::format("The dumps are equal in all {} steps.", drift.size());
    std::string text =
        fmt::format("The dumps differ from {} on, first in {}", step_name(*first), printable(first->first));
    const StepDrift& last = drift.back();
    if (first->step == last.step) return text + ".";
    if (last.differ == 0) return text + fmt::format("; in {}, the last, they are equal again.", step_name(last));
    text += fmt::format(": there by at most {:.3g}, in {}, the last, by at most {:.3g}", first->largest_difference,
                        step_name(last), last.largest_difference);
    if (first->largest_difference > 0 && last.largest_difference > first->largest_difference) {
        text += fmt::format(" ({:.3g} times as much)", last.largest_difference / first->largest_difference);
    }
    return text + ".";
}

}  // namespace ulp
