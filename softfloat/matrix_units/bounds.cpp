#include "softfloat/matrix_units/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/late_addend.hpp"
#include "softfloat/matrix_units/rounded_up.hpp"

namespace ulp {
namespace {

double power_of_two(int exponent) { return std::ldexp(1.0, exponent); }

/// (1 + x)^n - 1, rounded up.
double compound(double x, double n) { return rounded_up(std::expm1(n * std::log1p(x)), 4); }

bool rounds_to_nearest(const TensorCoreModel& model) {
    return model.rounding == Rounding::nearest_even || model.rounding == Rounding::nearest_away;
}

/// Half a unit in the last place of the accumulator, relative.
double unit_roundoff(const TensorCoreModel& model) { return power_of_two(-model.accumulator.precision()); }
/// What an operation of a chain may lose: that, or twice as much where it does not round to nearest.
double operation_loss(const TensorCoreModel& model) {
    return unit_roundoff(model) * (rounds_to_nearest(model) ? 1 : 2);
}
/// The accumulator's least subnormal, which one rounding to nearest may be off by at most in all.
double least(const TensorCoreModel& model) { return power_of_two(model.accumulator.smallest_exponent()); }

double sum_of(const BoundShares& s) { return s.alignment + s.rounding + s.addend + s.pieces + s.products; }

/// What the terms of a group may lose, in units of the group's largest power of two, and the sum of the group.
struct GroupLoss {
    bool shrinks;      // terms are cut toward zero: no partial sum exceeds the sum of the magnitudes
    bool truncates;    // so is the group's sum
    double cut;        // most of one term
    int terms;         // that may lose: all but the largest, if F holds all of its bits
    double rounding;   // of the sum
    double underflow;  // of the sum, absolute
    std::int64_t groups;
};

GroupLoss loss_of_groups(const TensorCoreModel& m, std::int64_t k) {
    const GroupVariation& v = m.variation;
    const int f = m.output_fraction_bits;
    const int emin = m.accumulator.emin();
    const bool to_nearest = v.alignment == Rounding::nearest_even || v.alignment == Rounding::nearest_away;
    const bool cuts_alone = v.alignment == Rounding::toward_zero && !v.sticky && !v.invert_opposing;
    const bool sum_to_nearest = rounds_to_nearest(m);
    const int exact_bits = m.a_format.fraction_bits + m.b_format.fraction_bits + (v.normalise_products ? 1 : 0);
    const int product_bits = v.rounds_products() ? v.product_format.fraction_bits : exact_bits;
    // A floor this low cuts nothing that the least sum keeps.
    const bool low_floor = m.policies.exponent_floor - m.fraction_bits <= emin - f;
    const bool keeps_largest = m.fraction_bits >= product_bits && m.fraction_bits >= f && low_floor;
    // So the zeros that fill up an instruction change nothing if they come last.
    const bool zeros_are_free = low_floor && v.order == LaneOrder::ascending;
    const std::int64_t per_instruction = (m.instruction_k + m.group_size - 1) / m.group_size;
    const std::int64_t run = (k + m.instruction_k - 1) / m.instruction_k * per_instruction;
    return {.shrinks = cuts_alone && !v.rounds_products(),
            .truncates = m.rounding == Rounding::toward_zero,
            .cut = power_of_two(-m.fraction_bits) * (to_nearest || v.sticky ? 0.5 : 1.0),
            .terms = m.group_size + (keeps_largest && !v.invert_opposing ? 0 : 1),
            .rounding = power_of_two(-f) * (sum_to_nearest ? 0.5 : 1.0),
            .underflow = power_of_two(emin - f) * (sum_to_nearest ? 0.5 : 1.0),
            .groups = zeros_are_free ? groups_of(m, k) : run};
}

/// Groups whose terms or sums are not cut toward zero: |c[t] - s[t]| grows by a factor in each.
void grow(const TensorCoreModel& model, const GroupLoss& loss, std::int64_t k, AprioriBound& bound) {
    const auto t = static_cast<double>(loss.groups);
    const double cut = loss.terms * loss.cut;
    const double group = (1 + cut) * (1 + loss.rounding) - 1;
    const double growth = 1 + compound(group, t);
    bound.shares.alignment = compound(group, t) * cut / (cut + loss.rounding);
    bound.shares.rounding = compound(group, t) * loss.rounding / (cut + loss.rounding);
    bound.eta = t * loss.underflow * growth;
    if (!model.variation.rounds_products()) return;
    const FloatFormat& format = model.variation.product_format;
    bound.shares.products = power_of_two(-format.precision()) * growth;
    bound.eta += static_cast<double>(k) * power_of_two(format.smallest_exponent() - 1) * growth;
}

/// Groups aligned, cut and rounded, each sum the next one's c.
AprioriBound fused(const TensorCoreModel& model, std::int64_t k) {
    const GroupLoss loss = loss_of_groups(model, k);
    const auto t = static_cast<double>(loss.groups);
    const bool to_nearest = rounds_to_nearest(model);
    AprioriBound bound{.groups = loss.groups};
    double growth = 1;
    if (loss.shrinks && loss.truncates) {
        bound.shares.alignment = t * (loss.terms - 1) * loss.cut;
        bound.shares.rounding =
            t * std::max(loss.rounding, loss.cut);  // with one term's cut: the sum's units are finer
        bound.eta = t * loss.underflow;
    } else if (loss.shrinks && to_nearest) {
        const double v = loss.rounding;
        bound.shares.rounding = t * v;
        bound.shares.alignment = (1 + t * v) * t * loss.terms * loss.cut * (1 + compound(v, std::max(0.0, t - 1)));
        growth = 1 + compound(v, t);
        bound.eta = t * loss.underflow * growth;
    } else {
        grow(model, loss, k, bound);
        growth = 1 + compound((1 + loss.terms * loss.cut) * (1 + loss.rounding) - 1, t);
    }
    // The first c may have more bits than the alignment keeps.
    const bool long_c = model.fraction_bits < model.accumulator.fraction_bits;
    if (long_c && k > 0 && model.fraction_bits >= model.output_fraction_bits) bound.shares.addend = loss.cut * growth;
    const int flushes = (model.variation.flush_addend ? 1 : 0) + (model.variation.flush_results ? 1 : 0);
    bound.eta += t * flushes * power_of_two(model.accumulator.emin()) * growth;
    return bound;
}

/// Two chained fused blocks from zero, then c to nearest.
AprioriBound fp8_by_hmma(const TensorCoreModel& model, std::int64_t k) {
    const double instructions = std::ceil(static_cast<double>(k) / model.instruction_k);
    const double v = unit_roundoff(model);
    AprioriBound bound = fused(emulating_hmma(model), k > 0 ? model.instruction_k : 0);
    const double both = sum_of(bound.shares);
    bound.groups *= static_cast<std::int64_t>(instructions);
    bound.shares.pieces = compound(v, instructions) * (1 + both);
    bound.eta = instructions * (bound.eta + least(model)) * (1 + compound(v, instructions));
    return bound;
}

/// Instructions of fused groups, by when c enters.
AprioriBound fused_instructions(const TensorCoreModel& model, std::int64_t k) {
    const AddendEntry entry = model.variation.addend;
    if (entry == AddendEntry::with_products || k == 0) return fused(model, k);
    const std::int64_t instructions = (k + model.instruction_k - 1) / model.instruction_k;
    const std::int64_t one = std::min<std::int64_t>(k, model.instruction_k);
    if (entry != AddendEntry::after_products) {
        AprioriBound bound = fused(model, entry == AddendEntry::never ? one : k);
        bound.drops_sums = true;
        bound.sums = 2;  // what is left starts at zero
        return bound;
    }
    AprioriBound bound = fused(model, one);
    const auto count = static_cast<double>(instructions);
    const double growth = 1 + compound(unit_roundoff(model), count);
    for (double* share : {&bound.shares.alignment, &bound.shares.rounding, &bound.shares.products}) *share *= growth;
    bound.shares.addend = 0;  // each instruction starts at zero
    bound.shares.pieces = growth - 1;
    bound.eta = count *
                (bound.eta + power_of_two(model.accumulator.emin()) *
                                 ((model.variation.flush_addend ? 1 : 0) + (model.variation.flush_results ? 1 : 0))) *
                growth;
    bound.groups *= instructions;
    bound.sums = instructions + 1;
    return bound;
}

/// Chains and trees of rounded operations: `roundings` on the way of one product.
AprioriBound rounded_operations(const TensorCoreModel& model, std::int64_t groups, double roundings, double gamma,
                                double underflows) {
    AprioriBound bound{.groups = groups};
    bound.shares.rounding = gamma;
    bound.eta = underflows * least(model) * (1 + compound(operation_loss(model), roundings));
    if (model.flush_subnormals) {  // each result, and c, may lose a subnormal number; operands: Magnitude::unseen
        bound.eta = (2 * underflows + static_cast<double>(groups) + 1) * power_of_two(model.accumulator.emin()) *
                    (1 + compound(operation_loss(model), roundings));
    }
    return bound;
}

AprioriBound late_addend(const TensorCoreModel& model, std::int64_t k) {
    const auto t = static_cast<double>(groups_of(model, k));
    const double u = unit_roundoff(model);
    const double late = power_of_two(-late_sum_fraction_bits);
    const double cut = power_of_two(-model.fraction_bits);
    const bool even_odd = model.summation == Summation::late_addend_even_odd;
    // F of fewer bits than a product has cuts the largest ones, too; of fewer than c has, c in every group.
    const bool cuts_largest = model.fraction_bits < model.a_format.fraction_bits + model.b_format.fraction_bits;
    const double every_c = model.fraction_bits < model.accumulator.fraction_bits ? cut : 0;
    const double dropped = even_odd ? std::max(0.0, power_of_two(-25) - cut) : 0;
    const double growth =
        (1 + compound(u, t)) * (1 + compound(late, t)) * (1 + cut) * (1 + compound(every_c + dropped, t));
    AprioriBound bound{.groups = groups_of(model, k)};
    bound.shares.alignment = k > 0 ? (model.group_size + (cuts_largest ? 2 : 0)) * cut : 0;
    bound.shares.rounding = t * (u + late + every_c + dropped) * growth;
    bound.eta = (static_cast<double>(k) + 2 * t) * least(model) * growth;
    return bound;
}

AprioriBound chain(const TensorCoreModel& model, std::int64_t count) {
    const double u = operation_loss(model);
    // Without a power of u: to nearest alone (Jeannerod and Rump 2013).
    const auto in_turn = [&](double n) { return rounds_to_nearest(model) ? n * u : compound(u, n); };
    const auto k = static_cast<double>(count);
    const std::int64_t groups = groups_of(model, count);
    const auto t = static_cast<double>(groups);
    const bool exact_products =
        model.a_format.precision() + model.b_format.precision() <= model.accumulator.precision();
    const double product = exact_products ? 0 : 1;
    switch (model.summation) {
        case Summation::fused: return fused_instructions(model, count);
        case Summation::fp8_by_hmma: return fp8_by_hmma(model, count);
        case Summation::late_addend:
        case Summation::late_addend_even_odd: return late_addend(model, count);
        case Summation::fma_chain:
        case Summation::fma_pairs: return rounded_operations(model, count, k, in_turn(k), k);
        case Summation::even_odd_fma: {
            const double roundings =
                count == 0 ? 0 : std::ceil(k / model.instruction_k) + (model.instruction_k + 1) / 2 + product;
            return rounded_operations(model, groups, roundings, compound(u, roundings), k + 2 * t);
        }
        case Summation::pairwise: {
            const double roundings = count == 0 ? 0 : t + std::ceil(std::log2(model.group_size)) + product;
            return rounded_operations(model, groups, roundings, compound(u, roundings), k + 2 * t);
        }
        case Summation::exact: return rounded_operations(model, groups, t, in_turn(t), t);
    }
    throw std::logic_error("a summation without a bound");
}

/// A stretch of k in one accumulator, promoted at intervals where the order says so.
AprioriBound piece(const TensorCoreModel& model, std::int64_t k, const ProductOrder& order) {
    if (order.promote_every == 0) {
        // With tiles the remainder comes first, filled up to whole instructions.
        return chain(model, order.tile_k > 0 && k > 0 ? k + model.instruction_k : k);
    }
    const double u = power_of_two(-24);
    const double stretches = std::ceil(static_cast<double>(k) / static_cast<double>(order.promote_every));
    AprioriBound bound = chain(model, std::min(k, order.promote_every));
    bound.shares.addend = 0;  // c enters the fp32 accumulator
    bound.shares.pieces += stretches * u * (1 + sum_of(bound.shares)) * (1 + compound(u, stretches));
    bound.eta = stretches * (bound.eta + power_of_two(-149)) * (1 + compound(u, stretches));
    bound.sums *= static_cast<std::int64_t>(std::max(1.0, stretches));
    return bound;
}

/// `count` pieces of k rounded and added, each bounded by `bound`.
void add_pieces(const TensorCoreModel& model, const ProductOrder& order, double count, AprioriBound& bound) {
    const FloatFormat widest = model.accumulator == formats::fp64 ? formats::fp64 : formats::fp32;
    const FloatFormat sum = order.sum_format.value_or(widest);
    const FloatFormat total = order.total_format.value_or(sum);
    const auto loss = [&](const FloatFormat& f) { return f == widest ? 0 : power_of_two(-f.precision()); };
    // Numbers of a format of less than half the precision are added and rounded to it as if once.
    const bool once = sum == total && 2 * sum.precision() + 2 <= widest.precision();
    const double u = once ? 0 : power_of_two(-widest.precision());
    const bool on_format = sum == model.accumulator && order.promote_every == 0;
    const double v = on_format ? 0 : loss(sum);
    const double w = loss(total);
    const double first = v + (1 + v) * (total == sum ? 0 : w);  // a piece before the first addition
    const double growth = (1 + first) * (1 + compound(u + w + u * w, count - 1)) - 1;
    double tiny = 0;
    for (const FloatFormat& f : {widest, sum, total}) {
        tiny = std::max(tiny, power_of_two(f.smallest_exponent()));
        if (f == widest) continue;
        const double most = std::ldexp(2 - std::ldexp(1.0, -f.fraction_bits), f.emax());
        const double largest =
            f.specials == Specials::all_ones_nan ? most - std::ldexp(1.0, f.emax() - f.fraction_bits) : most;
        bound.largest_sum = bound.largest_sum > 0 ? std::min(bound.largest_sum, largest) : largest;
    }
    const double roundings = (count - 1) * (w > 0 && !once ? 2 : 1) + (first > 0 ? 2 * count : 0);
    bound.shares.pieces += growth * (1 + sum_of(bound.shares));
    bound.eta = (count * bound.eta + roundings * tiny) * (1 + growth) * (1 + power_of_two(-10));
}

}  // namespace

std::int64_t groups_of(const TensorCoreModel& model, std::int64_t k) {
    const auto groups = [&](std::int64_t products) { return (products + model.group_size - 1) / model.group_size; };
    return k / model.instruction_k * groups(model.instruction_k) + groups(k % model.instruction_k);
}

AprioriBound apriori_bound(const TensorCoreModel& model, std::int64_t k, const ProductOrder& order) {
    if (k < 0) throw std::invalid_argument("k is " + std::to_string(k) + "; give 0 or more");
    require_fitting(model, order);
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
    if (pieces > 1) add_pieces(model, order, pieces, bound);
    const FloatFormat total = order.total_format.value_or(order.sum_format.value_or(formats::fp32));
    const bool narrower = model.accumulator.precision() < total.precision();
    if (narrower && (pieces > 1 || order.promote_every > 0)) {  // D is rounded from the total
        bound.shares.pieces += unit_roundoff(model) * (1 + sum_of(bound.shares));
        bound.eta += least(model);
    }
    ProductOrder of_k = order;
    of_k.epilogue.reset();
    bound.drops_any = bound.drops_sums && of_k != ProductOrder{};
    bound.gamma = rounded_up(sum_of(bound.shares), 16);
    bound.eta = rounded_up(bound.eta, 16);
    return bound;
}

double epilogue_bound(const LinearEpilogue& epilogue, double error, double products, double c,
                      const FloatFormat& format) {
    const bool is_double = format == formats::fp64;
    const auto used = [&](double factor) {
        return std::abs(is_double ? factor : static_cast<double>(static_cast<float>(factor)));
    };
    const double u = power_of_two(-format.precision());
    const double alpha = used(epilogue.alpha);
    const double beta_c = epilogue.beta == 0 ? 0 : used(epilogue.beta) * c;
    const double result = alpha * (products + error) + beta_c;
    const double underflow = power_of_two(format.smallest_exponent() + 1);
    return rounded_up(alpha * error + u * beta_c + u * result * (1 + u) + underflow, 16);
}

}  // namespace ulp
