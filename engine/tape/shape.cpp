// Operations that move numbers and never round them. They end a fused chain: what they move is stored first.
#include <fmt/format.h>

#include <stdexcept>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tensor/matrix.hpp"
#include "engine/tensor/random.hpp"

namespace ulp::inline ULPLAB_MODE {

Var reshape(Var x, Shape shape) {
    x = x.tape->stored(x);
    Tape* tape = x.tape;
    return tape->push("reshape", x.value().reshaped(std::move(shape)), tape->needs_gradient(x),
                      [=](const Tensor& dy, const Tensor&) { tape->pass_on(x, dy.reshaped(x.shape())); });
}

namespace {

/// Row-major strides of a shape.
Shape strides_of(const Shape& shape) {
    Shape strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    return strides;
}

/// y[..., i_a, ...] = x with dimension order[d] of x at place d.
Tensor permuted(const Tensor& x, const std::vector<Index>& order) {
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
    auto y = Tensor::unset(Shape(shape.end() - static_cast<Index>(order.size()), shape.end()), x.format());
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

Var permute(Var x, const std::vector<Index>& order) {
    x = x.tape->stored(x);
    require_permutation(order, x.shape());
    std::vector<Index> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<Index>(i);
    Tape* tape = x.tape;
    return tape->push("permute", permuted(x.value(), order), tape->needs_gradient(x),
                      [=](const Tensor& dy, const Tensor&) { tape->pass_on(x, permuted(dy, back)); });
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
void copy_rows(Tensor& to, Index to_start, const Tensor& from, Index from_start, Index dimension, Index length) {
    const Cut t = cut_at(to.shape(), dimension);
    const Cut f = cut_at(from.shape(), dimension);
    for (Index o = 0; o < t.outer; ++o) {
        const Real* source = from.data() + (o * f.extent + from_start) * f.inner;
        std::copy(source, source + length * f.inner, to.data() + (o * t.extent + to_start) * t.inner);
    }
}

}  // namespace

Var slice(Var x, Index dimension, Index start, Index length) {
    x = x.tape->stored(x);
    if (dimension < 0) dimension += x.value().rank();
    if (dimension < 0 || dimension >= x.value().rank() || start < 0 || length < 0 ||
        start + length > x.dim(dimension)) {
        throw std::invalid_argument(fmt::format("slice: {} + {} along dimension {} leaves the shape {}", start, length,
                                                dimension, text_of(x.shape())));
    }
    Shape shape = x.shape();
    shape[static_cast<std::size_t>(dimension)] = length;
    auto y = Tensor::unset(shape, x.format());
    copy_rows(y, 0, x.value(), start, dimension, length);
    Tape* tape = x.tape;
    return tape->push("slice", std::move(y), tape->needs_gradient(x),
                      [=](const Tensor& dy, const Tensor&) { tape->pass_on_part(x, dy, dimension, start); });
}

Var repeat(Var x, Index dimension, Index times) {
    if (dimension < 0 || dimension >= x.value().rank() || times < 1) {
        throw std::invalid_argument(
            fmt::format("repeat: {} has no dimension {} to repeat {} times", text_of(x.shape()), dimension, times));
    }
    const Operation op("repeat", {x});
    x = op.input(0);
    const Cut cut = cut_at(x.shape(), dimension);
    Shape shape = x.shape();
    shape[static_cast<std::size_t>(dimension)] *= times;
    auto y = Tensor::unset(shape);
    for (Index i = 0; i < cut.outer * cut.extent * times; ++i) {
        std::copy_n(x.value().data() + i / times * cut.inner, cut.inner, y.data() + i * cut.inner);
    }
    Tape* tape = &op.tape();
    const ComputeFormat compute = op.precision().compute;
    return op.finish(std::move(y), [=](const Tensor& dy, const Tensor&) {
        Tensor dx(x.shape());
        with_steps(compute, [&](const auto& s) {
            for (Index i = 0; i < dy.size(); ++i) {
                Real& sum = dx[i / cut.inner / times * cut.inner + i % cut.inner];
                sum = s.add(sum, dy[i]);
            }
        });
        dx.set_format(compute.format);
        tape->accumulate(x, std::move(dx));
    });
}

Var concat(std::vector<Var> parts, Index dimension) {
    if (parts.empty()) throw std::invalid_argument("concat: nothing to put together");
    const Operation op("concat", parts);
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
    auto y = Tensor::unset(shape);
    Index start = 0;
    for (const Var& part : parts) {
        copy_rows(y, start, part.value(), 0, dimension, part.dim(dimension));
        start += part.dim(dimension);
    }
    Tape* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor& dy, const Tensor&) {
        Index from = 0;
        for (const Var& part : parts) {
            auto dx = Tensor::unset(part.shape(), dy.format());
            copy_rows(dx, 0, dy, from, dimension, part.dim(dimension));
            from += part.dim(dimension);
            tape->pass_on(part, std::move(dx));
        }
    });
}

namespace {

/// Rows of a table by number; the operation's name says what they are for.
Var rows_of(const char* name, Var table, const std::vector<int>& ids, Shape shape) {
    if (table.value().rank() != 2 || volume(shape) != static_cast<Index>(ids.size())) {
        throw std::invalid_argument(fmt::format("{}: {} ids do not fill {}, or the table {} is no matrix", name,
                                                ids.size(), text_of(shape), text_of(table.shape())));
    }
    const Index width = table.dim(1);
    for (const int id : ids) {
        if (id < 0 || id >= table.dim(0)) {
            throw std::invalid_argument(
                fmt::format("{}: token {} lies outside the vocabulary of {}", name, id, table.dim(0)));
        }
    }
    const Operation op(name, {table});
    table = op.input(0);
    shape.push_back(width);
    Tensor y(shape);
    Real* to = y.data();
    for (const int id : ids) to = std::copy_n(table.value().data() + id * width, width, to);
    Tape* tape = &op.tape();
    const ComputeFormat compute = op.precision().compute;
    return op.finish(std::move(y), [=](const Tensor& dy, const Tensor&) {
        Tensor gradient(table.shape());
        with_steps(compute, [&](const auto& s) {
            const Real* from = dy.data();
            for (const int id : ids) {
                Real* row = gradient.data() + id * width;
                for (Index j = 0; j < width; ++j) row[j] = s.add(row[j], *from++);
            }
        });
        gradient.set_format(compute.format);
        tape->accumulate(table, std::move(gradient));
    });
}

}  // namespace

Var embedding(Var table, const std::vector<int>& ids, Shape shape) {
    return rows_of("embedding", table, ids, std::move(shape));
}
Var select_rows(Var x, const std::vector<int>& rows) {
    return rows_of("select_rows", x, rows, {static_cast<Index>(rows.size())});
}

Var dropout(Var x, double rate) {
    if (!(rate >= 0 && rate < 1)) throw std::invalid_argument("dropout: the rate lies in [0, 1)");
    const Run& run = x.tape->run();
    if (!run.training || rate == 0) return x;
    const Operation op("dropout", {x});
    x = op.input(0);
    // The number of an element depends on seed, step, place in the net and index: no state to save or to disturb.
    const Random random(run.seed, hash_of(op.label()) + static_cast<std::uint64_t>(run.step));
    const auto drop_below = static_cast<std::uint64_t>(rate * 0x1p53);
    std::vector<bool> kept(static_cast<std::size_t>(x.value().size()));
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = (random.at(i) >> 11) >= drop_below;
    const ComputeFormat compute = op.precision().compute;
    const auto masked = [kept = std::move(kept), rate, compute](const Tensor& in) {
        Tensor out(in.shape());
        with_steps(compute, [&](const auto& s) {
            const Real factor = s.round(1 / (1 - rate));
            for (Index i = 0; i < in.size(); ++i)
                out[i] = kept[static_cast<std::size_t>(i)] ? s.mul(in[i], factor) : Real{0};
        });
        out.set_format(compute.format);
        return out;
    };
    Tape* tape = &op.tape();
    return op.finish(masked(x.value()), [=](const Tensor& dy, const Tensor&) { tape->accumulate(x, masked(dy)); });
}

}  // namespace ulp::inline ULPLAB_MODE
