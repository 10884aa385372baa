#include "engine/analysis/unit_explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/names.hpp"
#include "softfloat/text.hpp"

namespace ulp {

namespace {

std::string number(const FloatFormat& format, std::uint64_t code) {
    return fmt::format("{} ({})", to_hex_bits(format, code), to_decimal(format, code));
}

/// One instruction's operands of a longer dot product, filled up with zeros.
template <class Code>
std::vector<Code> padded(const std::vector<Code>& all, std::size_t first, std::size_t count) {
    std::vector<Code> part(count);
    for (std::size_t i = 0; i < count && first + i < all.size(); ++i) part[i] = all[first + i];
    return part;
}

std::string instruction_header(std::size_t k, int instruction_k, std::size_t first) {
    const auto step = static_cast<std::size_t>(instruction_k);
    return k > step ? fmt::format("instruction {}\n", first / step + 1) : "";
}

/// Adds products to a running sum one by one, and writes it down.
template <class Code>
class Chain {
  public:
    Chain(const TensorCoreModel& model, const BasicDotOperands<Code>& in, std::string& text)
        : model_(model), in_(in), text_(text) {}
    std::uint64_t add(std::uint64_t sum, std::size_t k) {
        const std::uint64_t x = widened(model_, model_.a_format, in_.a[k]);
        const std::uint64_t y = widened(model_, model_.b_format, in_.b[k]);
        const std::uint64_t d = chained_fma(model_, x, y, sum);
        const FloatFormat& format = model_.accumulator;
        text_ += fmt::format("  k{:<3} fma({}, {}, {}) = {}\n", k, to_decimal(format, x), to_decimal(format, y),
                             to_decimal(format, sum), number(format, d));
        return d;
    }

  private:
    const TensorCoreModel& model_;
    const BasicDotOperands<Code>& in_;
    std::string& text_;
};

std::string_view way_of(Summation summation) {
    switch (summation) {
        case Summation::pairwise: return "products rounded, added in pairs, then to c, each sum rounded";
        case Summation::exact: return "products and c added exactly, rounded once";
        case Summation::late_addend: return "products aligned and truncated, then c aligned to their sum";
        case Summation::late_addend_even_odd: return "even and odd products summed separately, then c aligned to them";
        default: return "";
    }
}

/// Groups of products that are added to c at once.
template <class Code>
std::string explain_groups_of(const TensorCoreModel& model, const BasicDotOperands<Code>& in, Code c) {
    TensorCoreModel group = model;
    group.instruction_k = model.group_size;
    std::string text;
    for (int first = 0; first < model.instruction_k; first += model.group_size) {
        const Code d = chain_dot(group, in.a.data() + first, in.b.data() + first, c, model.group_size);
        text += fmt::format("  k{} to k{}: {}: {} -> {}\n", first, first + model.group_size - 1,
                            way_of(model.summation), to_decimal(model.accumulator, c), number(model.accumulator, d));
        c = d;
    }
    return text;
}

/// One instruction of a unit of ordinary operations.
template <class Code>
std::string explain_instruction(const TensorCoreModel& given, const BasicDotOperands<Code>& operands) {
    TensorCoreModel model = given;
    model.variation.order = LaneOrder::ascending;
    BasicDotOperands<Code> in{{}, {}, operands.c};
    for (int i = 0; i < model.instruction_k; ++i) {
        const auto k = static_cast<std::size_t>(lane_at(given.variation.order, model.instruction_k, i));
        in.a.push_back(operands.a[k]);
        in.b.push_back(operands.b[k]);
    }
    std::string text;
    if (model != given) text += "  the products in the unit's own order\n";
    Chain chain(model, in, text);
    std::uint64_t sum = in.c;
    const auto k = static_cast<std::size_t>(model.instruction_k);
    if (model.summation == Summation::fma_chain) {
        for (std::size_t i = 0; i < k; ++i) sum = chain.add(sum, i);
    } else if (model.summation == Summation::fma_pairs) {
        for (std::size_t i = 0; i < k; i += 2) sum = chain.add(chain.add(sum, i + 1), i);
    } else if (model.summation == Summation::even_odd_fma) {
        std::uint64_t parts[2] = {0, 0};
        for (const std::size_t part : {0U, 1U}) {
            text += part == 0 ? "  even k, from zero\n" : "  odd k, from zero\n";
            for (std::size_t i = part; i < k; i += 2) parts[part] = chain.add(parts[part], i);
        }
        const std::uint64_t both = chained_add(model, parts[0], parts[1]);
        text += fmt::format("  even + odd = {}\n", number(model.accumulator, both));
        text += fmt::format("  c + that = {}\n", number(model.accumulator, chained_add(model, in.c, both)));
    } else {
        text += explain_groups_of(model, in, in.c);
    }
    return text;
}

/// A group of a varied unit: each term in units of 2^(M - F), their sum and what becomes of it.
std::uint32_t explain_varied_group(const TensorCoreModel& model, const DotOperands& in, int first, std::uint32_t c,
                                   std::string& text) {
    const int count = std::min(model.group_size, model.instruction_k - first);
    BlockSpecials specials;
    std::vector<std::pair<std::string, BlockTerm>> terms;
    for (int k = first; k < first + count; ++k) {
        const auto at = static_cast<std::size_t>(k);
        const DecodedOperand x = decoded(model.a_format, in.a[at]);
        const DecodedOperand y = decoded(model.b_format, in.b[at]);
        terms.emplace_back(
            fmt::format("{} * {}", to_decimal(model.a_format, in.a[at]), to_decimal(model.b_format, in.b[at])),
            varied_product(model, x, y, specials));
    }
    const std::uint64_t addend = model.variation.flush_addend ? flushed(model.accumulator, std::uint64_t{c}) : c;
    terms.emplace_back("c = " + to_decimal(model.accumulator, addend), addend_term(model, addend, specials));
    const std::uint32_t d = varied_group(model, in.a.data() + first, in.b.data() + first, c, count);
    if (!specials.any()) {
        int largest = model.policies.exponent_floor;
        for (const auto& [name, term] : terms) largest = std::max(largest, term.exponent);
        const int last = largest - model.fraction_bits - (model.variation.sticky ? 1 : 0);
        const bool c_sign = sign_of(model.accumulator, addend);
        text += fmt::format("  largest exponent {}; terms in units of 2^{}{}{}\n", largest, last,
                            model.variation.sticky ? ", the last bit sticky" : "",
                            model.variation.invert_opposing ? ", those against c's sign inverted" : "");
        for (const auto& [name, term] : terms) {
            if (term.significand == 0) continue;
            text += fmt::format("    {:<30} {}{}\n", name, term.sign ? '-' : '+',
                                aligned_magnitude(model, term, largest, c_sign));
        }
    }
    text += fmt::format("  {}: {}\n", specials.any() ? "an infinity or a NaN decides" : "their sum, rounded",
                        number(model.accumulator, d));
    return d;
}

/// What a varied unit does with c and with the order of its products, then its groups.
std::string explain_varied_instruction(const TensorCoreModel& model, const DotOperands& given) {
    DotOperands in{{}, {}, given.c};
    bool products = false;
    for (int i = 0; i < model.instruction_k; ++i) {
        const auto k = static_cast<std::size_t>(lane_at(model.variation.order, model.instruction_k, i));
        in.a.push_back(given.a[k]);
        in.b.push_back(given.b[k]);
        products = products || is_product(model, given.a[k], given.b[k]);
    }
    const AddendEntry entry = model.variation.addend;
    const bool late = entry == AddendEntry::after_products;
    const bool drops = entry == AddendEntry::never || (entry == AddendEntry::beside_zeros_alone && products);
    std::string text;
    if (model.variation.order != LaneOrder::ascending) {
        text += model.variation.order == LaneOrder::descending ? "  products in descending k\n"
                                                               : "  products with even k first\n";
    }
    if (drops) text += "  c is dropped\n";
    std::uint32_t sum = late || drops ? 0 : in.c;
    for (int first = 0; first < model.instruction_k; first += model.group_size) {
        text += fmt::format("group of {} products, F = {}\n", std::min(model.group_size, model.instruction_k - first),
                            model.fraction_bits);
        sum = explain_varied_group(model, in, first, sum, text);
    }
    if (late) {
        text += fmt::format("then c is added, to nearest even: {}\n",
                            number(model.accumulator, add_late(model, sum, in.c)));
    }
    return text;
}

std::string name_of_terms(const GroupTerm& each) {
    if (each.k < 0) return "c";
    return each.products == 1 ? fmt::format("k{}", each.k)
                              : fmt::format("k{} to k{}", each.k, each.k + each.products - 1);
}

std::string describe_scaled_sum(const GroupSteps& group) {
    const TensorCoreModel& model = group.model;
    std::string text = fmt::format("  largest exponent M = {}; each term in units of 2^(M-{}), cut toward zero\n",
                                   group.largest, model.fraction_bits);
    for (const GroupTerm& each : group.terms) {
        if (each.term.significand != 0) text += fmt::format("    {:<12} {}\n", name_of_terms(each), each.aligned);
    }
    return text + fmt::format("  sum {}, rounded {}: {}\n", group.sum,
                              model.rounding == Rounding::toward_zero ? "toward zero" : "to nearest even",
                              number(model.accumulator, group.result));
}

/// One instruction of a block-scaled unit.
std::string describe_scaled_group(const BlockScaledModel& model, const GroupSteps& group) {
    std::string text;
    for (std::size_t i = 0; i + 1 < group.terms.size();
         i += static_cast<std::size_t>(model.scale_block / model.exact_products)) {
        const GroupTerm& each = group.terms[i];
        text += fmt::format("  scales of k{} to k{}: {} and {}\n", each.k, each.k + model.scale_block - 1,
                            to_decimal(model.scale_format, each.a_scale), to_decimal(model.scale_format, each.b_scale));
    }
    if (!group.special) return text + describe_scaled_sum(group);
    return text + "  an infinity or a NaN decides: " + number(model.unscaled.accumulator, group.result) + "\n";
}

/// All instructions; c becomes the result.
template <class Code>
std::string explain_instructions(const TensorCoreModel& model, const BasicDotOperands<Code>& operands, Code& c) {
    std::string text;
    BasicDotOperands<Code> in{{}, {}, c};
    const auto step = static_cast<std::size_t>(model.instruction_k);
    for (std::size_t first = 0; first < operands.a.size(); first += step) {
        in.a = padded(operands.a, first, step);
        in.b = padded(operands.b, first, step);
        text += instruction_header(operands.a.size(), model.instruction_k, first) + explain_instruction(model, in);
        in.c = chain_dot(model, in.a.data(), in.b.data(), in.c, model.instruction_k);
    }
    c = in.c;
    return text;
}

}  // namespace

std::string explain_varied(const TensorCoreModel& model, const DotOperands& operands) {
    std::string text;
    std::uint32_t c = operands.c;
    const auto step = static_cast<std::size_t>(model.instruction_k);
    for (std::size_t first = 0; first < operands.a.size(); first += step) {
        const DotOperands in{padded(operands.a, first, step), padded(operands.b, first, step), c};
        c = chain_dot(model, in.a.data(), in.b.data(), in.c, model.instruction_k);
        text += instruction_header(operands.a.size(), model.instruction_k, first);
        text += explain_varied_instruction(model, in) + "  result " + number(model.accumulator, c) + "\n";
    }
    return text;
}

std::string explain_chained(const TensorCoreModel& model, const DotOperands& operands) {
    std::uint32_t c = operands.c;
    return explain_instructions(model, operands, c);
}

std::string explain_fp64(const TensorCoreModel& model, const Fp64Operands& operands) {
    std::uint64_t c = operands.c;
    const std::string text = explain_instructions(model, operands, c);
    return text + "result " + number(model.accumulator, c) + "\n";
}

std::string explain_integers(const IntegerModel& model, const IntegerOperands& operands) {
    std::string text;
    std::int32_t c = operands.c;
    const std::size_t k = operands.a.size();
    const auto step = static_cast<std::size_t>(model.instruction_k);
    for (std::size_t first = 0; first < k; first += step) {
        text += instruction_header(k, model.instruction_k, first);
        std::int64_t sum = 0;
        for (std::size_t i = first; i < std::min(k, first + step); ++i) {
            const std::int64_t product = integer_product(model, operands.a[i], operands.b[i]);
            text += fmt::format("  k{:<3} {} with {}: {}\n", i, operands.a[i], operands.b[i], product);
            sum += product;
        }
        const std::int32_t d = accumulate(model, sum, c);
        text += fmt::format("  sum of the products {}, plus c = {}: {}\n", sum, c, sum + c);
        if (sum + c != d) text += fmt::format("  beyond s32: {} {}\n", model.saturates ? "clamped to" : "wraps to", d);
        c = d;
    }
    return text + fmt::format("result {}\n", c);
}

std::string explain_block_scaled(const BlockScaledModel& model, const ScaledOperands& operands) {
    for (const auto* scales : {&operands.a_scales, &operands.b_scales}) {
        for (const std::uint32_t code : *scales) {
            if (!sign_of(model.scale_format, code)) continue;
            throw std::invalid_argument("scale " + to_decimal(model.scale_format, code) +
                                        ": scales have no sign; give it to the elements");
        }
    }
    std::string text;
    std::uint32_t result = operands.c;
    for (const GroupSteps& group : steps_of_dot(model, operands)) {
        text += instruction_header(operands.a.size(), model.unscaled.instruction_k,
                                   static_cast<std::size_t>(group.instruction * model.unscaled.instruction_k));
        text += describe_scaled_group(model, group);
        result = group.result;
    }
    return text + "result " + number(model.unscaled.accumulator, result) + "\n";
}

}  // namespace ulp
