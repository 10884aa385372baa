#include "engine/watching/watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
#include <type_traits>

#include "engine/tensor/rounder.hpp"
#include "engine/watching/histogram.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp::inline ULPLAB_MODE {

std::string_view name_of(TensorRole role) {
    switch (role) {
        case TensorRole::weight: return "weight";
        case TensorRole::activation: return "activation";
        case TensorRole::weight_gradient: return "weight gradient";
        case TensorRole::activation_gradient: return "activation gradient";
    }
    return "";
}

RoundingCounts& CountsByPlace::operator[](const std::string& place) {
    if (next_ >= entries_.size() || entries_[next_].first != place) {
        const auto [found, is_new] = index_.try_emplace(place, entries_.size());
        if (is_new) entries_.emplace_back(std::piecewise_construct, std::tuple(place), std::tuple());
        next_ = found->second;
    }
    const auto after = [&](std::size_t i) { return i + 1 < entries_.size() ? i + 1 : 0; };
    RoundingCounts& counts = entries_[next_].second;
    next_ = after(next_);
    __builtin_prefetch(entries_[next_].first.data());
    __builtin_prefetch(&entries_[after(next_)]);
    return counts;
}

namespace {

std::string bits_text(float x) { return fmt::format("{} ({:#010x})", x, std::bit_cast<std::uint32_t>(x)); }

/// What the numbers were before they were rounded, and after.
struct Tallies {
    Tally before, after;
};

/// The numbers' tally; adds them to the histogram where there is one, which then tells it.
template <class Number>
Tally counted(std::span<const Number> numbers, ExponentHistogram* histogram) {
    if constexpr (std::is_same_v<Number, float>) {
        if (histogram != nullptr) {
            const auto special = [&] { return histogram->infinities() + histogram->nans(); };
            const std::int64_t zeros = histogram->zeros();
            const std::int64_t special_before = special();
            histogram->add(numbers);
            return {histogram->zeros() - zeros,
                    static_cast<std::int64_t>(numbers.size()) - (special() - special_before)};
        }
    }
    return tally_of(numbers);
}

/// Counts; where `format` is given, also before it rounds, each part while it is in the processor's nearest memory.
Tallies tally_and_round(std::span<Real> values, const ComputeFormat* format, ExponentHistogram* histogram) {
    const std::size_t part = format == nullptr ? 32768 : 8192;
    const auto parts = static_cast<Index>((values.size() + part - 1) / part);
    Tallies all;
    const auto count = [&](Index i, Tallies& own, ExponentHistogram* own_histogram) {
        const std::size_t first = static_cast<std::size_t>(i) * part;
        const std::span<Real> numbers = values.subspan(first, std::min(part, values.size() - first));
        if (format != nullptr) {
            own.before += tally_of(std::span<const Real>(numbers));
            round_all(format->format, numbers, Tensor::options_of(*format));
        }
        own.after += counted(std::span<const Real>(numbers), own_histogram);
    };
    if (!worth_threads(values.size() > 262144)) {
        for (Index i = 0; i < parts; ++i) count(i, all, histogram);
    } else {
#pragma omp parallel
        {
            Tallies own;
            ExponentHistogram own_histogram;
#pragma omp for schedule(static) nowait
            for (Index i = 0; i < parts; ++i) count(i, own, histogram == nullptr ? nullptr : &own_histogram);
#pragma omp critical(tallies)
            {
                all.before += own.before, all.after += own.after;
                if (histogram != nullptr) histogram->add(own_histogram);
            }
        }
    }
    if (format == nullptr) all.before = all.after;
    return all;
}

}  // namespace

bool Watch::store(std::string_view label, const Pass& pass, Tensor& result, const ComputeFormat& format) {
    if (!count_rounding && !find_nonfinite && !histograms) {
        result.round_to_format(format);
        return true;
    }
    RoundingCounts* counts = nullptr;
    if (count_rounding || histograms) {
        place_.assign(label).append(" ").append(pass.name).append(pass.of);
        counts = &rounding[place_];
    }
    const Tallies tallies = tally_and_round(result.values(), result.rounded_by(format) ? &format : nullptr,
                                            histograms ? &counts->exponents : nullptr);
    result.set_format(format.format);
    if (counts != nullptr) {
        counts->elements += result.size();
        counts->overflows += tallies.before.finite - tallies.after.finite;
        counts->underflows += tallies.after.zeros - tallies.before.zeros;
        counts->zeros += tallies.after.zeros;
    }
    return tallies.after.finite == result.size();
}

namespace {

/// "element 7", or "element 7 (1, 3)" in more than one dimension.
std::string place_of(Index element, const Shape& shape) {
    if (shape.size() < 2) return fmt::format("element {}", element);
    std::string places;
    Index volume = 1;
    for (const Index extent : shape) volume *= extent;
    Index rest = element;
    for (const Index extent : shape) {
        volume /= extent;
        places += fmt::format("{}{}", places.empty() ? "" : ", ", rest / volume);
        rest %= volume;
    }
    return fmt::format("element {} ({})", element, places);
}

/// "2^-10", or nothing for another number.
std::string power_text(double x) {
    int exponent = 0;
    return std::frexp(x, &exponent) == 0.5 ? fmt::format(" (2^{})", exponent - 1) : "";
}

}  // namespace

std::string Remedy::text() const {
    switch (kind) {
        case Kind::none:
            return "none of the loss scales, operations in fp32, eps and learning rates that could help makes this "
                   "step finite";
        case Kind::loss_scale:
            return fmt::format("a loss scale of at most {:g}{}: with it every number of this step is finite", limit,
                               power_text(limit));
        case Kind::in_fp32:
            return fmt::format("in fp32: {}{}; then every number of this step is finite", fmt::join(operations, ", "),
                               products ? ", and operands and sums of products" : "");
        case Kind::eps:
            return fmt::format(
                "eps of at least {:g}{}: with it every update of this step is finite, and at most {:.3g} learning "
                "rates",
                limit, power_text(limit), largest_update);
        case Kind::learning_rate:
            return fmt::format("a learning rate of at most {:g}: with it every update of this step is finite", limit);
    }
    return "";
}

std::string NonFinite::text() const {
    std::string text = fmt::format("step {}, {}, {}: {} became {} in {}\n", step, label, pass, place_of(element, shape),
                                   bits_text(value), name_of(format));
    for (const SuspectOperand& operand : operands) {
        text += fmt::format("  {} {}: largest magnitude {}", operand.label, text_of(operand.shape),
                            bits_text(operand.largest));
        if (operand.value) text += fmt::format(", at this place {}", bits_text(*operand.value));
        if (operand.not_finite > 0) text += fmt::format(", {} infinities or NaNs of its own", operand.not_finite);
        text += "\n";
    }
    if (term) {
        text += fmt::format("  the sum of {} products is {:g}; the largest, number {}, is {} times {}\n", term->count,
                            term->sum, term->k, bits_text(term->a), bits_text(term->b));
    }
    for (const auto& [name, number] : numbers) text += fmt::format("  {}: {}\n", name, bits_text(number));
    if (remedy) text += fmt::format("  remedy: {}\n", remedy->text());
    return text;
}

}  // namespace ulp::inline ULPLAB_MODE
