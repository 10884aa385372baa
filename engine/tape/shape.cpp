// Operations that move numbers and never round them. They end a fused chain: what they move is stored first.
#include <fmt/format.h>

#include <stdexcept>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tensor/parallel.hpp"

namespace ulp {

template <class Real>
BasicVar<Real> reshape(BasicVar<Real> x, Shape shape) {
    x = x.tape->stored(x);
    BasicTape<Real>* tape = x.tape;
    return tape->push(
        "reshape", x.value().reshaped(std::move(shape)), tape->needs_gradient(x),
        [=](const BasicTensor<Real>& dy, const BasicTensor<Real>&) { tape->pass_on(x, dy.reshaped(x.shape())); });
}

namespace {

/// Row-major strides of a shape.
Shape strides_of(const Shape& shape) {
    Shape strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    return strides;
}

/// y[..., i_a, ...] = x with dimension order[d] of x at place d.
template <class Real>
BasicTensor<Real> permuted(const BasicTensor<Real>& x, const std::vector<Index>& order) {
    const Shape from = strides_of(x.shape());
    Shape shape;
    Shape step;
    for (const Index d : order) {
        shape.push_back(x.dim(d));
        step.push_back(from[static_cast<std::size_t>(d)]);
    }
    while (shape.size() < 4) {  // leading dimensions of extent 1: one loop nest for every rank
        shape.insert(shape.begin(), 1);
        step.insert(step.begin(), 0);
    }
    auto y = BasicTensor<Real>::unset(Shape(shape.end() - static_cast<Index>(order.size()), shape.end()), x.format());
    in_parallel(shape[0] * shape[1] * shape[2], 2 * shape[3], [&](Index first, Index last) {
        for (Index row = first; row < last; ++row) {
            const Index a = row / shape[2] / shape[1];
            const Index b = row / shape[2] % shape[1];
            const Real* line = x.data() + a * step[0] + b * step[1] + row % shape[2] * step[2];
            Real* to = y.data() + row * shape[3];
            for (Index d = 0; d < shape[3]; ++d) to[d] = line[d * step[3]];
        }
    });
    return y;
}

void require_permutation(const std::vector<Index>& order, const Shape& shape) {
    std::vector<bool> seen(shape.size(), false);
    bool good = order.size() == shape.size() && order.size() <= 4;
    for (const Index d : order) {
        good = good && d >= 0 && d < static_cast<Index>(shape.size()) && !seen[static_cast<std::size_t>(d)];
        if (good) seen[static_cast<std::size_t>(d)] = true;
    }
    if (!good) {
        throw std::invalid_argument(
            fmt::format("permute: {} is no order of the dimensions of {}", text_of(order), text_of(shape)));
    }
}

}  // namespace

template <class Real>
BasicVar<Real> permute(BasicVar<Real> x, const std::vector<Index>& order) {
    x = x.tape->stored(x);
    require_permutation(order, x.shape());
    std::vector<Index> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<Index>(i);
    BasicTape<Real>* tape = x.tape;
    return tape->push(
        "permute", permuted(x.value(), order), tape->needs_gradient(x),
        [=](const BasicTensor<Real>& dy, const BasicTensor<Real>&) { tape->pass_on(x, permuted(dy, back)); });
}

namespace {

/// A tensor cut along one dimension: `outer` blocks of `extent` rows of `inner` numbers.
struct Cut {
    Index outer = 1;
    Index extent = 1;
    Index inner = 1;
};
Cut cut_at(const Shape& shape, Index dimension) {
    Cut cut;
    for (Index i = 0; i < static_cast<Index>(shape.size()); ++i) {
        const Index extent = shape[static_cast<std::size_t>(i)];
        (i < dimension ? cut.outer : i == dimension ? cut.extent : cut.inner) *= extent;
    }
    return cut;
}

/// Copies `length` rows between a tensor with rows from `start` on and one that has just these rows.
template <class Real>
void copy_rows(BasicTensor<Real>& to, Index to_start, const BasicTensor<Real>& from, Index from_start, Index dimension,
               Index length) {
    const Cut t = cut_at(to.shape(), dimension);
    const Cut f = cut_at(from.shape(), dimension);
    for (Index o = 0; o < t.outer; ++o) {
        const Real* source = from.data() + (o * f.extent + from_start) * f.inner;
        std::copy(source, source + length * f.inner, to.data() + (o * t.extent + to_start) * t.inner);
    }
}

}  // namespace

template <class Real>
BasicVar<Real> slice(BasicVar<Real> x, Index dimension, Index start, Index length) {
    x = x.tape->stored(x);
    if (dimension < 0) dimension += x.value().rank();
    if (dimension < 0 || dimension >= x.value().rank() || start < 0 || length < 0 ||
        start + length > x.dim(dimension)) {
        throw std::invalid_argument(fmt::format("slice: {} + {} along dimension {} leaves the shape {}", start, length,
                                                dimension, text_of(x.shape())));
    }
    Shape shape = x.shape();
    shape[static_cast<std::size_t>(dimension)] = length;
    auto y = BasicTensor<Real>::unset(shape, x.format());
    copy_rows(y, 0, x.value(), start, dimension, length);
    BasicTape<Real>* tape = x.tape;
    return tape->push(
        "slice", std::move(y), tape->needs_gradient(x),
        [=](const BasicTensor<Real>& dy, const BasicTensor<Real>&) { tape->pass_on_part(x, dy, dimension, start); });
}

template <class Real>
BasicVar<Real> concat(std::vector<BasicVar<Real>> parts, Index dimension) {
    if (parts.empty()) throw std::invalid_argument("concat: nothing to put together");
    const BasicOperation<Real> op("concat", parts);
    if (dimension < 0) dimension += parts.front().value().rank();
    Shape shape = parts.front().shape();
    const auto d = static_cast<std::size_t>(dimension);
    if (dimension < 0 || d >= shape.size()) {
        throw std::invalid_argument(fmt::format("concat: {} has no dimension {}", text_of(shape), dimension));
    }
    shape[d] = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i] = op.input(i);
        Shape other = parts[i].shape();
        const Index extent = other.size() > d ? other[d] : 0;
        if (other.size() > d) other[d] = shape[d];
        if (other != shape) {
            throw std::invalid_argument(fmt::format("concat: {} does not fit {} along dimension {}",
                                                    text_of(parts[i].shape()), text_of(parts[0].shape()), dimension));
        }
        shape[d] += extent;
    }
    auto y = BasicTensor<Real>::unset(shape);
    Index start = 0;
    for (const BasicVar<Real>& part : parts) {
        copy_rows(y, start, part.value(), 0, dimension, part.dim(dimension));
        start += part.dim(dimension);
    }
    BasicTape<Real>* tape = &op.tape();
    return op.finish(std::move(y), [=](const BasicTensor<Real>& dy, const BasicTensor<Real>&) {
        Index from = 0;
        for (const BasicVar<Real>& part : parts) {
            auto dx = BasicTensor<Real>::unset(part.shape(), dy.format());
            copy_rows(dx, 0, dy, from, dimension, part.dim(dimension));
            from += part.dim(dimension);
            tape->pass_on(part, std::move(dx));
        }
    });
}

#define ULP_INSTANTIATE(Real)                                                   \
    template BasicVar<Real> reshape(BasicVar<Real>, Shape);                     \
    template BasicVar<Real> permute(BasicVar<Real>, const std::vector<Index>&); \
    template BasicVar<Real> slice(BasicVar<Real>, Index, Index, Index);         \
    template BasicVar<Real> concat(std::vector<BasicVar<Real>>, Index);
ULP_INSTANTIATE(float)
ULP_INSTANTIATE(double)
#undef ULP_INSTANTIATE

}  // namespace ulp
