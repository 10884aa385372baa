#include "softfloat/matrix_units/block_steps.hpp"

#include <algorithm>
#include <stdexcept>

namespace ulp {

namespace {

/// One instruction's operands, filled up with zeros; `k` says which product of the dot product each one is.
struct Operands {
    std::vector<std::uint32_t> a, b;
    std::vector<int> k;
};

Operands operands_of(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, int first, int count) {
    Operands in;
    for (int k = first; k < first + count; ++k) {
        const auto at = static_cast<std::size_t>(k);
        in.a.push_back(at < a.size() ? a[at] : 0);
        in.b.push_back(at < b.size() ? b[at] : 0);
        in.k.push_back(k);
    }
    return in;
}

/// What one of the two fp16 instructions takes of an FP8 instruction.
Operands half_of(const TensorCoreModel& model, const Operands& in, bool second) {
    Operands half;
    for (int k = 0; k < model.instruction_k; ++k) {
        if (in_second_hmma(k) != second) continue;
        const auto at = static_cast<std::size_t>(k);
        half.a.push_back(static_cast<std::uint32_t>(fp16_code(model.a_format, in.a[at])));
        half.b.push_back(static_cast<std::uint32_t>(fp16_code(model.b_format, in.b[at])));
        half.k.push_back(in.k[at]);
    }
    return half;
}

bool loses_bits(const BlockTerm& term, int largest, int fraction_bits) {
    const int cut = largest - fraction_bits - (term.exponent - term.point);
    if (cut <= 0 || term.significand == 0) return false;
    return cut >= 64 || (term.significand << (64 - cut)) != 0;
}

/// The largest exponent, each term in its units, their sum.
void align_terms(GroupSteps& steps, const BlockSpecials& specials) {
    steps.special = specials.any();
    if (steps.special) return;
    steps.largest = steps.model.policies.exponent_floor;
    for (const GroupTerm& each : steps.terms) steps.largest = std::max(steps.largest, each.term.exponent);
    for (GroupTerm& each : steps.terms) {
        each.aligned = aligned_term(steps.model, each.term, steps.largest);
        each.cut = loses_bits(each.term, steps.largest, steps.model.fraction_bits);
        steps.sum += each.aligned;
    }
}

GroupSteps group_steps(const TensorCoreModel& model, const Operands& in, int first, std::uint32_t c) {
    const int count = std::min(model.group_size, model.instruction_k - first);
    GroupSteps steps{.model = model, .terms = {}};
    BlockSpecials specials;
    for (int i = first; i < first + count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const BlockTerm term =
            product_term(model, decoded(model.a_format, in.a[at]), decoded(model.b_format, in.b[at]), specials);
        steps.terms.push_back({in.k[at], in.a[at], in.b[at], term});
    }
    steps.terms.push_back({-1, c, 0, addend_term(model, c, specials)});
    steps.result = block_dot(model, in.a.data() + first, in.b.data() + first, c, count);
    align_terms(steps, specials);
    return steps;
}

/// The groups of one fused instruction; returns its result.
std::uint32_t add_groups(const TensorCoreModel& model, const Operands& in, std::uint32_t c, int instruction, int part,
                         std::vector<GroupSteps>& steps) {
    for (int first = 0; first < model.instruction_k; first += model.group_size) {
        steps.push_back(group_steps(model, in, first, c));
        steps.back().instruction = instruction;
        steps.back().part = part;
        c = steps.back().result;
    }
    return c;
}

/// `count` words from `first` on, filled up where there are no more.
std::vector<std::uint32_t> filled(const std::vector<std::uint32_t>& all, int first, int count, std::uint32_t filling) {
    std::vector<std::uint32_t> part;
    for (int i = first; i < first + count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        part.push_back(at < all.size() ? all[at] : filling);
    }
    return part;
}

/// The operands of the instruction that begins at product `first`.
ScaledOperands instruction_of(const BlockScaledModel& model, const ScaledOperands& all, int first) {
    const int k = model.unscaled.instruction_k;
    const int block = model.scale_block;
    Context context;
    const auto one = static_cast<std::uint32_t>(round_to_bits(model.scale_format, false, 0, std::uint64_t{1}, context));
    return {filled(all.a, first, k, 0), filled(all.b, first, k, 0), filled(all.a_scales, first / block, k / block, one),
            filled(all.b_scales, first / block, k / block, one), all.c};
}

GroupSteps scaled_group(const BlockScaledModel& model, const ScaledOperands& in, int first) {
    GroupSteps steps{.model = model.unscaled, .instruction = first / model.unscaled.instruction_k, .terms = {}};
    BlockSpecials specials;
    for (std::size_t k = 0; k < in.a.size(); k += static_cast<std::size_t>(model.exact_products)) {
        const std::size_t block = k / static_cast<std::size_t>(model.scale_block);
        GroupTerm each{.k = first + static_cast<int>(k), .a = in.a[k], .b = in.b[k]};
        each.products = model.exact_products;
        each.a_scale = in.a_scales[block];
        each.b_scale = in.b_scales[block];
        const Scale x = decode_scale(model.scale_format, each.a_scale);
        const Scale y = decode_scale(model.scale_format, each.b_scale);
        specials.nan = specials.nan || x.nan || y.nan;
        each.term = scaled_term(model, &in.a[k], &in.b[k], x, y, specials);
        steps.terms.push_back(each);
    }
    steps.terms.push_back({.k = -1, .a = in.c, .term = addend_term(model.unscaled, in.c, specials)});
    steps.result = block_scaled_dot(model, in.a.data(), in.b.data(), in.a_scales.data(), in.b_scales.data(), in.c);
    align_terms(steps, specials);
    return steps;
}

}  // namespace

std::vector<GroupSteps> steps_of_dot(const BlockScaledModel& model, const ScaledOperands& operands) {
    if (operands.a.size() != operands.b.size()) {
        throw std::invalid_argument("a and b of a dot product have different lengths");
    }
    std::vector<GroupSteps> steps;
    ScaledOperands rest = operands;
    for (int first = 0; first < static_cast<int>(operands.a.size()); first += model.unscaled.instruction_k) {
        steps.push_back(scaled_group(model, instruction_of(model, rest, first), first));
        rest.c = steps.back().result;
    }
    return steps;
}

std::uint32_t unscaled_sum(const BlockScaledModel& model, const ScaledOperands& operands, const GroupTerm& term) {
    const TensorCoreModel& unscaled = model.unscaled;
    const auto a = filled(operands.a, term.k, term.products, 0);
    const auto b = filled(operands.b, term.k, term.products, 0);
    BlockSpecials specials;
    const BlockTerm sum = scaled_term(model, a.data(), b.data(), {false, 0, 1}, {false, 0, 1}, specials);
    const int unit = unscaled.a_format.smallest_exponent() + unscaled.b_format.smallest_exponent();
    const int exponent = model.exact_products == 1 ? sum.exponent - sum.point : unit;
    Context exact;
    if (sum.significand == 0) return 0;
    return static_cast<std::uint32_t>(round_to_bits(formats::fp32, sum.sign, exponent, sum.significand, exact));
}

std::vector<GroupSteps> steps_of_dot(const TensorCoreModel& model, std::span<const std::uint32_t> a,
                                     std::span<const std::uint32_t> b, std::uint32_t c) {
    if (a.size() != b.size()) throw std::invalid_argument("a and b of a dot product have different lengths");
    if (!is_fused(model)) throw std::invalid_argument("this model adds its products one by one, not in groups");
    if (is_varied(model)) throw std::invalid_argument("these steps are those of the table's rows alone");
    std::vector<GroupSteps> steps;
    for (int first = 0; first < static_cast<int>(a.size()); first += model.instruction_k) {
        const int instruction = first / model.instruction_k;
        const Operands in = operands_of(a, b, first, model.instruction_k);
        if (model.summation == Summation::fused) {
            c = add_groups(model, in, c, instruction, 0, steps);
            continue;
        }
        const TensorCoreModel hmma = emulating_hmma(model);
        const std::uint32_t sum = add_groups(hmma, half_of(model, in, false), 0, instruction, 0, steps);
        add_groups(hmma, half_of(model, in, true), sum, instruction, 1, steps);  // c is added outside of the groups
    }
    return steps;
}

}  // namespace ulp
