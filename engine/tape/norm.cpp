// Normalisations: numbers in groups, each group brought to mean 0 and variance 1, then scaled and shifted.
#include <fmt/format.h>

#include <stdexcept>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tensor/matrix.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

/// Which numbers form a group, as runs of consecutive places, and which scale and shift each run takes.
///
///     batch norm   a group a channel: one run an image, of h * w places
///     group norm   a group for each image and set of channels: one run a channel
///     layer norm   a group a row: one run, with a scale of its own for every place
struct Groups {
    Index count;          // of groups
    Index runs;           // in a group
    Index length;         // of a run
    Index group_step;     // from the start of a group to that of the next
    Index run_step;       // from the start of a run to that of the next
    Index affine_groups;  // scales repeat after this many groups ...
    Index affine_runs;    // ... and after this many runs
    bool affine_by_place;

    [[nodiscard]] Index size() const { return runs * length; }

    /// f(place in the tensor, place of its scale) for a group's numbers, in order.
    template <class Function>
    void each(Index group, const Function& f) const {
        for (Index run = 0; run < runs; ++run) {
            const Index start = group * group_step + run * run_step;
            const Index affine = group % affine_groups * affine_runs + run % affine_runs;
            for (Index i = 0; i < length; ++i) f(start + i, affine_by_place ? i : affine);
        }
    }

    /// f(group), on all threads.
    template <class Function>
    void for_each_in_parallel(const Function& f) const {
        in_parallel(count, 16 * size(), [&](Index first, Index last) {
            for (Index group = first; group < last; ++group) f(group);
        });
    }

    /// f(group, place in the tensor, place of its scale) for all numbers, on all threads. For each scale the numbers
    /// come from one thread, in order.
    template <class Function>
    void each_by_scale(const Function& f) const {
        if (affine_by_place) {
            in_parallel(length, 8 * count, [&](Index first, Index last) {
                for (Index group = 0; group < count; ++group) {
                    for (Index i = first; i < last; ++i) f(group, group * group_step + i, i);
                }
            });
            return;
        }
        in_parallel(affine_groups, 8 * size() * (count / affine_groups), [&](Index first, Index last) {
            for (Index own = first; own < last; ++own) {
                for (Index group = own; group < count; group += affine_groups) {
                    each(group, [&](Index i, Index a) { f(group, i, a); });
                }
            }
        });
    }
};

/// The moments of each group, as the steps of the compute format give them: sums in order.
struct Moments {
    std::vector<Real> mean;
    std::vector<Real> variance;  // the mean of the squared differences
    std::vector<Real> inverse;   // 1 / sqrt(variance + eps)
};

Moments moments_of(const Tensor& x, const Groups& groups, double eps, const ComputeFormat& compute) {
    const std::vector<Real> unset(static_cast<std::size_t>(groups.count));
    Moments m{unset, unset, unset};
    with_steps(compute, [&](const auto& s) {
        const Real n = s.round(static_cast<double>(groups.size()));
        groups.for_each_in_parallel([&](Index g) {
            const auto k = static_cast<std::size_t>(g);
            Real sum = 0;
            groups.each(g, [&](Index i, Index) { sum = s.add(sum, x[i]); });
            const Real mean = s.div(sum, n);
            Real squares = 0;
            groups.each(g, [&](Index i, Index) {
                const Real d = s.sub(x[i], mean);
                squares = s.add(squares, s.mul(d, d));
            });
            m.mean[k] = mean;
            m.variance[k] = s.div(squares, n);
            m.inverse[k] = s.div(1, s.sqrt(s.add(m.variance[k], s.round(eps))));
        });
    });
    return m;
}

/// The gradients of a normalisation by its own moments:
///
///     dx = (dh - mean(dh) - h mean(dh h)) * inverse    with h the normalised x and dh = dy * scale
void normalize_backward(Tape* tape, Var x, Var weight, Var bias, const Groups& groups, const Moments& m,
                        const ComputeFormat& compute, const Tensor& dy) {
    auto dx = Tensor::unset(x.shape());
    Tensor dw(weight.shape());
    Tensor db(bias.shape());
    const Tensor& in = x.value();
    const Tensor& w = weight.value();
    with_steps(compute, [&](const auto& s) {
        const Real n = s.round(static_cast<double>(groups.size()));
        const auto normalized = [&](Index group, Index i) {
            const auto k = static_cast<std::size_t>(group);
            return s.mul(s.sub(in[i], m.mean[k]), m.inverse[k]);
        };
        groups.for_each_in_parallel([&](Index g) {
            Real sum = 0;
            Real sum_h = 0;
            groups.each(g, [&](Index i, Index a) {
                const Real dh = s.mul(dy[i], w[a]);
                sum = s.add(sum, dh);
                sum_h = s.add(sum_h, s.mul(dh, normalized(g, i)));
            });
            const Real mean = s.div(sum, n);
            const Real mean_h = s.div(sum_h, n);
            groups.each(g, [&](Index i, Index a) {
                const Real centred = s.sub(s.sub(s.mul(dy[i], w[a]), mean), s.mul(normalized(g, i), mean_h));
                dx[i] = s.mul(centred, m.inverse[static_cast<std::size_t>(g)]);
            });
        });
        groups.each_by_scale([&](Index g, Index i, Index a) {
            dw[a] = s.add(dw[a], s.mul(dy[i], normalized(g, i)));
            db[a] = s.add(db[a], dy[i]);
        });
    });
    for (Tensor* t : {&dx, &dw, &db}) t->set_format(compute.format);
    tape->accumulate(x, std::move(dx));
    tape->accumulate(weight, std::move(dw));
    tape->accumulate(bias, std::move(db));
}

Tensor normalized(const Tensor& x, const Tensor& w, const Tensor& b, const Groups& groups, const Moments& m,
                  const ComputeFormat& compute) {
    auto y = Tensor::unset(x.shape());
    with_steps(compute, [&](const auto& s) {
        groups.for_each_in_parallel([&](Index g) {
            const auto k = static_cast<std::size_t>(g);
            groups.each(g, [&](Index i, Index a) {
                y[i] = s.add(s.mul(s.mul(s.sub(x[i], m.mean[k]), m.inverse[k]), w[a]), b[a]);
            });
        });
    });
    return y;
}

/// Parameters of a normalisation may be kept wider than its input (fp32 batchnorm in an fp16 model): the input decides
/// the output's format, the steps are as wide as the widest.
OpPrecision norm_precision(const Engine& engine, std::string_view name, Var x, Var weight) {
    const FloatFormat own[] = {x.format()};
    OpPrecision precision = engine.recipe.precision_of(name, own);
    precision.compute = {widest(precision.compute.format, weight.format()), precision.compute.options};
    return precision;
}

/// Normalises by the groups' own moments, which `on_moments` sees before they are used.
template <class OnMoments>
Var normalize(std::string_view name, Var x, Var weight, Var bias, const Groups& groups, double eps,
              const OnMoments& on_moments) {
    Tape* tape = x.tape;
    const OpPrecision precision = norm_precision(tape->engine(), name, x, weight);
    x = cast(x, precision.input);
    Moments m = moments_of(x.value(), groups, eps, precision.compute);
    on_moments(m, precision.compute);
    Tensor y = normalized(x.value(), weight.value(), bias.value(), groups, m, precision.compute);
    y.set_format(precision.compute.format);
    tape->store(tape->label_for(name), {"forward"}, y, precision.output, {x, weight, bias});
    const bool needs = tape->needs_gradient(x) || tape->needs_gradient(weight) || tape->needs_gradient(bias);
    return tape->push(name, std::move(y), needs, [=, m = std::move(m)](const Tensor& dy, const Tensor&) {
        normalize_backward(tape, x, weight, bias, groups, m, precision.compute, dy);
    });
}

/// running = (1 - momentum) * running + momentum * batch, each step rounded; the variance unbiased, n / (n - 1).
void update_running(BatchStatistics& running, const Moments& batch, Index size, double momentum,
                    const ComputeFormat& compute) {
    with_steps(compute, [&](const auto& s) {
        const auto n = static_cast<double>(size);
        const Real keep = s.round(1 - momentum);
        const Real take = s.round(momentum);
        const Real unbias = s.round(size > 1 ? n / (n - 1) : 1.0);
        for (Index c = 0; c < running.mean.size(); ++c) {
            const auto k = static_cast<std::size_t>(c);
            const Real variance = s.mul(batch.variance[k], unbias);
            running.mean[c] = s.add(s.mul(keep, running.mean[c]), s.mul(take, batch.mean[k]));
            running.variance[c] = s.add(s.mul(keep, running.variance[c]), s.mul(take, variance));
        }
    });
}

/// Normalises by running statistics; for evaluation, without a gradient.
Var normalize_by_running(Var x, Var weight, Var bias, const Groups& groups, const BatchStatistics& running,
                         double eps) {
    Tape* tape = x.tape;
    const OpPrecision precision = norm_precision(tape->engine(), "batch_norm", x, weight);
    Moments m;
    with_steps(precision.compute, [&](const auto& s) {
        for (Index c = 0; c < running.mean.size(); ++c) {
            m.mean.push_back(running.mean[c]);
            m.inverse.push_back(s.div(1, s.sqrt(s.add(running.variance[c], s.round(eps)))));
        }
    });
    x = cast(x, precision.input);
    Tensor y = normalized(x.value(), weight.value(), bias.value(), groups, m, precision.compute);
    y.set_format(precision.compute.format);
    y.round_to_format(tape->engine().recipe.stored(precision.output));
    return tape->push("batch_norm", std::move(y), false, [](const Tensor&, const Tensor&) {});
}

[[noreturn]] void refuse(std::string_view name, Var x, Var weight, Var bias) {
    throw std::invalid_argument(fmt::format("{}: x {} does not fit weight {} and bias {}", name, text_of(x.shape()),
                                            text_of(weight.shape()), text_of(bias.shape())));
}

constexpr auto ignore_moments = [](const auto&, const ComputeFormat&) {};

Index area_of(const Shape& shape) {
    Index area = 1;
    for (std::size_t i = 2; i < shape.size(); ++i) area *= shape[i];
    return area;
}

}  // namespace

Var layer_norm(Var x, Var weight, Var bias, double eps) {
    if (x.value().rank() < 1 || x.value().size() == 0 || weight.shape() != Shape{x.dim(-1)} ||
        bias.shape() != weight.shape()) {
        refuse("layer_norm", x, weight, bias);
    }
    const Index width = x.dim(-1);
    return normalize("layer_norm", x, weight, bias, {x.value().size() / width, 1, width, width, 0, 1, 1, true}, eps,
                     ignore_moments);
}

namespace {

/// dx = (dh - h mean(dh h)) * inverse with h = x * inverse and dh = dy * weight; dw = sum of dy h over the rows in
/// order.
void rms_backward(Tape* tape, Var x, Var weight, const std::vector<Real>& inverse, const ComputeFormat& compute,
                  const Tensor& dy) {
    const Index width = x.dim(-1);
    auto dx = Tensor::unset(x.shape());
    Tensor dw(weight.shape());
    const Tensor& in = x.value();
    const Tensor& w = weight.value();
    with_steps(compute, [&](const auto& s) {
        const auto h = [&](Index row, Index j) {
            return s.mul(in[row * width + j], inverse[static_cast<std::size_t>(row)]);
        };
        in_parallel(in.rows_of(width), 16 * width, [&](Index first, Index last) {
            for (Index row = first; row < last; ++row) {
                Real sum = 0;
                for (Index j = 0; j < width; ++j) {
                    sum = s.add(sum, s.mul(s.mul(dy[row * width + j], w[j]), h(row, j)));
                }
                const Real mean = s.div(sum, s.round(static_cast<double>(width)));
                for (Index j = 0; j < width; ++j) {
                    const Real centred = s.sub(s.mul(dy[row * width + j], w[j]), s.mul(h(row, j), mean));
                    dx[row * width + j] = s.mul(centred, inverse[static_cast<std::size_t>(row)]);
                }
            }
        });
        in_parallel(width, 8 * in.rows_of(width), [&](Index first, Index last) {
            for (Index row = 0; row < in.rows_of(width); ++row) {
                for (Index j = first; j < last; ++j) dw[j] = s.add(dw[j], s.mul(dy[row * width + j], h(row, j)));
            }
        });
    });
    dx.set_format(compute.format);
    dw.set_format(compute.format);
    tape->accumulate(x, std::move(dx));
    tape->accumulate(weight, std::move(dw));
}

}  // namespace

Var rms_norm(Var x, Var weight, double eps) {
    if (x.value().rank() < 1 || x.value().size() == 0 || weight.shape() != Shape{x.dim(-1)}) {
        throw std::invalid_argument(
            fmt::format("rms_norm: x {} does not fit weight {}", text_of(x.shape()), text_of(weight.shape())));
    }
    Tape* tape = x.tape;
    const OpPrecision precision = norm_precision(tape->engine(), "rms_norm", x, weight);
    x = cast(x, precision.input);
    const Index width = x.dim(-1);
    auto y = Tensor::unset(x.shape());
    std::vector<Real> inverse(static_cast<std::size_t>(y.rows_of(width)));
    with_steps(precision.compute, [&](const auto& s) {
        in_parallel(y.rows_of(width), 8 * width, [&](Index first, Index last) {
            for (Index row = first; row < last; ++row) {
                const Real* in = x.value().data() + row * width;
                Real sum = 0;
                for (Index j = 0; j < width; ++j) sum = s.add(sum, s.mul(in[j], in[j]));
                const Real mean = s.div(sum, s.round(static_cast<double>(width)));
                const Real scale = s.div(1, s.sqrt(s.add(mean, s.round(eps))));
                inverse[static_cast<std::size_t>(row)] = scale;
                for (Index j = 0; j < width; ++j) y[row * width + j] = s.mul(s.mul(in[j], scale), weight.value()[j]);
            }
        });
    });
    y.set_format(precision.compute.format);
    tape->store(tape->label_for("rms_norm"), {"forward"}, y, precision.output, {x, weight});
    return tape->push("rms_norm", std::move(y), tape->needs_gradient(x) || tape->needs_gradient(weight),
                      [=, inverse = std::move(inverse)](const Tensor& dy, const Tensor&) {
                          rms_backward(tape, x, weight, inverse, precision.compute, dy);
                      });
}

Var group_norm(Var x, Var weight, Var bias, Index groups, double eps) {
    const bool fits = x.value().rank() >= 2 && groups >= 1 && x.dim(1) % groups == 0 && x.value().size() > 0 &&
                      weight.shape() == Shape{x.dim(1)} && bias.shape() == weight.shape();
    if (!fits) refuse("group_norm", x, weight, bias);
    const Index area = area_of(x.shape());
    const Index channels = x.dim(1) / groups;
    const Groups layout{x.dim(0) * groups, channels, area, channels * area, area, groups, channels, false};
    return normalize("group_norm", x, weight, bias, layout, eps, ignore_moments);
}

Var batch_norm(Var x, Var weight, Var bias, BatchStatistics& statistics, const BatchNormOptions& options) {
    const bool fits = x.value().rank() >= 2 && x.value().size() > 0 && weight.shape() == Shape{x.dim(1)} &&
                      bias.shape() == weight.shape() && statistics.mean.shape() == weight.shape();
    if (!fits) refuse("batch_norm", x, weight, bias);
    const Index area = area_of(x.shape());
    const Index channels = x.dim(1);
    const Groups layout{channels, x.dim(0), area, area, channels * area, channels, 1, false};
    if (!x.tape->run().training) return normalize_by_running(x, weight, bias, layout, statistics, options.eps);
    return normalize("batch_norm", x, weight, bias, layout, options.eps,
                     [&](const Moments& m, const ComputeFormat& compute) {
                         const Recipe& recipe = x.tape->engine().recipe;
                         const ComputeFormat steps = recipe.statistics ? recipe.stored(*recipe.statistics) : compute;
                         update_running(statistics, m, layout.size(), options.momentum, steps);
                     });
}

}  // namespace ulp::inline ULPLAB_MODE
