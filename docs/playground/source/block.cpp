// The question `block`: a dot product of any row of the table, step by step. Units that align their products show
// groups of terms; of the others each operation is a line, the one that `ulplab explain` prints.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "docs/playground/source/block_parts.hpp"

namespace playground {
namespace {

/// Nothing where an infinity or a NaN takes part.
std::vector<std::string> exact_way(const TensorCoreModel& model, const DotOperands& dot) {
    BlockSpecials specials;
    addend_term(model, dot.c, specials);
    if (specials.any()) return {};
    ExactWay exact(model.accumulator, dot.c);
    for (std::size_t k = 0; k < dot.a.size(); ++k) {
        exact.add(product_term(model, decoded(model.a_format, dot.a[k]), decoded(model.b_format, dot.b[k]), specials));
    }
    return specials.any() ? std::vector<std::string>() : std::vector{exact.json()};
}

/// Lines of `ulplab explain` without the result, which the page shows itself.
std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (const std::string& line : split(text, '\n')) {
        if (!line.empty() && !line.starts_with("result ")) lines.push_back(quoted(line));
    }
    return lines;
}

template <class Code>
Code chained(const TensorCoreModel& model, const BasicDotOperands<Code>& dot) {
    return chain_dot(model, dot.a.data(), dot.b.data(), dot.c, static_cast<std::int64_t>(dot.a.size()));
}

template <class Code>
BlockAnswer answer_in(const TensorCoreModel& model, const BlockQuestion& question) {
    const auto dot = operands_of<Code>(model, question);
    BlockAnswer answer;
    if constexpr (std::is_same_v<Code, std::uint64_t>) {
        answer.lines = lines_of(explain_fp64(model, dot));
    } else {
        answer.others = exact_way(model, dot);
        if (is_fused(model)) {
            for (const GroupSteps& group : steps_of_dot(model, dot.a, dot.b, dot.c)) {
                answer.groups.push_back(group_json(group, product_text));
            }
        } else {
            answer.lines = lines_of(explain_chained(model, dot));
        }
    }
    for (const auto& [other, its] : rows_of<TensorCoreModel>()) {
        const bool same_types =
            its.a_format == model.a_format && its.b_format == model.b_format && its.accumulator == model.accumulator;
        if (same_types) answer.others.push_back(way_json(other, model.accumulator, chained(its, dot)));
    }
    const Code result = chained(model, dot);
    answer.hex = to_hex_bits(model.accumulator, result);
    answer.decimal = to_decimal(model.accumulator, result);
    return answer;
}

BlockAnswer answer_of(const TensorCoreModel& model, const BlockQuestion& question) {
    return model.accumulator == formats::fp64 ? answer_in<std::uint64_t>(model, question)
                                              : answer_in<std::uint32_t>(model, question);
}

std::uint32_t scaled_result(const BlockScaledModel& model, const ScaledOperands& dot) {
    const auto groups = steps_of_dot(model, dot);
    return groups.empty() ? dot.c : groups.back().result;
}

BlockAnswer answer_of(const BlockScaledModel& model, const BlockQuestion& question) {
    const auto elements = operands_of<std::uint32_t>(model.unscaled, question);
    const ScaledOperands dot{elements.a, elements.b, scales_of(model.scale_format, question.a_scales),
                             scales_of(model.scale_format, question.b_scales), elements.c};
    const std::size_t blocks =
        (dot.a.size() + static_cast<std::size_t>(model.scale_block) - 1) / static_cast<std::size_t>(model.scale_block);
    if (std::max(dot.a_scales.size(), dot.b_scales.size()) > blocks) {
        throw std::invalid_argument("give one scale for " + std::to_string(model.scale_block) + " products, not more");
    }
    const auto origin = [&](const TensorCoreModel& unit, const GroupTerm& each) {
        const std::string elements_text = each.products == 1
                                              ? product_text(unit, each)
                                              : "sum " + to_decimal(formats::fp32, unscaled_sum(model, dot, each));
        return elements_text + " \u00d7 scales " + scale_text(model.scale_format, each.a_scale) + " \u00d7 " +
               scale_text(model.scale_format, each.b_scale);
    };
    BlockAnswer answer;
    ExactWay exact(model.unscaled.accumulator, dot.c);
    bool special = false;
    for (const GroupSteps& group : steps_of_dot(model, dot)) {
        answer.groups.push_back(group_json(group, origin));
        special = special || group.special;
        for (const GroupTerm& each : group.terms) {
            if (each.k >= 0) exact.add(each.term);
        }
    }
    if (!special) answer.others.push_back(exact.json());
    for (const auto& [other, its] : rows_of<BlockScaledModel>()) {
        const bool same_types = its.unscaled.a_format == model.unscaled.a_format &&
                                its.unscaled.b_format == model.unscaled.b_format &&
                                its.scale_format == model.scale_format && its.scale_block == model.scale_block;
        if (same_types) answer.others.push_back(way_json(other, formats::fp32, scaled_result(its, dot)));
    }
    const std::uint32_t result = scaled_result(model, dot);
    answer.hex = to_hex_bits(formats::fp32, result);
    answer.decimal = to_decimal(formats::fp32, result);
    return answer;
}

std::int32_t integer_of(const std::string& word, std::int64_t least, std::int64_t greatest) {
    const std::string digits = word.starts_with('-') ? word.substr(1) : word;
    const bool is_number = digits.size() <= 10 && digits.find_first_not_of("0123456789") == std::string::npos;
    const std::int64_t value = word.empty() || !is_number ? 0 : std::stoll(word.empty() ? "0" : word);
    if (!is_number || (digits.empty() && !word.empty()) || value < least || value > greatest) {
        throw std::invalid_argument("'" + word + "' is not a whole number from " + std::to_string(least) + " to " +
                                    std::to_string(greatest));
    }
    return static_cast<std::int32_t>(value);
}

std::string s32_hex(std::int32_t value) { return to_hex_bits(formats::fp32, static_cast<std::uint32_t>(value)); }

BlockAnswer answer_of(const IntegerModel& model, const BlockQuestion& question) {
    IntegerOperands dot{{}, {}, integer_of(question.c, INT32_MIN, INT32_MAX)};
    const auto values = [&](const std::vector<std::string>& words, bool is_signed, std::vector<std::int32_t>& to) {
        const IntegerRange range = operand_range(model, is_signed);
        for (const std::string& word : words) to.push_back(integer_of(word, range.least, range.greatest));
    };
    values(question.a, model.a_signed, dot.a);
    values(question.b, model.b_signed, dot.b);
    const auto result_of = [&](const IntegerModel& unit) {
        return integer_dot(unit, dot.a.data(), dot.b.data(), dot.c, static_cast<std::int64_t>(dot.a.size()));
    };
    BlockAnswer answer{.lines = lines_of(explain_integers(model, dot))};
    for (const auto& [other, its] : rows_of<IntegerModel>()) {
        const bool same_types = its.bits == model.bits && its.a_signed == model.a_signed &&
                                its.b_signed == model.b_signed && its.product == model.product;
        const std::int32_t result = result_of(its);
        if (same_types) {
            answer.others.push_back(
                way_json(other.key(), name_of(other.evidence), s32_hex(result), std::to_string(result)));
        }
    }
    answer.hex = s32_hex(result_of(model));
    answer.decimal = std::to_string(result_of(model));
    return answer;
}

}  // namespace

std::string block_json(const std::vector<std::string>& fields) {
    BlockQuestion question{find_unit(fields.at(1)), words_of(fields.at(2)), words_of(fields.at(3)),
                           trimmed(fields.at(4)),   words_of(fields.at(5)), words_of(fields.at(6))};
    const std::size_t k = std::max(question.a.size(), question.b.size());
    if (k > 64) throw std::invalid_argument("give at most 64 products");
    question.a.resize(k);
    question.b.resize(k);
    const BlockAnswer answer =
        std::visit([&](const auto& model) { return answer_of(model, question); }, question.row.model);
    Object object;
    object.text("key", question.row.key()).raw("groups", list_of(answer.groups)).raw("lines", list_of(answer.lines));
    object.raw("others", list_of(answer.others));
    return object.raw("result", Object().text("hex", answer.hex).text("decimal", answer.decimal).json()).json();
}

}  // namespace playground
