#include "engine/training/update.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "engine/tensor/matrix.hpp"
#include "engine/tensor/rounder.hpp"
#include "engine/training/optimizer_rules.hpp"
#include "engine/watching/histogram.hpp"

namespace ulp::inline ULPLAB_MODE {
namespace {

constexpr Index part_size = 1024;
using Part = std::array<Real, static_cast<std::size_t>(part_size)>;

/// Puts w - update on the weight's grid, to nearest, with what was lost kept in `lost` and added to the next update.
template <class Steps>
Real compensated(const Steps& s, Real w, Real update, Real& lost) {
    const Real wanted = s.sub(-update, lost);
    const Real next = s.add(w, wanted);
    lost = s.sub(s.sub(next, w), wanted);
    return next;
}

/// One part of a parameter: weights first .. last - 1.
class PartUpdate {
  public:
    PartUpdate(const ParameterUpdate& of, const RuleContext& rule, Index first)
        : of_(of),
          rule_(rule),
          first_(first),
          size_(std::min(part_size, static_cast<Index>(of.weights.size()) - first)),
          w_(of.weights.data() + first),
          g_(of.gradient.data() + first),
          narrower_(of.stored_in != of.steps_in && of.stored_in.format != container_format) {
        for (Real* row : of.state) rows_.push_back(row + first);
        if (!of.before.empty()) copy_before();
    }

    void compute() {
        with_steps(of_.steps_in, [&](const auto& s) {
            with_rule(of_.options.kind, [&](const auto& rule) {
                const StateRows kept(rows_);
                const Real* const w = w_;
                const Real* const g = g_;
                Real* const out = changes_.data();
                for (Index i = 0, n = size_; i < n; ++i) out[i] = rule(s, rule_, w[i], g[i], kept, i);
            });
        });
        if (of_.rounding == UpdateRounding::kahan) {
            add_compensated();
        } else {
            add_rounded();
        }
    }

    /// Counts, and puts the new weights in their place.
    void finish(UpdateCounts& counts) {
        std::int64_t zeros = 0;
        std::int64_t swamped = 0;
        Real* const w = w_;
        const Real* const g = g_;
        for (Index i = 0, n = size_; i < n; ++i) {
            zeros += g[i] == 0 ? 1 : 0;
            swamped += change(i) != 0 && next(i) == w[i] ? 1 : 0;
            w[i] = next(i);
        }
        counts.zero_gradients += zeros;
        counts.swamped += swamped;
        if (of_.search) counts.largest = std::max(counts.largest, largest_change());
    }

    /// Before finish(): the first element that turned bad.
    [[nodiscard]] std::optional<BadUpdate> found() const {
        if (made_finite()) return std::nullopt;
        for (Index i = 0; i < size_; ++i) {
            const auto at = static_cast<std::size_t>(i);
            bool was_finite = std::isfinite(w_[i]) && std::isfinite(g_[i]);
            Real bad = std::isfinite(results_[at]) ? changes_[at] : results_[at];
            for (std::size_t r = 0; r < rows_.size(); ++r) {
                was_finite = was_finite && std::isfinite(row_before(r)[i]);
                if (std::isfinite(bad)) bad = rows_[r][i];
            }
            if (was_finite && !std::isfinite(bad)) return described(i, bad);
        }
        return std::nullopt;
    }

  private:
    Real& change(Index i) { return changes_[static_cast<std::size_t>(i)]; }
    Real& next(Index i) { return results_[static_cast<std::size_t>(i)]; }

    /// Kahan's sums run on the weights' own grid.
    void add_compensated() {
        if (narrower_) round_to_nearest(changes_);
        with_steps(of_.stored_in, [&](const auto& s) {
            Real* const lost = of_.compensation + first_;
            for (Index i = 0; i < size_; ++i) next(i) = compensated(s, w_[i], change(i), lost[i]);
        });
    }

    void add_rounded() {
        with_steps(of_.steps_in, [&](const auto& s) {
            const Real* const w = w_;
            for (Index i = 0, n = size_; i < n; ++i) next(i) = s.sub(w[i], change(i));
        });
        if (!narrower_) return;
        if (of_.rounding == UpdateRounding::stochastic) {
            round_stochastically(of_.stored_in, of_.options.seed, of_.stream, static_cast<std::uint64_t>(first_),
                                 std::span(results_).first(static_cast<std::size_t>(size_)));
        } else {
            round_to_nearest(results_);
        }
    }

    void round_to_nearest(Part& numbers) const {
        round_all(of_.stored_in.format, std::span(numbers).first(static_cast<std::size_t>(size_)),
                  results_of(of_.stored_in.options));
    }

    /// By its bits, whose order is that of magnitudes: integers, so that the loop is vectorised.
    [[nodiscard]] double largest_change() const {
        constexpr RealWord magnitude = ~RealWord{0} >> 1;
        RealWord most = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i) {
            const RealWord x = std::bit_cast<RealWord>(changes_[i]) & magnitude;
            most = x > most ? x : most;
        }
        return static_cast<double>(std::bit_cast<Real>(most));
    }

    [[nodiscard]] bool made_finite() const {
        const auto finite = [&](const Real* numbers) {
            return all_finite(std::span<const Real>(numbers, static_cast<std::size_t>(size_)));
        };
        return finite(changes_.data()) && finite(results_.data()) && std::ranges::all_of(rows_, finite);
    }

    void copy_before() const {
        const auto copy = [&](const Real* from, Real* to) { std::copy_n(from, size_, to + first_); };
        copy(w_, of_.before.front());
        for (std::size_t r = 0; r < rows_.size(); ++r) copy(rows_[r], of_.before[1 + r]);
        if (of_.compensation != nullptr) copy(of_.compensation + first_, of_.before.back());
    }
    [[nodiscard]] const Real* row_before(std::size_t r) const { return of_.before[1 + r] + first_; }

    [[nodiscard]] BadUpdate described(Index i, Real bad) const {
        const auto at = static_cast<std::size_t>(i);
        BadUpdate found{first_ + i, static_cast<float>(bad), {}};
        const auto add = [&](const std::string& name, Real x) {
            found.numbers.emplace_back(name, static_cast<float>(x));
        };
        add("weight", w_[i]);
        add("gradient", g_[i]);
        const std::vector<std::string> names = state_names(of_.options);
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            add(names[r] + " before", row_before(r)[i]);
            add(names[r], rows_[r][i]);
        }
        add("update", changes_[at]);
        return found;
    }

    const ParameterUpdate& of_;
    const RuleContext& rule_;
    Index first_, size_;
    Real* w_;
    const Real* g_;
    std::vector<Real*> rows_;
    bool narrower_;
    Part changes_, results_;
};

}  // namespace

std::optional<BadUpdate> update(const ParameterUpdate& of, UpdateCounts& counts) {
    const auto size = static_cast<Index>(of.weights.size());
    const Index parts = (size + part_size - 1) / part_size;
    std::vector<UpdateCounts> counted(static_cast<std::size_t>(parts));
    std::vector<std::optional<BadUpdate>> bad(of.search ? counted.size() : 0);
    const double correction1 = 1 - power(of.options.beta1, of.step);
    const double correction2 = 1 - power(of.options.beta2, of.step);
    in_parallel(parts, 32 * part_size, [&](Index first, Index last) {
        for (Index i = first; i < last; ++i) {
            const auto k = static_cast<std::size_t>(i);
            const RuleContext rule{of.options, of.step, correction1, correction2, &counted[k]};
            PartUpdate part(of, rule, i * part_size);
            part.compute();
            if (of.search) bad[k] = part.found();
            part.finish(counted[k]);
        }
    });
    for (const UpdateCounts& part : counted) {
        counts.zero_gradients += part.zero_gradients;
        counts.swamped += part.swamped;
        counts.clipped += part.clipped;
        counts.largest = std::max(counts.largest, part.largest);
    }
    counts.weights += size;
    const auto first_bad = std::ranges::find_if(bad, [](const auto& part) { return part.has_value(); });
    return first_bad == bad.end() ? std::nullopt : std::move(*first_bad);
}

}  // namespace ulp::inline ULPLAB_MODE
