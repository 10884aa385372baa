#include "experiments/commands/explaining/dot_explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "experiments/commands/explaining/unit_explanation.hpp"
#include "softfloat/format_names.hpp"
#include "softfloat/matrix_units/block_steps.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/exact_sum.hpp"
#include "softfloat/matrix_units/table/units.hpp"
#include "softfloat/text.hpp"

namespace ulp {

namespace {

std::string number(const FloatFormat& format, std::uint64_t code) {
    return fmt::format("{} ({})", to_hex_bits(format, code), to_decimal(format, code));
}

/// Binary digits of significand * 2^-point: "10.01".
std::string binary(std::uint64_t significand, int point) {
    std::string digits;
    for (int place = 1; place >= -point; --place) {
        const int bit = place + point;
        digits += (bit < 64 && (significand >> bit & 1) != 0) ? '1' : '0';
        if (place == 0 && point > 0) digits += '.';
    }
    return digits;
}

/// The term's digits from 2^(largest + 1) down; a bar stands where they are cut.
std::string aligned_digits(const BlockTerm& term, int largest, int fraction_bits) {
    constexpr int most_cut = 12;
    const int lowest = term.exponent - term.point;
    std::string digits;
    const int last_one = term.significand == 0 ? 0 : std::countr_zero(term.significand);
    int end = std::min(lowest + last_one, largest - fraction_bits);
    const bool more = end < largest - fraction_bits - most_cut;
    if (more) end = largest - fraction_bits - most_cut;
    for (int place = largest + 1; place >= end; --place) {
        const int bit = place - lowest;
        digits += bit >= 0 && bit < 64 && (term.significand >> bit & 1) != 0 ? '1' : '0';
        if (place == largest) digits += '.';
        if (place == largest - fraction_bits) digits += '|';
    }
    return digits + (more && term.significand != 0 ? "..." : "");
}

/// "k3" and "1.5 * 2", or "c" and its value.
std::string name_of(const GroupTerm& each) { return each.k < 0 ? "c" : fmt::format("k{}", each.k); }
std::string origin_of(const TensorCoreModel& model, const GroupTerm& each) {
    if (each.k < 0) return to_decimal(model.accumulator, each.a);
    return to_decimal(model.a_format, each.a) + " * " + to_decimal(model.b_format, each.b);
}

std::string describe_terms(const GroupSteps& group) {
    std::string text;
    for (const GroupTerm& each : group.terms) {
        if (each.term.significand == 0) continue;
        text +=
            fmt::format("    {:<5} {:<28} {}{} * 2^{}\n", name_of(each), origin_of(group.model, each),
                        each.term.sign ? '-' : '+', binary(each.term.significand, each.term.point), each.term.exponent);
    }
    return text;
}

std::string describe_alignment(const GroupSteps& group) {
    std::string text;
    for (const GroupTerm& each : group.terms) {
        if (each.term.significand == 0) continue;
        text +=
            fmt::format("    {:<5} {}{}{}\n", name_of(each), each.term.sign ? '-' : '+',
                        aligned_digits(each.term, group.largest, group.model.fraction_bits), each.cut ? "  cut" : "");
    }
    return text;
}

std::string describe_rounding(const TensorCoreModel& model, std::int64_t sum, int exponent, std::uint64_t result) {
    if (sum == 0) return "  the sum is exactly zero: +0\n";
    const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
    const int length = bit_length(magnitude);
    const int leading = exponent + length - 1;
    const int kept = std::min(length, model.output_fraction_bits + 1);
    std::string digits;
    for (int bit = length - 1; bit >= 0; --bit) {
        digits += (magnitude >> bit & 1) != 0 ? '1' : '0';
        if (bit == length - 1) digits += '.';
        if (bit == length - kept) digits += '|';
    }
    return fmt::format(
        "  sum        {}{} * 2^{}\n  normalised {}{} * 2^{}; {} after the bar goes\n  rounded {} to {} "
        "fraction bits: {}\n",
        sum < 0 ? "-" : "", magnitude, exponent, sum < 0 ? "-" : "", digits, leading,
        digits.ends_with('|') ? "nothing" : "what is",
        model.rounding == Rounding::toward_zero ? "toward zero" : "to nearest even", model.output_fraction_bits,
        number(model.accumulator, result));
}

std::string describe_group(const GroupSteps& group) {
    const TensorCoreModel& model = group.model;
    std::string text = fmt::format("group of {} products, F = {}\n", group.terms.size() - 1, model.fraction_bits);
    if (group.special) {
        return text + "  an infinity or a NaN decides: " + number(model.accumulator, group.result) + "\n";
    }
    text += "  terms, as products of significands: not normalised, from 0 to just below 4\n" + describe_terms(group);
    text += fmt::format("  largest exponent M = {}; each term in units of 2^(M-F) = 2^{}, cut at the bar\n",
                        group.largest, group.largest - model.fraction_bits);
    text += describe_alignment(group);
    return text + describe_rounding(model, group.sum, group.largest - model.fraction_bits, group.result);
}

std::size_t size_of(const DotOperands& operands) { return operands.a.size(); }

std::string instruction_header(const TensorCoreModel& model, const DotOperands& operands, int instruction) {
    const bool several = size_of(operands) > static_cast<std::size_t>(model.instruction_k);
    return several ? fmt::format("instruction {}\n", instruction + 1) : "";
}

/// FP8 on sm_90 and sm_100: c comes after the two fp16 instructions.
std::string describe_late_c(const TensorCoreModel& model, std::uint32_t sum, std::uint32_t c, std::uint32_t result) {
    return fmt::format("then c is added, to nearest even: {} + {} = {}\n", to_decimal(model.accumulator, sum),
                       to_decimal(model.accumulator, c), number(model.accumulator, result));
}

/// The groups of all instructions.
std::string explain_groups(const TensorCoreModel& model, const DotOperands& operands) {
    const bool emulated = model.summation == Summation::fp8_by_hmma;
    const auto groups = steps_of_dot(model, operands.a, operands.b, operands.c);
    std::string text;
    std::uint32_t c = operands.c;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const GroupSteps& group = groups[i];
        const bool first = i == 0 || groups[i - 1].instruction != group.instruction;
        const bool last = i + 1 == groups.size() || groups[i + 1].instruction != group.instruction;
        if (first) text += instruction_header(model, operands, group.instruction);
        if (emulated && (first || groups[i - 1].part != group.part)) {
            const char* const which = group.part == 1 ? "{2, 3}" : "{0, 1}";
            text += fmt::format("fp16 instruction {}: k mod 4 in {}\n", group.part + 1, which);
        }
        text += describe_group(group);
        if (!emulated || !last) continue;
        const auto result = static_cast<std::uint32_t>(add_nearest(model.accumulator, group.result, c));
        text += describe_late_c(model, group.result, c, result);
        c = result;
    }
    return text;
}

ExactSum exact_sum(const TensorCoreModel& model, const DotOperands& operands, bool& finite) {
    ExactSum sum;
    BlockSpecials specials;
    for (std::size_t k = 0; k < size_of(operands); ++k) {
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

double error_in_ulps(const TensorCoreModel& model, const DotOperands& operands, std::uint32_t result) {
    bool finite = true;
    ExactSum sum = exact_sum(model, operands, finite);
    auto value = decode<std::uint64_t>(model.accumulator, result);
    if (!finite || value.kind == Kind::nan || value.kind == Kind::infinity) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    const auto exact = sum.value();
    const int leading = exact.kind == Kind::zero ? model.accumulator.emin() : exact.exponent + 63;
    const int ulp = std::max(leading, model.accumulator.emin()) - model.accumulator.fraction_bits;
    value.sign = !value.sign;
    sum.add(value);
    const double error = -std::ldexp(to_double(sum.value()), -ulp);
    return error == 0 ? 0 : error;  // no -0
}

/// The operands in another order of k.
template <class Order>
DotOperands reordered(const DotOperands& operands, const Order& order) {
    DotOperands other{{}, {}, operands.c};
    for (std::size_t i = 0; i < size_of(operands); ++i) {
        other.a.push_back(operands.a[order(i)]);
        other.b.push_back(operands.b[order(i)]);
    }
    return other;
}

std::uint32_t chained(const TensorCoreModel& model, const DotOperands& operands) {
    return chain_dot(model, operands.a.data(), operands.b.data(), operands.c,
                     static_cast<std::int64_t>(size_of(operands)));
}

/// Pieces of whole instructions, the first from c, the others from zero, added in ascending order.
std::uint32_t split(const TensorCoreModel& model, const DotOperands& operands, std::size_t length) {
    std::uint64_t total = 0;
    for (std::size_t first = 0; first < size_of(operands); first += length) {
        const auto count = static_cast<std::int64_t>(std::min(length, size_of(operands) - first));
        const std::uint32_t c = first == 0 ? operands.c : 0;
        const std::uint32_t sum = chain_dot(model, operands.a.data() + first, operands.b.data() + first, c, count);
        total = first == 0 ? sum : add_nearest(model.accumulator, total, sum);
    }
    return static_cast<std::uint32_t>(total);
}

TensorCoreModel loop_model(const TensorCoreModel& model, Summation summation) {
    TensorCoreModel loop = model;
    loop.summation = summation;
    loop.instruction_k = summation == Summation::even_odd_fma ? 2 : 1;
    loop.group_size = 1;
    return loop;
}

/// Products and sums each rounded, ascending k.
std::uint32_t plain_loop(const TensorCoreModel& model, const DotOperands& operands) {
    const FloatFormat& format = model.accumulator;
    Context context;
    std::uint64_t sum = operands.c;
    for (std::size_t k = 0; k < size_of(operands); ++k) {
        const std::uint64_t x = widened(model, model.a_format, operands.a[k]);
        const std::uint64_t y = widened(model, model.b_format, operands.b[k]);
        sum = add_nearest(format, sum, multiply_bits<std::uint64_t>(format, x, y, context));
    }
    return static_cast<std::uint32_t>(sum);
}

std::uint32_t balanced_tree(const TensorCoreModel& model, const DotOperands& operands) {
    if (operands.a.empty()) return operands.c;
    const std::uint64_t sum =
        pairwise_sum(model, operands.a.data(), operands.b.data(), 0, static_cast<int>(size_of(operands)));
    return static_cast<std::uint32_t>(add_nearest(model.accumulator, operands.c, sum));
}

}  // namespace

std::string explain_dot(const TensorCoreModel& model, const DotOperands& operands) {
    const bool varied = is_varied(model) && model.summation == Summation::fused;
    const std::string text = varied            ? explain_varied(model, operands)
                             : is_fused(model) ? explain_groups(model, operands)
                                               : explain_chained(model, operands);
    return text + "result " + number(model.accumulator, chained(model, operands)) + "\n";
}

std::vector<DotCandidate> dot_candidates(const std::string& key, const TensorCoreModel& model,
                                         const DotOperands& operands) {
    std::vector<DotCandidate> candidates;
    const auto add = [&](std::string name, std::uint32_t result) {
        candidates.push_back({std::move(name), result, error_in_ulps(model, operands, result)});
    };
    add(key, chained(model, operands));
    const std::size_t k = size_of(operands);
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
        DotOperands from_zero = operands;
        from_zero.c = 0;
        const std::uint32_t sum = split(model, from_zero, every);
        add(fmt::format("{}, promoted every {}, c last", key, every),
            static_cast<std::uint32_t>(add_nearest(model.accumulator, sum, operands.c)));
    }
    DotOperands without_c = operands;
    without_c.c = 0;
    add(key + ", from zero, c last",
        static_cast<std::uint32_t>(add_nearest(model.accumulator, chained(model, without_c), operands.c)));
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
    std::stable_sort(candidates.begin() + 1, candidates.end(), [](const DotCandidate& x, const DotCandidate& y) {
        return std::abs(x.error_in_ulps) < std::abs(y.error_in_ulps);
    });
    return candidates;
}

std::string exact_dot_text(const TensorCoreModel& model, const DotOperands& operands) {
    bool finite = true;
    const auto value = exact_sum(model, operands, finite).value();
    if (!finite) return "none: an infinity or a NaN takes part";
    return fmt::format("{:.17g}{}", to_double(value), (value.significand & 0x7FF) == 0 ? "" : "...");
}

}  // namespace ulp
