#include "engine/tensor/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "engine/tensor/matrix.hpp"
#include "engine/tensor/rounder.hpp"
#include "engine/tensor/steps.hpp"

namespace ulp::inline ULPLAB_MODE {

std::string text_of(const Shape& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

Index volume(const Shape& shape) {
    constexpr Index most = Index{1} << 48;
    Index product = 1;
    for (const Index extent : shape) {
        if (extent < 0) throw std::invalid_argument(fmt::format("a tensor cannot have the shape {}", text_of(shape)));
        if (__builtin_mul_overflow(product, extent, &product) || product > most) {
            throw std::invalid_argument(
                fmt::format("a tensor of the shape {} has more than 2^48 numbers", text_of(shape)));
        }
    }
    return product;
}

namespace {

void require_volume(const Shape& shape, std::size_t size) {
    if (volume(shape) == static_cast<Index>(size)) return;
    throw std::invalid_argument(fmt::format("{} numbers do not fill the shape {}", size, text_of(shape)));
}

}  // namespace

Tensor::Tensor(Shape shape, const std::vector<Real>& values, const FloatFormat& format)
    : shape_(std::move(shape)), format_(format), data_(values.size()) {
    require_volume(shape_, data_.size());
    std::ranges::copy(values, data_.begin());
}

Tensor::Tensor(const Tensor& other) : shape_(other.shape_), format_(other.format_), data_(other.data_.size()) {
    in_parallel(size(), 1,
                [&](Index first, Index last) { std::copy(other.data() + first, other.data() + last, data() + first); });
}

void Tensor::round_to_format(const ComputeFormat& target) {
    if (rounded_by(target)) round_all(target.format, data_, options_of(target));
    format_ = target.format;
}

Tensor Tensor::reshaped(Shape shape) const& { return Tensor(*this).reshaped(std::move(shape)); }

Tensor Tensor::reshaped(Shape shape) && {
    require_volume(shape, data_.size());
    shape_ = std::move(shape);
    return std::move(*this);
}

Tensor tensor_of(const Matrix& matrix) {
    return {{matrix.rows(), matrix.cols()}, std::vector<Real>(matrix.data(), matrix.data() + matrix.size())};
}

namespace {

/// A sum of two numbers of at most 11 bits may be rounded to fp32 first: 24 >= 2 * 11 + 2, and where it is subnormal in
/// the format it is a multiple of the format's smallest number, and exact.
bool may_go_through_fp32(const ComputeFormat& format) {
    return !fp64_mode_on && format.format.precision() <= 11 && !format.options.flush_inputs;
}

void add_step_by_step(std::span<const Real> from, const ComputeFormat& format, Real* to) {
    for (std::size_t i = 0; format.format.is_table() && i < from.size(); ++i) {  // of fp32 numbers, as RoundedSteps
        to[i] = static_cast<Real>(round_to(format.format, static_cast<double>(to[i]) + from[i], format.options));
    }
    if (format.format.is_table()) return;
    with_steps(format, [&](const auto& s) {
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = s.add(to[i], from[i]);
    });
}

void add_and_round(std::span<const Real> from, const ComputeFormat& format, Real* to) {
    constexpr std::size_t part = 4096;  // added and rounded while it is in the nearest cache
    for (std::size_t first = 0; first < from.size(); first += part) {
        const std::size_t last = std::min(first + part, from.size());
        for (std::size_t i = first; i < last; ++i) to[i] = to[i] + from[i];
        round_all(format.format, {to + first, last - first}, format.options);
    }
}

/// add(part of from, part of to) on all threads; `cost` is that of one number.
template <class Function>
void in_parts(std::span<const Real> from, Index cost, Real* to, const Function& add) {
    in_parallel(static_cast<Index>(from.size()), cost, [&](Index first, Index last) {
        add(from.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)), to + first);
    });
}

}  // namespace

void add_rounded(std::span<const Real> from, const ComputeFormat& format, Real* to) {
    // A sum of fp32 numbers, and one that is rounded in vectors, is less work than waking a thread where a recurrent
    // net adds up the gradients of its weights.
    const bool through_fp32 = may_go_through_fp32(format);
    const Index cost = format == ComputeFormat{} ? 1 : through_fp32 ? 2 : 16;
    in_parts(from, cost, to, [&](std::span<const Real> some, Real* there) {
        through_fp32 ? add_and_round(some, format, there) : add_step_by_step(some, format, there);
    });
}

}  // namespace ulp::inline ULPLAB_MODE
