// The playground's only door to softfloat: a question in, JSON out. Compiled to WebAssembly by ../build.sh.
//
// A question is a word and its fields, a line each:
//
//     tables                                  formats, roundings, matrix units
//     describe   FORMAT ROUNDING TEXT         what a number becomes; TEXT as for `ulplab show`
//     operate    OP FORMAT ROUNDING A B C     add, subtract, multiply, divide, fma; operands as storage words in hex
//     block      MODEL A B C A_SCALES B_SCALES
//                                             one dot product, step by step; lists with commas, decimal or #hex
//
// An answer that could not be given is {"error": sentence}.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "docs/playground/source/json.hpp"
#include "docs/playground/source/numbers.hpp"
#include "softfloat/describe.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "softfloat/text.hpp"

namespace playground {

using namespace ulp;

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

std::uint64_t word_of(const FloatFormat& format, const std::string& hex) {
    Description row = describe({"", format, ""}, "bits:" + hex);
    return row.value.bits;
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

namespace {

std::string format_json(const NamedFormat& row) {
    const FloatFormat& format = row.format;
    Object object;
    object.text("name", row.name).text("description", row.description);
    object.number("sign_bits", format.has_sign ? 1 : 0).number("exponent_bits", format.exponent_bits);
    object.number("fraction_bits", format.fraction_bits).number("padding_bits", format.padding_bits);
    object.number("bias", format.bias).number("emin", format.emin()).number("emax", format.emax());
    return object.json();
}

std::string unit_json(const UnitRow& row) {
    Object object;
    object.text("key", row.key()).text("evidence", name_of(row.evidence)).text("proof", row.proof);
    const auto* scaled = row.as<BlockScaledModel>();
    object.number("scale_block", scaled == nullptr ? 0 : scaled->scale_block);
    std::string gpus;
    for (const NamedGpu& gpu : named_gpus()) {
        if (gpu.architecture == row.architecture) gpus += (gpus.empty() ? "" : ", ") + std::string(gpu.name);
    }
    return object.text("gpus", gpus).json();
}

std::string tables() {
    std::vector<std::string> formats;
    std::vector<std::string> roundings;
    std::vector<std::string> models;
    for (const NamedFormat& row : named_formats()) formats.push_back(format_json(row));
    for (const auto rounding : {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero, Rounding::down,
                                Rounding::up, Rounding::odd}) {
        roundings.push_back(quoted(name_of(rounding)));
    }
    for (const UnitRow& row : unit_table()) {
        const auto* model = row.as<TensorCoreModel>();
        if (model != nullptr && is_varied(*model)) continue;  // block_steps.hpp shows the others
        models.push_back(unit_json(row));
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
