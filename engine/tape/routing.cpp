// Mixtures of experts: which rows go to which net, and their sums behind.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

/// The places of the `count` largest of a row, the largest first, the first of equals, NaN before numbers.
std::vector<Index> largest_of(std::span<const Real> row, Index count) {
    std::vector<Index> chosen;
    std::vector<bool> taken(row.size(), false);
    while (static_cast<Index>(chosen.size()) < count) {
        std::size_t best = row.size();
        for (std::size_t j = 0; j < row.size(); ++j) {
            if (taken[j]) continue;
            if (best == row.size() || row[j] > row[best] || (std::isnan(row[j]) && !std::isnan(row[best]))) best = j;
        }
        taken[best] = true;
        chosen.push_back(static_cast<Index>(best));
    }
    return chosen;
}

/// Calls f(steps, row, the places chosen from that row) for every row.
template <class Function>
void each_choice(const Tensor& scores, Index count, const ComputeFormat& compute, const Function& f) {
    const Index width = scores.dim(-1);
    with_steps(compute, [&](const auto& s) {
        for (Index start = 0; start < scores.size(); start += width) {
            f(s, start, largest_of({scores.data() + start, static_cast<std::size_t>(width)}, count));
        }
    });
}

}  // namespace

Var top_k_softmax(Var scores, Index count) {
    if (scores.value().rank() != 2 || count < 1 || count > scores.dim(1)) {
        throw std::invalid_argument(
            fmt::format("top_k_softmax: {} has no {} largest in a row", text_of(scores.shape()), count));
    }
    const Operation op("top_k_softmax", {scores});
    scores = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    Tensor y(scores.shape());
    each_choice(scores.value(), count, compute, [&](const auto& s, Index start, const std::vector<Index>& chosen) {
        const Real* x = scores.value().data() + start;
        Real sum = 0;
        for (const Index j : chosen) {
            y[start + j] = s.exp(s.sub(x[j], x[chosen.front()]));
            sum = s.add(sum, y[start + j]);
        }
        for (const Index j : chosen) y[start + j] = s.div(y[start + j], sum);
    });
    Tape* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor& dy, const Tensor& result) {
        Tensor dx(dy.shape());
        each_choice(scores.value(), count, compute, [&](const auto& s, Index start, const std::vector<Index>& chosen) {
            Real sum = 0;
            for (const Index j : chosen) sum = s.add(sum, s.mul(result[start + j], dy[start + j]));
            for (const Index j : chosen) dx[start + j] = s.mul(result[start + j], s.sub(dy[start + j], sum));
        });
        dx.set_format(compute.format);
        tape->accumulate(scores, std::move(dx));
    });
}

Var multiply_rows(Var x, Var w) {
    if (x.value().rank() != 2 || w.shape() != Shape{x.dim(0), 1}) {
        throw std::invalid_argument(fmt::format("multiply_rows: {} does not hold a number for each row of {}",
                                                text_of(w.shape()), text_of(x.shape())));
    }
    const Operation op("multiply_rows", {x, w});
    x = op.input(0), w = op.input(1);
    const ComputeFormat compute = op.precision().compute;
    const Index width = x.dim(1);
    const auto times = [w, width, compute](const Tensor& in) {
        auto out = Tensor::unset(in.shape());
        with_steps(compute, [&](const auto& s) {
            for (Index i = 0; i < in.size(); ++i) out[i] = s.mul(in[i], w.value()[i / width]);
        });
        out.set_format(compute.format);
        return out;
    };
    Tape* tape = &op.tape();
    return op.finish(times(x.value()), [=](const Tensor& dy, const Tensor&) {
        tape->accumulate(x, times(dy));
        Tensor dw(w.shape());
        with_steps(compute, [&](const auto& s) {
            for (Index i = 0; i < dy.size(); ++i) dw[i / width] = s.add(dw[i / width], s.mul(dy[i], x.value()[i]));
        });
        dw.set_format(compute.format);
        tape->accumulate(w, std::move(dw));
    });
}

Var add_rows(std::vector<Var> parts, const std::vector<std::vector<int>>& rows, Index count) {
    bool fits = !parts.empty() && parts.size() == rows.size();
    for (std::size_t e = 0; fits && e < parts.size(); ++e) {
        fits = parts[e].shape() == Shape{static_cast<Index>(rows[e].size()), parts.front().dim(-1)};
        for (const int row : rows[e]) fits = fits && row >= 0 && row < count;
    }
    if (!fits) throw std::invalid_argument(fmt::format("add_rows: the parts are no rows of {}", count));
    const Operation op("add_rows", parts);
    for (std::size_t e = 0; e < parts.size(); ++e) parts[e] = op.input(e);
    const Index width = parts.front().dim(1);
    Tensor y({count, width});
    with_steps(op.precision().compute, [&](const auto& s) {
        for (std::size_t e = 0; e < parts.size(); ++e) {
            const Real* from = parts[e].value().data();
            for (const int row : rows[e]) {
                for (Index j = 0; j < width; ++j) y[row * width + j] = s.add(y[row * width + j], *from++);
            }
        }
    });
    Tape* tape = &op.tape();
    return op.finish(std::move(y), [=](const Tensor& dy, const Tensor&) {
        for (std::size_t e = 0; e < parts.size(); ++e) {
            auto dx = Tensor::unset(parts[e].shape(), dy.format());
            Real* to = dx.data();
            for (const int row : rows[e]) to = std::copy_n(dy.data() + row * width, width, to);
            tape->pass_on(parts[e], std::move(dx));
        }
    });
}

}  // namespace ulp::inline ULPLAB_MODE
