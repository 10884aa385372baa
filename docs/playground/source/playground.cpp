// The playground's only door to softfloat: a question in, JSON out. Compiled to WebAssembly by ../build.sh.
//
// A question is a word and its fields, a line each:
//
//     tables                                  formats, roundings, matrix units
//     describe   FORMAT ROUNDING TEXT         what a number becomes; TEXT as for `ulplab show`
//     operate    OP FORMAT ROUNDING A B C     add, subtract, multiply, divide, fma; operands as storage words in hex
//     block      MODEL A B C                  one dot product, group by group; A and B with commas, decimal or #hex
//
// An answer that could not be given is {"error": sentence}.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "docs/playground/source/json.hpp"
#include "softfloat/describe.hpp"
#include "softfloat/matrix_units/block_steps.hpp"
#include "softfloat/matrix_units/exact_sum.hpp"
#include "softfloat/matrix_units/table/gpus.hpp"
#include "softfloat/matrix_units/table/units.hpp"
#include "softfloat/rounding_names.hpp"
#include "softfloat/text.hpp"

namespace playground {
namespace {

using namespace ulp;

// Numbers that JavaScript's own could not hold travel as text.
std::string decimal_text(std::int64_t value) { return std::to_string(value); }

std::string number_json(const FloatFormat& format, std::uint64_t bits) {
    const auto value = decode(format, bits);
    Object object;
    object.text("hex", to_hex_bits(format, bits)).text("decimal", to_decimal(format, bits));
    object.text("exact", to_exact_decimal(format, bits));
    object.boolean("finite", value.kind == Kind::finite || value.kind == Kind::zero).boolean("sign", value.sign);
    object.text("significand", std::to_string(value.kind == Kind::finite ? value.significand : 0));
    object.number("exponent", value.kind == Kind::finite ? value.exponent : format.smallest_exponent());
    return object.json();
}

std::string format_json(const NamedFormat& row) {
    const FloatFormat& format = row.format;
    Object object;
    object.text("name", row.name).text("description", row.description);
    object.number("sign_bits", format.has_sign ? 1 : 0).number("exponent_bits", format.exponent_bits);
    object.number("fraction_bits", format.fraction_bits).number("padding_bits", format.padding_bits);
    object.number("bias", format.bias).number("emin", format.emin()).number("emax", format.emax());
    return object.json();
}

std::string model_json(const UnitRow& row, const TensorCoreModel& model) {
    Object object;
    object.text("key", row.key()).text("architecture", row.architecture).text("input", row.input);
    object.text("output", row.output).number("k", model.instruction_k).number("group", model.group_size);
    object.number("fraction_bits", model.fraction_bits).text("rounding", name_of(model.rounding));
    object.text("evidence", name_of(row.evidence)).text("proof", row.proof);
    std::string gpus;
    for (const NamedGpu& gpu : named_gpus()) {
        if (gpu.architecture == row.architecture) gpus += (gpus.empty() ? "" : ", ") + std::string(gpu.name);
    }
    return object.text("gpus", gpus).json();
}

/// Rows that the page can show: words of 32 bits hold their numbers.
bool is_shown(const UnitRow& row) { return row.output != "fp64"; }

std::string tables() {
    std::vector<std::string> formats;
    std::vector<std::string> roundings;
    std::vector<std::string> models;
    for (const NamedFormat& row : named_formats()) formats.push_back(format_json(row));
    for (const auto rounding : {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero, Rounding::down,
                                Rounding::up, Rounding::odd}) {
        roundings.push_back(quoted(name_of(rounding)));
    }
    for (const auto& [row, model] : rows_of<TensorCoreModel>()) {
        if (is_shown(row)) models.push_back(model_json(row, model));
    }
    Object object;
    object.raw("formats", list_of(formats)).raw("roundings", list_of(roundings)).raw("models", list_of(models));
    return object.json();
}

NamedFormat named_format(std::string_view name) {
    const FloatFormat& format = format_by_name(name);
    for (const NamedFormat& row : named_formats()) {
        if (row.format == format && row.name == name) return row;
    }
    throw std::invalid_argument("there is no such format");
}

std::string describe_json(const std::vector<std::string>& fields) {
    const Description row =
        describe(named_format(fields.at(1)), fields.at(3), {.rounding = rounding_by_name(fields.at(2))});
    Object object;
    object.text("hex", row.value.hex).text("fields", row.fields).text("shortest", row.value.decimal);
    object.text("value", row.exact).text("as_fp64", row.as_fp64).text("hex_float", row.hex_float);
    object.text("class", row.number_class);
    if (row.below) object.text("below", row.below->decimal).text("below_hex", row.below->hex);
    if (row.above) object.text("above", row.above->decimal).text("above_hex", row.above->hex);
    if (row.ulp) object.text("ulp", *row.ulp).number("ulp_exponent", row.ulp_exponent);
    if (row.error) object.text("error_size", *row.error);
    if (row.error_in_ulps) object.text("error_in_ulps", *row.error_in_ulps);
    std::vector<std::string> flags;
    for (const std::string& flag : row.flags) flags.push_back(quoted(flag));
    return object.raw("flags", list_of(flags)).json();
}

std::uint64_t word_of(const FloatFormat& format, const std::string& hex) {
    Description row = describe({"", format, ""}, "bits:" + hex);
    return row.value.bits;
}

std::uint64_t operate(const std::string& op, const FloatFormat& format, std::uint64_t a, std::uint64_t b,
                      std::uint64_t c, Context& context) {
    if (op == "add") return add_bits<UInt128>(format, a, b, context);
    if (op == "subtract") return subtract_bits<UInt128>(format, a, b, context);
    if (op == "multiply") return multiply_bits<UInt128>(format, a, b, context);
    if (op == "divide") return divide_bits<UInt128>(format, a, b, context);
    if (op == "fma") return fma_bits<UInt128>(format, a, b, c, context);
    throw std::invalid_argument("there is no operation '" + op + "'");
}

std::string operate_json(const std::vector<std::string>& fields) {
    const std::string& op = fields.at(1);
    const FloatFormat& format = format_by_name(fields.at(2));
    Context context{.rounding = rounding_by_name(fields.at(3))};
    const std::uint64_t a = word_of(format, fields.at(4));
    const std::uint64_t b = word_of(format, fields.at(5));
    const std::uint64_t c = op == "fma" ? word_of(format, fields.at(6)) : 0;
    const std::uint64_t result = operate(op, format, a, b, c, context);
    Object object;
    object.raw("a", number_json(format, a)).raw("b", number_json(format, b)).raw("result", number_json(format, result));
    if (op == "fma") {
        Context twice{.rounding = context.rounding};
        const std::uint64_t product = multiply_bits<UInt128>(format, a, b, twice);
        object.raw("c", number_json(format, c)).raw("product", number_json(format, product));
        object.raw("unfused", number_json(format, add_bits<UInt128>(format, product, c, twice)));
    }
    std::vector<std::string> flags;
    for (const std::string& flag : flag_names(context.flags)) flags.push_back(quoted(flag));
    return object.raw("flags", list_of(flags)).json();
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == separator) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// A number, rounded to nearest even, or a storage word after '#'; nothing is zero.
std::uint32_t code_of(const FloatFormat& format, const std::string& text) {
    const std::string word = trimmed(text);
    if (word.empty()) return 0;
    if (word.front() == '#') return static_cast<std::uint32_t>(word_of(format, word.substr(1)));
    Context context;
    return static_cast<std::uint32_t>(parse_bits(format, word, context));
}

std::vector<std::uint32_t> codes_of(const FloatFormat& format, const std::string& text) {
    std::vector<std::uint32_t> codes;
    for (const std::string& part : split(text, ',')) codes.push_back(code_of(format, part));
    return codes;
}

std::string term_json(const TensorCoreModel& model, const GroupTerm& each) {
    Object object;
    object.number("k", each.k);
    if (each.k < 0) {
        object.text("a", to_decimal(model.accumulator, each.a));
    } else {
        object.text("a", to_decimal(model.a_format, each.a)).text("b", to_decimal(model.b_format, each.b));
    }
    object.boolean("sign", each.term.sign).text("significand", std::to_string(each.term.significand));
    object.number("exponent", each.term.exponent).number("point", each.term.point);
    return object.text("aligned", decimal_text(each.aligned)).boolean("cut", each.cut).json();
}

std::string group_json(const GroupSteps& group) {
    std::vector<std::string> terms;
    for (const GroupTerm& each : group.terms) terms.push_back(term_json(group.model, each));
    Object object;
    object.number("instruction", group.instruction).number("part", group.part).boolean("special", group.special);
    object.number("largest", group.largest).number("fraction_bits", group.model.fraction_bits);
    object.text("rounding", name_of(group.model.rounding)).number("kept", group.model.output_fraction_bits);
    object.text("sum", decimal_text(group.sum)).raw("terms", list_of(terms));
    return object.raw("result", number_json(group.model.accumulator, group.result)).json();
}

struct Dot {
    std::vector<std::uint32_t> a, b;
    std::uint32_t c;
};

std::uint32_t answer(const TensorCoreModel& model, const Dot& dot) {
    return chain_dot(model, dot.a.data(), dot.b.data(), dot.c, static_cast<std::int64_t>(dot.a.size()));
}

/// One way to the same dot product.
std::string way_json(const std::string& name, const std::string& evidence, const FloatFormat& format,
                     std::uint32_t result) {
    Object object;
    object.text("name", name).text("evidence", evidence).text("hex", to_hex_bits(format, result));
    return object.text("decimal", to_decimal(format, result)).json();
}

/// The exact sum, rounded once to nearest even; where an infinity or a NaN takes part, nothing.
std::string exact_json(const TensorCoreModel& model, const Dot& dot) {
    ExactSum sum;
    BlockSpecials specials;
    for (std::size_t k = 0; k < dot.a.size(); ++k) {
        const auto term =
            product_term(model, decoded(model.a_format, dot.a[k]), decoded(model.b_format, dot.b[k]), specials);
        if (term.significand != 0) sum.add(term.sign, term.exponent - term.point, term.significand);
    }
    addend_term(model, dot.c, specials);
    if (specials.any()) return "";
    sum.add(decode<std::uint64_t>(model.accumulator, dot.c));
    const auto value = sum.value();
    Context context;
    const std::uint64_t bits = value.kind == Kind::zero ? 0
                                                        : round_to_bits(model.accumulator, value.sign, value.exponent,
                                                                        value.significand, context);
    return way_json("exact, rounded once to nearest", "", model.accumulator, static_cast<std::uint32_t>(bits));
}

/// Of a unit that does not align its products: product n - 1, and the unit's result for the first n.
std::string sum_json(const TensorCoreModel& model, const Dot& dot, std::size_t n) {
    Object object;
    object.text("a", to_decimal(model.a_format, dot.a[n - 1])).text("b", to_decimal(model.b_format, dot.b[n - 1]));
    const std::uint32_t result = chain_dot(model, dot.a.data(), dot.b.data(), dot.c, static_cast<std::int64_t>(n));
    return object.raw("result", number_json(model.accumulator, result)).json();
}

std::string block_json(const std::vector<std::string>& fields) {
    const UnitRow& row = find_unit(fields.at(1));
    const auto& model = unit_model<TensorCoreModel>(row.key());
    Dot dot{codes_of(model.a_format, fields.at(2)), codes_of(model.b_format, fields.at(3)),
            code_of(model.accumulator, fields.at(4))};
    const std::size_t k = std::max(dot.a.size(), dot.b.size());
    if (k > 64) throw std::invalid_argument("give at most 64 products");
    dot.a.resize(k);
    dot.b.resize(k);
    std::vector<std::string> groups;
    std::vector<std::string> sums;
    if (is_fused(model)) {
        for (const GroupSteps& group : steps_of_dot(model, dot.a, dot.b, dot.c)) groups.push_back(group_json(group));
    } else {
        for (std::size_t n = 1; n <= k; ++n) sums.push_back(sum_json(model, dot, n));
    }
    std::vector<std::string> others;
    if (std::string exact = exact_json(model, dot); !exact.empty()) others.push_back(std::move(exact));
    for (const auto& [other, its] : rows_of<TensorCoreModel>()) {
        const bool same_types =
            its.a_format == model.a_format && its.b_format == model.b_format && its.accumulator == model.accumulator;
        if (!same_types) continue;
        others.push_back(
            way_json(other.key(), std::string(name_of(other.evidence)), model.accumulator, answer(its, dot)));
    }
    Object object;
    object.raw("row", model_json(row, model)).raw("groups", list_of(groups)).raw("others", list_of(others));
    object.raw("sums", list_of(sums));
    return object.raw("c", number_json(model.accumulator, dot.c))
        .raw("result", number_json(model.accumulator, answer(model, dot)))
        .json();
}

std::string answer_to(const std::vector<std::string>& fields) {
    if (fields.front() == "tables") return tables();
    if (fields.front() == "describe") return describe_json(fields);
    if (fields.front() == "operate") return operate_json(fields);
    if (fields.front() == "block") return block_json(fields);
    throw std::invalid_argument("there is no question '" + fields.front() + "'");
}

}  // namespace
}  // namespace playground

/// The answer stays valid until the next call.
extern "C" const char* ulplab_ask(const char* question) {
    static std::string answer;
    try {
        answer = playground::answer_to(playground::split(question, '\n'));
    } catch (const std::exception& error) {
        answer = playground::Object().text("error", error.what()).json();
    }
    return answer.c_str();
}
