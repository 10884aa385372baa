#include "engine/tensor/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "engine/tensor/parallel.hpp"
#include "engine/tensor/rounder.hpp"

namespace ulp {

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

template <class Real>
BasicTensor<Real>::BasicTensor(Shape shape, const std::vector<Real>& values, const FloatFormat& format)
    : shape_(std::move(shape)), format_(format), data_(values.size()) {
    require_volume(shape_, data_.size());
    std::ranges::copy(values, data_.begin());
}

template <class Real>
BasicTensor<Real>::BasicTensor(const BasicTensor& other)
    : shape_(other.shape_), format_(other.format_), data_(other.data_.size()) {
    in_parallel(size(), 1,
                [&](Index first, Index last) { std::copy(other.data() + first, other.data() + last, data() + first); });
}

template <class Real>
void BasicTensor<Real>::round_to_format(const ComputeFormat& target) {
    if (rounded_by(target)) round_all(target.format, data_, options_of(target));
    format_ = target.format;
}

template <class Real>
BasicTensor<Real> BasicTensor<Real>::reshaped(Shape shape) const& {
    return BasicTensor(*this).reshaped(std::move(shape));
}

template <class Real>
BasicTensor<Real> BasicTensor<Real>::reshaped(Shape shape) && {
    require_volume(shape, data_.size());
    shape_ = std::move(shape);
    return std::move(*this);
}

template class BasicTensor<float>;
template class BasicTensor<double>;

Tensor tensor_of(const Matrix& matrix) {
    return {{matrix.rows(), matrix.cols()}, std::vector<float>(matrix.data(), matrix.data() + matrix.size())};
}

}  // namespace ulp
