#include "softfloat/bounds/apriori.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "softfloat/bounds/rounded_up.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/late_addend.hpp"

namespace ulp {
namespace {

double power_of_two(int exponent) { return std::ldexp(1.0, exponent); }

/// (1 + x)^n - 1, rounded up.
double compound(double x, double n) { return rounded_up(std::expm1(n * std::log1p(x)), 4); }

/// Half a unit in the last place of the accumulator, relative.
double unit_roundoff(const TensorCoreModel& model) { return power_of_two(-model.accumulator.precision()); }
/// The accumulator's least subnormal, which one rounding to nearest may be off by at most in all.
double least(const TensorCoreModel& model) { return power_of_two(model.accumulator.smallest_exponent()); }

/// Groups aligned and cut; the sums toward zero or to nearest.
AprioriBound fused(const TensorCoreModel& model, std::int64_t k) {
    const auto t = static_cast<double>(groups_of(model, k));
    const double cut = power_of_two(-model.fraction_bits);
    const int f = model.output_fraction_bits;
    const int emin = model.accumulator.emin();
    AprioriBound bound{.groups = groups_of(model, k)};
    if (model.rounding == Rounding::toward_zero) {
        bound.shares.alignment = t * (model.group_size - 1) * cut;
        bound.shares.rounding = t * power_of_two(-f);
        if (model.fraction_bits < model.accumulator.fraction_bits && k > 0) bound.shares.addend = cut;
        bound.eta = t * power_of_two(emin - f);
    } else {
        const double v = power_of_two(-f - 1);
        bound.shares.rounding = t * v;
        bound.shares.alignment = (1 + t * v) * t * model.group_size * cut * (1 + compound(v, std::max(0.0, t - 1)));
        bound.eta = t * power_of_two(emin - f - 1) * (1 + compound(v, t));
    }
    return bound;
}

/// Two chained fused blocks from zero, then c to nearest.
AprioriBound fp8_by_hmma(const TensorCoreModel& model, std::int64_t k) {
    const double instructions = std::ceil(static_cast<double>(k) / model.instruction_k);
    const double v = unit_roundoff(model);
    const AprioriBound inner = fused(emulating_hmma(model), model.instruction_k);
    const double own = inner.shares.alignment + inner.shares.rounding;
    // Both halves: the second continues the first one's sum.
    const double twice = model.rounding == Rounding::toward_zero ? 2 * own : 2 * own * (1 + own);
    AprioriBound bound{.groups = 2 * inner.groups * static_cast<std::int64_t>(instructions)};
    bound.shares.alignment = twice * inner.shares.alignment / own;
    bound.shares.rounding = twice * inner.shares.rounding / own;
    bound.shares.pieces = compound(v, instructions) * (1 + twice);
    bound.eta = instructions * (2 * inner.eta + least(model)) * (1 + compound(v, instructions));
    return bound;
}

/// Chains and trees of operations that each round to nearest: `roundings` on the way of one product.
AprioriBound rounded_operations(const TensorCoreModel& model, std::int64_t groups, double roundings, double gamma,
                                double underflows) {
    AprioriBound bound{.groups = groups};
    bound.shares.rounding = gamma;
    bound.eta = underflows * least(model) * (1 + compound(unit_roundoff(model), roundings));
    if (model.flush_subnormals) {  // each result, and c, may lose a subnormal number; operands: Magnitude::flushed
        bound.eta = (2 * underflows + static_cast<double>(groups) + 1) * power_of_two(model.accumulator.emin()) *
                    (1 + compound(unit_roundoff(model), roundings));
    }
    return bound;
}

AprioriBound late_addend(const TensorCoreModel& model, std::int64_t k) {
    const auto t = static_cast<double>(groups_of(model, k));
    const double u = unit_roundoff(model);
    const double late = power_of_two(-late_sum_fraction_bits);
    const double cut = power_of_two(-model.fraction_bits);
    const double growth = (1 + compound(u, t)) * (1 + compound(late, t)) * (1 + cut);
    AprioriBound bound{.groups = groups_of(model, k)};
    bound.shares.alignment = k > 0 ? model.group_size * cut : 0;
    bound.shares.rounding = t * (u + late) * growth;
    bound.eta = (static_cast<double>(k) + 2 * t) * least(model) * growth;
    return bound;
}

AprioriBound chain(const TensorCoreModel& model, std::int64_t count) {
    const double u = unit_roundoff(model);
    const auto k = static_cast<double>(count);
    const std::int64_t groups = groups_of(model, count);
    const auto t = static_cast<double>(groups);
    switch (model.summation) {
        case Summation::fused: return fused(model, count);
        case Summation::fp8_by_hmma: return fp8_by_hmma(model, count);
        case Summation::late_addend:
        case Summation::late_addend_even_odd: return late_addend(model, count);
        case Summation::fma_chain:
        case Summation::fma_pairs: return rounded_operations(model, count, k, k * u, k);
        case Summation::even_odd_fma: {
            const double roundings = count == 0 ? 0 : std::ceil(k / model.instruction_k) + model.instruction_k / 2;
            return rounded_operations(model, groups, roundings, compound(u, roundings), k + 2 * t);
        }
        case Summation::pairwise: {
            const double roundings = count == 0 ? 0 : t + std::ceil(std::log2(model.group_size));
            return rounded_operations(model, groups, roundings, compound(u, roundings), k + 2 * t);
        }
        case Summation::exact: return rounded_operations(model, groups, t, t * u, t);
    }
    throw std::logic_error("a summation without a bound");
}

double sum_of(const BoundShares& s) { return s.alignment + s.rounding + s.addend + s.pieces; }

void check(const TensorCoreModel& model, std::int64_t k, const ProductOrder& order) {
    if (k < 0) throw std::invalid_argument("k is " + std::to_string(k) + "; give 0 or more");
    GroupVariation bounded;
    bounded.order = model.variation.order;
    bounded.negative_zeros = model.variation.negative_zeros;
    const bool known_rounding = model.rounding == Rounding::toward_zero || model.rounding == Rounding::nearest_even ||
                                model.rounding == Rounding::nearest_away;
    if (model.variation != bounded || !known_rounding) {
        throw std::invalid_argument(
            "no bound is derived for units that cut, round, flush, saturate or take c otherwise than the table's rows");
    }
    if (order.split_k < 1) throw std::invalid_argument("split-k needs 1 piece or more");
    if (order.promote_every < 0 || order.promote_every % model.instruction_k != 0) {
        throw std::invalid_argument("sums are promoted between instructions; choose a multiple of " +
                                    std::to_string(model.instruction_k));
    }
    if (model.accumulator == formats::fp64 && order != ProductOrder{}) {
        throw std::invalid_argument("orders of products are defined for accumulators of up to fp32");
    }
}

/// A stretch of k in one accumulator, promoted at intervals where the order says so.
AprioriBound piece(const TensorCoreModel& model, std::int64_t k, const ProductOrder& order) {
    if (order.promote_every == 0) {
        AprioriBound bound = chain(model, k);
        if (order.tile_k > 0 && k > 0) {  // the remainder comes first, filled up to whole instructions
            const AprioriBound more = chain(model, model.instruction_k);
            bound.shares.alignment += more.shares.alignment;
            bound.shares.rounding += more.shares.rounding;
            bound.shares.pieces += more.shares.pieces;
            bound.eta += more.eta;
            bound.groups += more.groups;
        }
        return bound;
    }
    const double u = power_of_two(-24);
    const double stretches = std::ceil(static_cast<double>(k) / static_cast<double>(order.promote_every));
    AprioriBound bound = chain(model, std::min(k, order.promote_every));
    bound.shares.addend = 0;  // c enters the fp32 accumulator
    bound.shares.pieces += stretches * u * (1 + sum_of(bound.shares)) * (1 + compound(u, stretches));
    bound.eta = stretches * (bound.eta + power_of_two(-149)) * (1 + compound(u, stretches));
    bound.sums = static_cast<std::int64_t>(std::max(1.0, stretches));
    return bound;
}

}  // namespace

std::int64_t groups_of(const TensorCoreModel& model, std::int64_t k) {
    const auto groups = [&](std::int64_t products) { return (products + model.group_size - 1) / model.group_size; };
    return k / model.instruction_k * groups(model.instruction_k) + groups(k % model.instruction_k);
}

AprioriBound apriori_bound(const TensorCoreModel& model, std::int64_t k, const ProductOrder& order) {
    check(model, k, order);
    const std::int64_t instructions = (k + model.instruction_k - 1) / model.instruction_k;
    const std::int64_t equal = (instructions + order.split_k - 1) / order.split_k * model.instruction_k;
    std::int64_t longest = std::min(k, order.piece_k > 0 ? order.piece_k : equal);
    if (order.slice_k > 0) {  // the first piece has the most slices
        const std::int64_t slices = (k + order.slice_k - 1) / order.slice_k;
        longest = std::min(k, (slices + order.split_k - 1) / order.split_k * order.slice_k);
    }
    const auto pieces = static_cast<double>(order.piece_k > 0 ? (k + order.piece_k - 1) / order.piece_k
                                                              : static_cast<std::int64_t>(order.split_k));
    AprioriBound bound = piece(model, longest, order);
    bound.sums *= static_cast<std::int64_t>(pieces);
    if (pieces > 1) {
        const double u = order.narrow_sums ? unit_roundoff(model) : power_of_two(-24);
        const double tiny = order.narrow_sums ? least(model) : power_of_two(-149);
        bound.shares.pieces += compound(u, pieces - 1) * (1 + sum_of(bound.shares));
        bound.eta = (pieces * bound.eta + (pieces - 1) * tiny) * (1 + compound(u, pieces));
    }
    bound.gamma = rounded_up(sum_of(bound.shares), 16);
    bound.eta = rounded_up(bound.eta, 16);
    return bound;
}

double epilogue_bound(const LinearEpilogue& epilogue, const AprioriBound& sum, double products, double c) {
    const double u = power_of_two(-24);
    const double alpha = std::abs(static_cast<double>(epilogue.alpha));
    const double beta_c = epilogue.beta == 0 ? 0 : std::abs(static_cast<double>(epilogue.beta)) * c;
    const double error = sum.gamma * products + sum.eta;
    const double result = alpha * (products + error) + beta_c;
    return rounded_up(alpha * error + u * beta_c + u * result * (1 + u) + power_of_two(-148), 16);
}

}  // namespace ulp
