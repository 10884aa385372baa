// Connectionist temporal classification (Graves et al., ICML 2006): the probability of a label sequence is the sum over
// all alignments, which drop repeats and then blanks. Forward and backward sums run over the sequence with blanks put
// between and around its labels, in the logarithm.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

constexpr Real impossible = -std::numeric_limits<Real>::infinity();  // log 0

/// log(e^a + e^b), each step rounded.
template <class Steps>
Real log_add(const Steps& s, Real a, Real b) {
    const Real high = std::max(a, b);
    if (high == impossible) return high;
    return s.add(high, s.log1p(s.exp(s.sub(std::min(a, b), high))));
}

/// One sequence: labels l_1 .. l_n as blank l_1 blank l_2 ... blank.
struct Alignment {
    std::vector<int> states;

    Alignment(const std::vector<int>& labels, int blank) {
        states.push_back(blank);
        for (const int label : labels) {
            states.push_back(label);
            states.push_back(blank);
        }
    }
    [[nodiscard]] std::size_t size() const { return states.size(); }
    /// Whether state k may be entered from k - 2: over a blank between different labels.
    [[nodiscard]] bool skips_to(std::size_t k, int blank) const {
        return k >= 2 && states[k] != blank && states[k] != states[k - 2];
    }
};

/// The logarithm of the probability of being in state k after step t, having begun properly; log_p(t, class).
template <class Steps, class LogProbability>
std::vector<std::vector<Real>> forward_sums(const Steps& s, const Alignment& a, Index steps, int blank,
                                            const LogProbability& log_p) {
    std::vector<std::vector<Real>> alpha(static_cast<std::size_t>(steps), std::vector<Real>(a.size(), impossible));
    alpha[0][0] = log_p(0, a.states[0]);
    if (a.size() > 1) alpha[0][1] = log_p(0, a.states[1]);
    for (std::size_t t = 1; t < alpha.size(); ++t) {
        for (std::size_t k = 0; k < a.size(); ++k) {
            Real sum = alpha[t - 1][k];
            if (k >= 1) sum = log_add(s, sum, alpha[t - 1][k - 1]);
            if (a.skips_to(k, blank)) sum = log_add(s, sum, alpha[t - 1][k - 2]);
            alpha[t][k] = s.add(sum, log_p(static_cast<Index>(t), a.states[k]));
        }
    }
    return alpha;
}

/// ... of finishing properly from state k at step t, without the probability at t itself.
template <class Steps, class LogProbability>
std::vector<std::vector<Real>> backward_sums(const Steps& s, const Alignment& a, Index steps, int blank,
                                             const LogProbability& log_p) {
    const std::size_t last = a.size() - 1;
    std::vector<std::vector<Real>> beta(static_cast<std::size_t>(steps), std::vector<Real>(a.size(), impossible));
    beta.back()[last] = 0;
    if (last > 0) beta.back()[last - 1] = 0;
    for (std::size_t t = beta.size() - 1; t-- > 0;) {
        const auto next = [&](std::size_t k) {
            return s.add(beta[t + 1][k], log_p(static_cast<Index>(t + 1), a.states[k]));
        };
        for (std::size_t k = 0; k < a.size(); ++k) {
            Real sum = next(k);
            if (k + 1 < a.size()) sum = log_add(s, sum, next(k + 1));
            if (k + 2 < a.size() && a.skips_to(k + 2, blank)) sum = log_add(s, sum, next(k + 2));
            beta[t][k] = sum;
        }
    }
    return beta;
}

void require_sequences(const Tensor& x, const std::vector<CtcTarget>& targets, int blank) {
    if (x.rank() != 3 || x.dim(1) != static_cast<Index>(targets.size()) || targets.empty()) {
        throw std::invalid_argument(
            fmt::format("ctc: log-probabilities {} (time, batch, classes) need one target a sequence, not {}",
                        text_of(x.shape()), targets.size()));
    }
    for (const CtcTarget& target : targets) {
        if (target.steps < 1 || target.steps > x.dim(0)) {
            throw std::invalid_argument(fmt::format("ctc: a sequence of {} steps in {}", target.steps, x.dim(0)));
        }
        for (const int label : target.labels) {
            if (label < 0 || label >= x.dim(2) || label == blank) {
                throw std::invalid_argument(
                    fmt::format("ctc: label {} is the blank or outside the {} classes", label, x.dim(2)));
            }
        }
    }
}

/// A sequence's loss, and its gradient into `gradient` (both before weighting): -log P, and for each step and class
/// -(sum over the class's states of e^(alpha + beta)) / P.
template <class Steps>
Real sequence_loss(const Steps& s, const Tensor& x, Index sequence, const CtcTarget& target, int blank,
                   Tensor& gradient) {
    const Alignment a(target.labels, blank);
    const auto place = [&](Index t, int label) { return (t * x.dim(1) + sequence) * x.dim(2) + label; };
    const auto log_p = [&](Index t, int label) { return x[place(t, label)]; };
    const auto alpha = forward_sums(s, a, target.steps, blank, log_p);
    const auto beta = backward_sums(s, a, target.steps, blank, log_p);
    Real total = alpha.back()[a.size() - 1];
    if (a.size() > 1) total = log_add(s, total, alpha.back()[a.size() - 2]);
    for (std::size_t t = 0; t < alpha.size(); ++t) {
        for (std::size_t k = 0; k < a.size(); ++k) {
            Real& g = gradient[place(static_cast<Index>(t), a.states[k])];
            g = s.sub(g, s.exp(s.sub(s.add(alpha[t][k], beta[t][k]), total)));
        }
    }
    return -total;
}

}  // namespace

Var ctc(Var log_probabilities, const std::vector<CtcTarget>& targets, int blank, Reduction reduction) {
    require_sequences(log_probabilities.value(), targets, blank);
    const Operation op("ctc", {log_probabilities});
    const Var x = op.input(0);
    const ComputeFormat compute = op.precision().compute;
    Tensor gradient(x.shape());
    Tensor loss(Shape{});
    // The weight of a sequence in the mean: 1 / (its labels * sequences).
    const auto weight = [&](std::size_t i) {
        if (reduction == Reduction::sum) return 1.0;
        return 1.0 / static_cast<double>(std::max<std::size_t>(targets[i].labels.size(), 1) * targets.size());
    };
    with_steps(compute, [&](const auto& s) {
        for (std::size_t i = 0; i < targets.size(); ++i) {
            const Real own = sequence_loss(s, x.value(), static_cast<Index>(i), targets[i], blank, gradient);
            loss[0] = s.add(loss[0], s.mul(own, s.round(weight(i))));
        }
        const Index sequences = x.dim(1);
        for (Index i = 0; i < gradient.size(); ++i) {
            const auto sequence = static_cast<std::size_t>(i / x.dim(2) % sequences);
            gradient[i] = s.mul(gradient[i], s.round(weight(sequence)));
        }
    });
    Tape* tape = &op.tape();
    return op.finish(std::move(loss), [=, g = std::move(gradient)](const Tensor& dy, const Tensor&) {
        Tensor dx(g.shape());
        with_steps(compute, [&](const auto& s) {
            for (Index i = 0; i < dx.size(); ++i) dx[i] = s.mul(g[i], dy[0]);
        });
        dx.set_format(compute.format);
        tape->accumulate(x, std::move(dx));
    });
}

}  // namespace ulp::inline ULPLAB_MODE
