// Parts of the question `block`: what the page types, groups as pictures need them, results of other ways.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "docs/playground/source/numbers.hpp"
#include "engine/analysis/unit_explanation.hpp"
#include "softfloat/matrix_units/exact_sum.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "softfloat/text.hpp"

namespace playground {

using namespace ulp;

/// What the page asked for, still as text.
struct BlockQuestion {
    const UnitRow& row;
    std::vector<std::string> a, b;
    std::string c;
    std::vector<std::string> a_scales, b_scales;
};

struct BlockAnswer {
    std::vector<std::string> groups{}, lines{}, others{};
    std::string hex{}, decimal{};
};

inline std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

inline std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    for (const std::string& part : split(text, ',')) words.push_back(trimmed(part));
    return words;
}

/// A number, rounded to nearest even, or a storage word after '#'; nothing is zero.
template <class Code>
Code code_of(const FloatFormat& format, const std::string& word) {
    if (word.empty()) return 0;
    if (word.front() == '#') return static_cast<Code>(word_of(format, word.substr(1)));
    Context context;
    return static_cast<Code>(parse_bits(format, word, context));
}

template <class Code>
std::vector<Code> codes_of(const FloatFormat& format, const std::vector<std::string>& words) {
    std::vector<Code> codes;
    for (const std::string& word : words) codes.push_back(code_of<Code>(format, word));
    return codes;
}

/// Scales as they are typed: values that need no rounding. None at all are ones.
inline std::vector<std::uint32_t> scales_of(const FloatFormat& format, const std::vector<std::string>& words) {
    if (words.size() == 1 && words.front().empty()) return {};
    for (const std::string& word : words) {
        Context context;
        if (word.empty()) throw std::invalid_argument("a scale is missing between two commas");
        if (word.front() != '#') parse_bits(format, word, context);
        if (context.flags != 0) throw std::invalid_argument(word + " is not a scale of this unit");
    }
    return codes_of<std::uint32_t>(format, words);
}

template <class Code>
BasicDotOperands<Code> operands_of(const TensorCoreModel& model, const BlockQuestion& question) {
    return {codes_of<Code>(model.a_format, question.a), codes_of<Code>(model.b_format, question.b),
            code_of<Code>(model.accumulator, question.c)};
}

/// One way to the same dot product.
inline std::string way_json(const std::string& name, std::string_view evidence, const std::string& hex,
                            const std::string& decimal) {
    return Object().text("name", name).text("evidence", evidence).text("hex", hex).text("decimal", decimal).json();
}
inline std::string way_json(const UnitRow& row, const FloatFormat& format, std::uint64_t result) {
    return way_json(row.key(), name_of(row.evidence), to_hex_bits(format, result), to_decimal(format, result));
}

inline std::string term_name(const GroupTerm& each) {
    if (each.k < 0) return "c";
    const std::string first = "k" + std::to_string(each.k);
    return each.products == 1 ? first : first + "-" + std::to_string(each.k + each.products - 1);
}

/// A power of two as such, other scales with all their digits.
inline std::string scale_text(const ulp::FloatFormat& format, std::uint32_t code) {
    const auto value = decode<std::uint64_t>(format, code);
    const bool power = format.fraction_bits == 0 && value.kind == Kind::finite;
    return power ? "2^" + std::to_string(value.exponent) : to_exact_decimal(format, code);
}

inline std::string product_text(const ulp::TensorCoreModel& unit, const ulp::GroupTerm& each) {
    return to_decimal(unit.a_format, each.a) + " \u00d7 " + to_decimal(unit.b_format, each.b);
}

/// Terms of a group with the factors that they are products of.
template <class Origin>
inline std::string group_json(const GroupSteps& group, const Origin& origin) {
    std::vector<std::string> terms;
    for (const GroupTerm& each : group.terms) {
        Object object;
        object.text("name", term_name(each));
        object.text("origin", each.k < 0 ? to_decimal(group.model.accumulator, each.a) : origin(group.model, each));
        object.boolean("sign", each.term.sign).text("significand", std::to_string(each.term.significand));
        object.number("exponent", each.term.exponent).number("point", each.term.point);
        object.text("aligned", std::to_string(each.aligned)).boolean("cut", each.cut);
        terms.push_back(object.number("products", each.products).json());
    }
    Object object;
    object.number("instruction", group.instruction).number("part", group.part).boolean("special", group.special);
    object.number("largest", group.largest).number("fraction_bits", group.model.fraction_bits);
    object.text("rounding", name_of(group.model.rounding)).number("kept", group.model.output_fraction_bits);
    object.text("sum", std::to_string(group.sum)).raw("terms", list_of(terms));
    return object.raw("result", number_json(group.model.accumulator, group.result)).json();
}

/// The exact sum of c and of terms that were not aligned, rounded once to nearest even.
class ExactWay {
  public:
    ExactWay(const FloatFormat& format, std::uint32_t c) : format_(format) {
        sum_.add(decode<std::uint64_t>(format, c));
    }
    void add(const BlockTerm& term) {
        if (term.significand != 0) sum_.add(term.sign, term.exponent - term.point, term.significand);
    }
    [[nodiscard]] std::string json() const {
        const auto value = sum_.value();
        Context context;
        const std::uint64_t bits = value.kind == Kind::zero
                                       ? 0
                                       : round_to_bits(format_, value.sign, value.exponent, value.significand, context);
        return way_json("exact, rounded once to nearest", "", to_hex_bits(format_, bits), to_decimal(format_, bits));
    }

  private:
    const FloatFormat& format_;
    ExactSum sum_;
};

}  // namespace playground
