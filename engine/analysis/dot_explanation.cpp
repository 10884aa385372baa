#include "engine/analysis/dot_explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "engine/analysis/unit_explanation.hpp"
#include "softfloat/matrix_units/block_steps.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/names.hpp"
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

}  // namespace

std::string explain_dot(const TensorCoreModel& model, const DotOperands& operands) {
    const bool varied = is_varied(model) && model.summation == Summation::fused;
    const std::string text = varied            ? explain_varied(model, operands)
                             : is_fused(model) ? explain_groups(model, operands)
                                               : explain_chained(model, operands);
    const std::uint32_t result = chain_dot(model, operands.a.data(), operands.b.data(), operands.c,
                                           static_cast<std::int64_t>(size_of(operands)));
    return text + "result " + number(model.accumulator, result) + "\n";
}

}  // namespace ulp
