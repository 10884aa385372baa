#include "softfloat/matrix_units/bound_operands.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "softfloat/matrix_units/bounds.hpp"
#include "softfloat/matrix_units/bounds_of_units.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/exact_sum.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/rounded_up.hpp"

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool aligns_operands(const TensorCoreModel& model) {
    return is_fused(model) || model.summation == Summation::late_addend ||
           model.summation == Summation::late_addend_even_odd;
}

/// The format whose exponents an operand aligns by: FP8 by way of fp16 has fp16's.
FloatFormat aligned_format(const TensorCoreModel& model, const FloatFormat& format) {
    return model.summation == Summation::fp8_by_hmma ? formats::fp16 : format;
}

/// What an operand of a product with a zero counts as.
double counted(const FloatFormat& format, double x, ZeroProduct policy) {
    if (x != 0) return std::max(std::abs(x), std::ldexp(1.0, format.emin()));  // of a flushed one not less
    return std::ldexp(1.0, zero_operand_exponent(format, policy));
}

/// What a product counts as that is rounded before it is aligned: to a subnormal number or zero, perhaps.
double lifted_rounded(const TensorCoreModel& model, double product) {
    const FloatFormat& format = model.variation.product_format;
    const bool zeros_count = model.policies.zero_product == ZeroProduct::operand_at_fp32_emin;
    const int least = std::max(format.emin(), zeros_count ? formats::fp32.emin() : format.emin());
    return std::max(product * (1 + std::ldexp(1.0, -format.precision())), std::ldexp(1.0, least));
}

double lifted_product(const TensorCoreModel& model, double x, double y) {
    if (!aligns_operands(model)) return std::abs(x * y);
    const GroupVariation& variation = model.variation;
    const ZeroProduct policy = model.policies.zero_product;
    const bool zero = x == 0 || y == 0;
    if (zero && policy == ZeroProduct::ignored) return 0;
    if (!zero && variation.rounds_products()) return lifted_rounded(model, std::abs(x * y));
    if (!zero && variation.normalise_products && !variation.flush_operands) return std::abs(x * y);
    return counted(aligned_format(model, model.a_format), x, policy) *
           counted(aligned_format(model, model.b_format), y, policy);
}

/// What c counts as: a zero or a subnormal number as a larger one.
double lifted_addend(const TensorCoreModel& model, double c) {
    if (!aligns_operands(model)) return std::abs(c);
    const BlockPolicies& policies = model.policies;
    const bool flushed = model.variation.flush_addend && std::abs(c) < std::ldexp(1.0, model.accumulator.emin());
    if (c != 0 && flushed) return std::max(std::ldexp(1.0, model.accumulator.emin()), lifted_addend(model, 0));
    if (c == 0) {
        if (policies.zero_addend == ZeroAddend::at_fp32_emin) return std::ldexp(1.0, formats::fp32.emin());
        const bool at_emin = policies.zero_addend == ZeroAddend::at_accumulator_emin;
        return at_emin ? std::ldexp(1.0, model.accumulator.emin()) : 0;
    }
    const bool at_emin = policies.subnormal_addend == SubnormalAddend::at_emin;
    return at_emin ? std::max(std::abs(c), std::ldexp(1.0, model.accumulator.emin())) : std::abs(c);
}

/// The same of the sum that a group hands to the next one, if it is smaller than any bound says.
double lifted_partial_sum(const TensorCoreModel& model) {
    const double subnormal = std::ldexp(1.0, model.accumulator.emin() - model.accumulator.fraction_bits);
    return std::max(lifted_addend(model, 0), lifted_addend(model, subnormal));
}

double floor_of(const TensorCoreModel& model) {
    const int floor = model.policies.exponent_floor;
    return aligns_operands(model) && floor > no_exponent_floor ? std::ldexp(1.0, floor) : 0;
}

/// Of the format to which products are rounded, if they are.
double largest_rounded_product(const TensorCoreModel& model) {
    const FloatFormat& format = model.variation.product_format;
    if (!model.variation.rounds_products()) return infinity;
    return static_cast<double>(in_fp32_container(format, static_cast<std::uint32_t>(format.max_finite_magnitude())));
}

bool is_flushed(const TensorCoreModel& model, const FloatFormat& format, double x) {
    return (model.flush_subnormals || model.variation.flush_operands) && x != 0 &&
           std::abs(x) < std::ldexp(1.0, format.emin());
}

/// The group's terms and what follows from them: products and, last, c.
struct Group {
    std::array<BlockTerm, max_group + 1> terms;
    int products = 0;
    bool any_product = false;  // one that is not zero
    int largest = 0;           // M
    BlockSpecials specials;

    [[nodiscard]] const BlockTerm& addend() const { return terms[static_cast<std::size_t>(products)]; }
};

/// f(the group's operands, how many, whether c comes from an earlier group) for the groups of a chain, in order.
template <class Function>
void each_group(const TensorCoreModel& model, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                const Function& f) {
    const auto k = static_cast<std::int64_t>(a.size());
    bool later = false;
    for (std::int64_t first = 0; first < k; first += model.instruction_k) {
        std::array<std::uint32_t, max_instruction_k> x{};
        std::array<std::uint32_t, max_instruction_k> y{};
        const auto count = static_cast<std::size_t>(std::min<std::int64_t>(model.instruction_k, k - first));
        std::copy_n(a.begin() + first, count, x.begin());
        std::copy_n(b.begin() + first, count, y.begin());
        for (int g = 0; g < model.instruction_k; g += model.group_size) {
            f(x.data() + g, y.data() + g, std::min(model.group_size, model.instruction_k - g), later);
            later = true;
        }
    }
}

Group group_of(const TensorCoreModel& model, const std::uint32_t* a, const std::uint32_t* b, int count) {
    Group group;
    group.products = count;
    group.largest = model.policies.exponent_floor;
    for (int i = 0; i < count; ++i) {
        BlockTerm& term = group.terms[static_cast<std::size_t>(i)];
        term = product_term(model, decoded(model.a_format, a[i]), decoded(model.b_format, b[i]), group.specials);
        group.any_product = group.any_product || term.significand != 0;
        group.largest = std::max(group.largest, term.exponent);
    }
    return group;
}

double value_of(const BlockTerm& term) {
    return std::ldexp(static_cast<double>(term.significand), term.exponent - term.point);
}

/// At most so much of a term is cut away by an alignment to multiples of w.
double loss_of(double size, double lsb, double w) { return lsb >= w ? 0 : std::min(size, w - lsb); }

/// The first k that a unit sees which drops c and the sums so far: of its last instruction, or of the last one with a
/// product that is not zero.
std::size_t first_seen(const TensorCoreModel& model, std::span<const double> a, std::span<const double> b) {
    const AddendEntry entry = model.variation.addend;
    const auto length = static_cast<std::size_t>(model.instruction_k);
    std::size_t end = a.size();
    if (entry == AddendEntry::beside_zeros_alone) {
        while (end > 0 && (a[end - 1] == 0 || b[end - 1] == 0)) --end;
    } else if (entry != AddendEntry::never) {
        end = 0;
    }
    return end == 0 ? 0 : (end - 1) / length * length;
}

void require_operand_bounds(const TensorCoreModel& model) {
    if (has_operand_bounds(model)) return;
    throw std::invalid_argument("units with fp64 operands have a-priori bounds alone");
}

/// Fused groups as rows of the table have them: their terms are looked at one by one.
bool is_followed_by_terms(const TensorCoreModel& model) {
    const bool rounding = model.rounding == Rounding::toward_zero || model.rounding == Rounding::nearest_even;
    return model.summation == Summation::fused && !is_varied(model) && rounding;
}

/// 2^128 in fp32; what rounds to infinity in narrower accumulators.
double overflow_of(const TensorCoreModel& model) {
    if (model.rounding == Rounding::toward_zero) return std::ldexp(1.0, model.accumulator.emax() + 1);
    return std::ldexp(2.0 - std::ldexp(1.0, -model.output_fraction_bits - 1), model.accumulator.emax());
}

}  // namespace

bool drops_addend(const TensorCoreModel& model, std::span<const double> a, std::span<const double> b) {
    const AddendEntry entry = model.variation.addend;
    if (entry == AddendEntry::never) return !a.empty();
    if (entry != AddendEntry::beside_zeros_alone) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != 0 && b[i] != 0) return true;
    }
    return false;
}

bool has_operand_bounds(const TensorCoreModel& model) { return model.accumulator != formats::fp64; }

Magnitude magnitude_of(const TensorCoreModel& model, std::span<const double> a, std::span<const double> b, double c) {
    const auto k = static_cast<std::int64_t>(a.size());
    Magnitude sum{std::abs(c), lifted_addend(model, c), 0};
    if (groups_of(model, k) > 1) sum.lifted = std::max(sum.lifted, lifted_partial_sum(model));
    sum.lifted += floor_of(model);
    sum.another_sum = lifted_partial_sum(model) + floor_of(model);
    const std::size_t seen = first_seen(model, a, b);
    if (drops_addend(model, a, b)) sum.unseen = std::abs(c);
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double product = std::abs(a[i] * b[i]);
        sum.plain += product;
        sum.lifted += lifted_product(model, a[i], b[i]);
        const bool flushed = is_flushed(model, model.a_format, a[i]) || is_flushed(model, model.b_format, b[i]);
        sum.unseen += flushed || i < seen ? product : 0;
        sum.largest_product = std::max(sum.largest_product, product);
    }
    // The last instruction is filled up with zeros.
    const auto padding = (model.instruction_k - k % model.instruction_k) % model.instruction_k;
    sum.lifted += static_cast<double>(padding) * lifted_product(model, 0, 0);
    const auto operations = static_cast<double>(2 * a.size() + 2);
    return {rounded_up(sum.plain, operations), rounded_up(sum.lifted, operations), rounded_up(sum.unseen, operations),
            sum.another_sum, sum.largest_product};
}

double bound_at(const TensorCoreModel& model, const AprioriBound& bound, const Magnitude& m) {
    const double lifted = m.lifted + static_cast<double>(bound.sums - 1) * m.another_sum;
    const double range = std::ldexp(1.0, model.accumulator.emax() + 1);
    const double kept = std::ldexp(1.0, -model.output_fraction_bits - 1);
    const double top = model.rounding == Rounding::toward_zero ? range : range * (1 - kept);
    const double absolute = bound.gamma * lifted + bound.eta + (bound.drops_any ? m.plain : m.unseen);
    const bool numbers = std::isfinite(m.plain);  // an infinity beside a zero is not in `lifted`
    const bool sums_fit = bound.largest_sum == 0 || lifted + absolute <= bound.largest_sum;
    const bool fits = sums_fit && lifted + absolute < top && m.largest_product <= largest_rounded_product(model);
    return numbers && fits ? absolute : infinity;
}

ErrorInterval running_interval(const TensorCoreModel& model, std::span<const std::uint32_t> a,
                               std::span<const std::uint32_t> b, std::uint32_t c) {
    require_operand_bounds(model);
    if (!is_followed_by_terms(model)) return running_interval_of_instructions(model, a, b, c);
    ErrorInterval error;
    const int f = model.output_fraction_bits;
    const int emin = model.accumulator.emin();
    const bool truncates = model.rounding == Rounding::toward_zero;
    const auto lose = [&](bool negative, double most, double usual) {
        (negative ? error.above : error.below) += most;
        error.expected += negative ? usual : -usual;
    };
    each_group(model, a, b, [&](const std::uint32_t* x, const std::uint32_t* y, int count, bool later) {
        if (!error.finite) return;
        Group group = group_of(model, x, y, count);
        group.terms[static_cast<std::size_t>(count)] = addend_term(model, c, group.specials);
        if (group.specials.any()) {
            error.finite = false;
            return;
        }
        const BlockTerm& addend = group.addend();
        const int largest = std::max(group.largest, addend.exponent);
        const double w = std::ldexp(1.0, largest - model.fraction_bits);
        std::int64_t sum = 0;
        for (int i = 0; i <= count; ++i) {
            const BlockTerm& term = group.terms[static_cast<std::size_t>(i)];
            sum += aligned_term(model, term, largest);
            if (term.significand == 0) continue;
            const bool of_group = i == count && later;  // a sum of an earlier group has f bits
            const double lsb = std::ldexp(1.0, of_group ? term.exponent - f : term.exponent - term.point);
            const double size = value_of(term);
            const double most = loss_of(size, lsb, w);
            if (most > 0) lose(term.sign, most, size >= w ? (w - lsb) / 2 : size);
        }
        const bool keeps_c = !group.any_product && (later || model.accumulator.fraction_bits <= f);
        if (sum != 0 && !keeps_c) {
            const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
            const int exponent = bit_length(magnitude) - 1 + largest - model.fraction_bits;
            const double q = std::ldexp(1.0, std::max(exponent, emin) - f);
            if (truncates) {
                lose(sum < 0, std::max(0.0, q - w), std::max(0.0, q - w) / 2);
            } else if (q > w) {
                error.below += q / 2;
                error.above += q / 2;
            }
        }
        c = block_dot(model, x, y, c, count);
        const auto result = decode<std::uint64_t>(model.accumulator, c);
        error.finite = result.kind == Kind::finite || result.kind == Kind::zero;
    });
    if (!error.finite) return {infinity, infinity, 0, false};
    const auto operations = 2 * static_cast<double>(a.size()) + 4 * static_cast<double>(model.instruction_k);
    error.below = rounded_up(error.below, operations);
    error.above = rounded_up(error.above, operations);
    return error;
}

double magnitudes_bound(const TensorCoreModel& model, std::span<const std::uint32_t> a,
                        std::span<const std::uint32_t> b, std::uint32_t c) {
    require_operand_bounds(model);
    if (!is_followed_by_terms(model)) return magnitudes_bound_of_instructions(model, a, b, c);
    const int f = model.output_fraction_bits;
    const int emin = model.accumulator.emin();
    const bool truncates = model.rounding == Rounding::toward_zero;
    BlockSpecials specials;
    const BlockTerm first = addend_term(model, c, specials);
    double partial = value_of(first);  // not less than any partial sum so far
    double bound = 0;
    const auto exponent_of = [&](double x) { return std::max(std::ilogb(x), emin); };
    each_group(model, a, b, [&](const std::uint32_t* x, const std::uint32_t* y, int count, bool later) {
        const Group group = group_of(model, x, y, count);
        if (specials.any() || group.specials.any()) {
            bound = infinity;
            return;
        }
        const int of_c = partial == 0 ? first.exponent : exponent_of(partial);
        const int largest = std::max(group.largest, of_c);
        const double w = std::ldexp(1.0, largest - model.fraction_bits);
        double products = 0;
        for (int i = 0; i < count; ++i) {
            const BlockTerm& term = group.terms[static_cast<std::size_t>(i)];
            if (term.significand == 0) continue;
            const double size = value_of(term);
            products += size;
            if (std::ldexp(1.0, term.exponent - term.point) < w) bound += std::min(size, w);
        }
        const int bits_of_c = later ? f : model.accumulator.fraction_bits;
        if (group.largest > of_c || model.fraction_bits < bits_of_c) bound += std::min(partial, w);
        partial += products;
        if (!truncates) {
            partial = partial * (1 + std::ldexp(1.0, -f - 1)) + std::ldexp(1.0, emin - f);
        }
        partial = rounded_up(partial, count + 2);
        if (partial >= overflow_of(model)) bound = infinity;
        if (partial > 0) bound += std::ldexp(truncates ? 1.0 : 0.5, exponent_of(partial) - f);
    });
    return rounded_up(bound, 2 * static_cast<double>(a.size()) + 4 * static_cast<double>(model.instruction_k));
}

double exact_error(const TensorCoreModel& model, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                   std::uint32_t c, std::uint32_t d) {
    ExactSum sum;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto x = decode<std::uint64_t>(model.a_format, a[i]);
        const auto y = decode<std::uint64_t>(model.b_format, b[i]);
        if (x.kind != Kind::finite || y.kind != Kind::finite) continue;
        sum.add(x.sign == y.sign, x.exponent + y.exponent, x.significand * y.significand);  // less the products
    }
    auto addend = decode<std::uint64_t>(model.accumulator, c);
    addend.sign = !addend.sign;
    sum.add(addend);
    sum.add(decode<std::uint64_t>(model.accumulator, d));
    const auto value = sum.value();
    if (value.kind == Kind::zero) return 0;
    const double size = std::ldexp(static_cast<double>(value.significand), value.exponent);
    return value.sign ? -size : size;
}

double exact_error(const TensorCoreModel&, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                   std::uint64_t c, std::uint64_t d) {
    const auto number = [](std::uint64_t code) { return std::bit_cast<double>(code); };
    ExactFp64Sum sum;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::isfinite(number(a[i])) && std::isfinite(number(b[i]))) sum.add_product(-number(a[i]), number(b[i]));
    }
    sum.add_product(-1, number(c));
    sum.add_product(1, number(d));
    return sum.value();
}

}  // namespace ulp
