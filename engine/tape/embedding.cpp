#include <fmt/format.h>

#include <stdexcept>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {

template <class Real>
BasicVar<Real> embedding(BasicVar<Real> table, const std::vector<int>& ids, Shape shape) {
    if (table.value().rank() != 2 || volume(shape) != static_cast<Index>(ids.size())) {
        throw std::invalid_argument(fmt::format("embedding: {} ids do not fill {}, or the table {} is no matrix",
                                                ids.size(), text_of(shape), text_of(table.shape())));
    }
    const Index width = table.dim(1);
    for (const int id : ids) {
        if (id < 0 || id >= table.dim(0)) {
            throw std::invalid_argument(
                fmt::format("embedding: token {} lies outside the vocabulary of {}", id, table.dim(0)));
        }
    }
    const BasicOperation<Real> op("embedding", {table});
    table = op.input(0);
    shape.push_back(width);
    BasicTensor<Real> y(shape);
    Real* to = y.data();
    for (const int id : ids) to = std::copy_n(table.value().data() + id * width, width, to);
    BasicTape<Real>* tape = &op.tape();
    const ComputeFormat compute = op.precision().compute;
    return op.finish(std::move(y), [=](const BasicTensor<Real>& dy, const BasicTensor<Real>&) {
        BasicTensor<Real> gradient(table.shape());
        with_steps<Real>(compute, [&](const auto& s) {
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

template <class Real>
BasicVar<Real> dropout(BasicVar<Real> x, double rate) {
    if (!(rate >= 0 && rate < 1)) throw std::invalid_argument("dropout: the rate lies in [0, 1)");
    const Run& run = x.tape->run();
    if (!run.training || rate == 0) return x;
    const BasicOperation<Real> op("dropout", {x});
    x = op.input(0);
    // The number of an element depends on seed, step, place in the net and index: no state to save or to disturb.
    const Random random(run.seed, hash_of(op.label()) + static_cast<std::uint64_t>(run.step));
    const auto drop_below = static_cast<std::uint64_t>(rate * 0x1p53);
    std::vector<bool> kept(static_cast<std::size_t>(x.value().size()));
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = (random.at(i) >> 11) >= drop_below;
    const ComputeFormat compute = op.precision().compute;
    const auto masked = [kept = std::move(kept), rate, compute](const BasicTensor<Real>& in) {
        BasicTensor<Real> out(in.shape());
        with_steps<Real>(compute, [&](const auto& s) {
            const Real factor = s.round(1 / (1 - rate));
            for (Index i = 0; i < in.size(); ++i)
                out[i] = kept[static_cast<std::size_t>(i)] ? s.mul(in[i], factor) : Real{0};
        });
        out.set_format(compute.format);
        return out;
    };
    BasicTape<Real>* tape = &op.tape();
    return op.finish(masked(x.value()),
                     [=](const BasicTensor<Real>& dy, const BasicTensor<Real>&) { tape->accumulate(x, masked(dy)); });
}

#define ULP_INSTANTIATE(Real)                                                          \
    template BasicVar<Real> embedding(BasicVar<Real>, const std::vector<int>&, Shape); \
    template BasicVar<Real> dropout(BasicVar<Real>, double);
ULP_INSTANTIATE(float)
ULP_INSTANTIATE(double)
#undef ULP_INSTANTIATE

}  // namespace ulp
