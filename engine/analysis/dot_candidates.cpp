#include "engine/analysis/dot_candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "softfloat/arithmetic.hpp"
#include "softfloat/matrix_units/bound_operands.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/exact_sum.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {

namespace {

ExactSum exact_sum(const TensorCoreModel& model, const DotOperands& operands, bool& finite) {
    ExactSum sum;
    BlockSpecials specials;
    for (std::size_t k = 0; k < operands.a.size(); ++k) {
        const auto term = product_term(model, decoded(model.a_format, operands.a[k]),
                                       decoded(model.b_format, operands.b[k]), specials);
        if (term.significand != 0) sum.add(term.sign, term.exponent - term.point, term.significand);
    }
    addend_term(model, operands.c, specials);
    sum.add(decode<std::uint64_t>(model.accumulator, operands.c));
    finite = !specials.any();
    return sum;
}

double to_double(const Unpacked<std::uint64_t>& value) {
    if (value.kind == Kind::zero) return 0;
    const double magnitude = std::ldexp(static_cast<double>(value.significand), value.exponent);
    return value.sign ? -magnitude : magnitude;
}

bool all_finite(const TensorCoreModel& model, const Fp64Operands& operands) {
    const auto finite = [](const FloatFormat& format, std::uint64_t code) {
        return !is_nan(format, code) && !is_infinity(format, code);
    };
    const auto all = [&](const FloatFormat& format, const std::vector<std::uint64_t>& codes) {
        return std::ranges::all_of(codes, [&](std::uint64_t code) { return finite(format, code); });
    };
    return all(model.a_format, operands.a) && all(model.b_format, operands.b) && finite(model.accumulator, operands.c);
}

/// (result - exact) in units in the last place that the exact value would have in the format.
double error_of_result(const FloatFormat& format, ExactSum sum, std::uint64_t result) {
    auto value = decode<std::uint64_t>(format, result);
    if (value.kind == Kind::nan || value.kind == Kind::infinity) return std::numeric_limits<double>::quiet_NaN();
    const auto exact = sum.value();
    const int leading = exact.kind == Kind::zero ? format.emin() : exact.exponent + 63;
    value.sign = !value.sign;
    sum.add(value);
    const double error = -std::ldexp(to_double(sum.value()), format.fraction_bits - std::max(leading, format.emin()));
    return error == 0 ? 0 : error;  // no -0
}

double error_in_ulps(const TensorCoreModel& model, const DotOperands& operands, std::uint32_t result) {
    bool finite = true;
    const ExactSum sum = exact_sum(model, operands, finite);
    return finite ? error_of_result(model.accumulator, sum, result) : std::numeric_limits<double>::quiet_NaN();
}

double error_in_ulps(const TensorCoreModel& model, const Fp64Operands& operands, std::uint64_t result) {
    const FloatFormat& format = model.accumulator;
    if (!all_finite(model, operands) || is_nan(format, result) || is_infinity(format, result)) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    const double exact = exact_error(model, operands.a, operands.b, operands.c, std::uint64_t{0});
    const int leading = exact == 0 ? format.emin() : std::max(std::ilogb(exact), format.emin());
    const double error = exact_error(model, operands.a, operands.b, operands.c, result);
    return std::ldexp(error, format.fraction_bits - leading);
}

/// The operands in another order of k.
template <class Code, class Order>
BasicDotOperands<Code> reordered(const BasicDotOperands<Code>& operands, const Order& order) {
    BasicDotOperands<Code> other{{}, {}, operands.c};
    for (std::size_t i = 0; i < operands.a.size(); ++i) {
        other.a.push_back(operands.a[order(i)]);
        other.b.push_back(operands.b[order(i)]);
    }
    return other;
}

template <class Code>
Code chained(const TensorCoreModel& model, const BasicDotOperands<Code>& operands) {
    return chain_dot(model, operands.a.data(), operands.b.data(), operands.c,
                     static_cast<std::int64_t>(operands.a.size()));
}

/// Pieces of whole instructions, the first from c, the others from zero, added in ascending order.
template <class Code>
Code split(const TensorCoreModel& model, const BasicDotOperands<Code>& operands, std::size_t length) {
    std::uint64_t total = 0;
    const std::size_t k = operands.a.size();
    for (std::size_t first = 0; first < k; first += length) {
        const auto count = static_cast<std::int64_t>(std::min(length, k - first));
        const Code c = first == 0 ? operands.c : Code{0};
        const Code sum = chain_dot(model, operands.a.data() + first, operands.b.data() + first, c, count);
        total = first == 0 ? sum : add_nearest(model.accumulator, total, sum);
    }
    return static_cast<Code>(total);
}

TensorCoreModel loop_model(const TensorCoreModel& model, Summation summation) {
    TensorCoreModel loop = model;
    loop.summation = summation;
    loop.instruction_k = summation == Summation::even_odd_fma ? 2 : 1;
    loop.group_size = 1;
    return loop;
}

/// Products and sums each rounded, ascending k.
template <class Code>
Code plain_loop(const TensorCoreModel& model, const BasicDotOperands<Code>& operands) {
    using Word = std::conditional_t<std::is_same_v<Code, std::uint64_t>, UInt128, std::uint64_t>;
    const FloatFormat& format = model.accumulator;
    Context context;
    std::uint64_t sum = operands.c;
    for (std::size_t k = 0; k < operands.a.size(); ++k) {
        const std::uint64_t x = widened(model, model.a_format, operands.a[k]);
        const std::uint64_t y = widened(model, model.b_format, operands.b[k]);
        sum = add_nearest(format, sum, multiply_bits<Word>(format, x, y, context));
    }
    return static_cast<Code>(sum);
}

template <class Code>
Code balanced_tree(const TensorCoreModel& model, const BasicDotOperands<Code>& operands) {
    if (operands.a.empty()) return operands.c;
    const std::uint64_t sum =
        pairwise_sum(model, operands.a.data(), operands.b.data(), 0, static_cast<int>(operands.a.size()));
    return static_cast<Code>(add_nearest(model.accumulator, operands.c, sum));
}

/// All but the first, the smallest errors first.
void sort_by_error(std::vector<DotCandidate>& candidates) {
    std::stable_sort(candidates.begin() + 1, candidates.end(), [](const DotCandidate& x, const DotCandidate& y) {
        return std::abs(x.error_in_ulps) < std::abs(y.error_in_ulps);
    });
}

bool same_operands(const IntegerModel& x, const IntegerModel& y) {
    return x.bits == y.bits && x.a_signed == y.a_signed && x.b_signed == y.b_signed && x.product == y.product;
}
bool same_operands(const BlockScaledModel& x, const BlockScaledModel& y) {
    return x.unscaled.a_format == y.unscaled.a_format && x.unscaled.b_format == y.unscaled.b_format &&
           x.unscaled.accumulator == y.unscaled.accumulator && x.scale_format == y.scale_format &&
           x.scale_block == y.scale_block;
}

/// The unit and all rows with its operands; `compute` gives a result and its error.
template <class Model, class Compute>
std::vector<DotCandidate> candidates_of(const std::string& key, const Model& model, const Compute& compute) {
    std::vector<DotCandidate> candidates;
    const auto add = [&](const std::string& name, const Model& unit) {
        const auto [result, error] = compute(unit);
        candidates.push_back({name, result, error});
    };
    add(key, model);
    for (const UnitRow& row : unit_table()) {
        const auto* other = row.as<Model>();
        if (other != nullptr && row.key() != key && same_operands(model, *other)) add(row.key(), *other);
    }
    sort_by_error(candidates);
    return candidates;
}

}  // namespace

template <class Code>
std::vector<DotCandidate> dot_candidates(const std::string& key, const TensorCoreModel& model,
                                         const BasicDotOperands<Code>& operands) {
    std::vector<DotCandidate> candidates;
    const auto add = [&](std::string name, Code result) {
        candidates.push_back({std::move(name), result, error_in_ulps(model, operands, result)});
    };
    add(key, chained(model, operands));
    const std::size_t k = operands.a.size();
    add(key + ", descending k", chained(model, reordered(operands, [&](std::size_t i) { return k - 1 - i; })));
    add(key + ", even k first", chained(model, reordered(operands, [&](std::size_t i) {
                                            const std::size_t evens = (k + 1) / 2;
                                            return i < evens ? 2 * i : 2 * (i - evens) + 1;
                                        })));
    const auto step = static_cast<std::size_t>(model.instruction_k);
    for (const std::size_t pieces : {2U, 3U, 4U, 8U}) {
        const std::size_t length = ((k + step - 1) / step + pieces - 1) / pieces * step;
        if (length < k) add(fmt::format("{}, split-k {}", key, pieces), split(model, operands, length));
    }
    for (const std::size_t every : {32U, 64U, 128U, 256U}) {
        if (every % step != 0 || every >= k) continue;
        BasicDotOperands<Code> from_zero = operands;
        from_zero.c = 0;
        const Code sum = split(model, from_zero, every);
        add(fmt::format("{}, promoted every {}, c last", key, every),
            static_cast<Code>(add_nearest(model.accumulator, sum, operands.c)));
    }
    BasicDotOperands<Code> without_c = operands;
    without_c.c = 0;
    add(key + ", from zero, c last",
        static_cast<Code>(add_nearest(model.accumulator, chained(model, without_c), operands.c)));
    for (const UnitRow& row : unit_table()) {
        const auto* other = row.as<TensorCoreModel>();
        const bool same_types = other != nullptr && other->a_format == model.a_format &&
                                other->b_format == model.b_format && other->accumulator == model.accumulator;
        if (same_types && row.key() != key) add(row.key(), chained(*other, operands));
    }
    add("loop, each product and sum rounded", plain_loop(model, operands));
    add("loop of fused multiply-adds", chained(loop_model(model, Summation::fma_chain), operands));
    add("loop of fused multiply-adds, descending k",
        chained(loop_model(model, Summation::fma_chain),
                reordered(operands, [&](std::size_t i) { return k - 1 - i; })));
    add("balanced tree of rounded sums", balanced_tree(model, operands));
    sort_by_error(candidates);
    return candidates;
}
template std::vector<DotCandidate> dot_candidates(const std::string&, const TensorCoreModel&, const DotOperands&);
template std::vector<DotCandidate> dot_candidates(const std::string&, const TensorCoreModel&, const Fp64Operands&);

std::string exact_dot_text(const TensorCoreModel& model, const DotOperands& operands) {
    bool finite = true;
    const auto value = exact_sum(model, operands, finite).value();
    if (!finite) return "none: an infinity or a NaN takes part";
    return fmt::format("{:.17g}{}", to_double(value), (value.significand & 0x7FF) == 0 ? "" : "...");
}

std::string exact_dot_text(const TensorCoreModel& model, const Fp64Operands& operands) {
    if (!all_finite(model, operands)) return "none: an infinity or a NaN takes part";
    const double exact = -exact_error(model, operands.a, operands.b, operands.c, std::uint64_t{0});
    const double rest = exact_error(model, operands.a, operands.b, operands.c, std::bit_cast<std::uint64_t>(exact));
    return fmt::format("{:.17g}{}", exact, rest == 0 ? "" : "...");
}

std::vector<DotCandidate> integer_candidates(const std::string& key, const IntegerModel& model,
                                             const IntegerOperands& operands) {
    const auto k = static_cast<std::int64_t>(operands.a.size());
    std::int64_t exact = operands.c;
    for (std::size_t i = 0; i < operands.a.size(); ++i) exact += integer_product(model, operands.a[i], operands.b[i]);
    return candidates_of(key, model, [&](const IntegerModel& other) {
        const std::int32_t d = integer_dot(other, operands.a.data(), operands.b.data(), operands.c, k);
        return std::pair(static_cast<std::uint64_t>(static_cast<std::uint32_t>(d)), static_cast<double>(d - exact));
    });
}

std::vector<DotCandidate> scaled_candidates(const std::string& key, const BlockScaledModel& model,
                                            const ScaledOperands& operands) {
    const FloatFormat& format = model.unscaled.accumulator;
    return candidates_of(key, model, [&](const BlockScaledModel& other) {
        ExactSum exact;
        exact.add(decode<std::uint64_t>(format, operands.c));
        std::uint32_t result = operands.c;
        bool finite = true;
        for (const GroupSteps& group : steps_of_dot(other, operands)) {
            for (const GroupTerm& each : group.terms) {
                const BlockTerm& term = each.term;
                if (each.k >= 0 && term.significand != 0)
                    exact.add(term.sign, term.exponent - term.point, term.significand);
            }
            finite = finite && !group.special;
            result = group.result;
        }
        return std::pair(std::uint64_t{result},
                         finite ? error_of_result(format, exact, result) : std::numeric_limits<double>::quiet_NaN());
    });
}

}  // namespace ulp
