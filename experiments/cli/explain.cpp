// `ulplab explain --unit KEY`: one dot product of a matrix unit, step by step, beside other orders and other units; or
// which unit, order, epilogue and output format gave a whole product.
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/analysis/dot_candidates.hpp"
#include "engine/analysis/dot_explanation.hpp"
#include "engine/analysis/product_bound.hpp"
#include "engine/analysis/unit_explanation.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/explain_whole_product.hpp"
#include "experiments/cli/product_options.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"
#include "softfloat/text.hpp"

namespace ulp {
namespace {

/// A value or, after a '#', a storage word in hexadecimal.
std::uint64_t code_of(const FloatFormat& format, const std::string& text,
                      const std::optional<OperandRounding>& rounding, const std::string& what,
                      std::string_view remedy = remedy_of_operands) {
    if (text.starts_with('#')) {
        std::size_t used = 0;
        std::uint64_t word = 0;
        try {
            word = std::stoull(text.substr(1), &used, 16);
        } catch (const std::exception&) {
            used = 0;
        }
        const int bits = format.storage_bits();
        if (used + 1 != text.size() || used == 0 || (bits < 64 && word >> bits != 0)) {
            throw UsageError(fmt::format("{}: '{}' is no storage word of {} ({} bits in hexadecimal after the #)", what,
                                         text, name_of(format), bits));
        }
        return word;
    }
    Context context{.rounding = rounding.value_or(OperandRounding{}).rounding,
                    .saturate = rounding.value_or(OperandRounding{}).saturate};
    const std::uint64_t code = parse_bits(format, text, context);
    if (!rounding && (context.flags & (flag::inexact | flag::overflow)) != 0) {
        throw UsageError(fmt::format("{}: {} is not a value of {}; {}", what, text, name_of(format), remedy));
    }
    return code;
}

void require_values(const ExplainOptions& options) {
    if (options.a.empty() || options.a.size() != options.b.size()) {
        throw UsageError(fmt::format("give as many values with --a ({}) as with --b ({}), one or more",
                                     options.a.size(), options.b.size()));
    }
}

/// Numbers of one dot product from files, and c and d where there are files of them.
template <class Number>
struct FileDot {
    std::vector<Number> a, b;
    std::optional<Number> c, d;
};
enum class Role : std::uint8_t { a, b, c, d };

template <class Number>
Number element(const LoadedMatrix<Number>& matrix, std::int64_t i, std::int64_t j, const std::string& file) {
    if (i < 0 || j < 0 || i >= matrix.rows || j >= matrix.cols) {
        throw UsageError(
            fmt::format("{} is {} x {} and has no element ({}, {})", file, matrix.rows, matrix.cols, i, j));
    }
    return matrix.values[static_cast<std::size_t>(i * matrix.cols + j)];
}

/// load(path, role) gives a matrix of Number.
template <class Number, class Load>
FileDot<Number> dot_from_files(const ExplainOptions& options, const Load& load) {
    FileDot<Number> dot;
    const std::int64_t i = options.row.value_or(0);
    const std::int64_t j = options.column.value_or(0);
    std::optional<std::pair<std::int64_t, std::int64_t>> shape;  // of C and D
    if (!options.a_file.empty() || !options.b_file.empty()) {
        if (options.a_file.empty() || options.b_file.empty()) throw UsageError("give both --a and --b as files");
        const LoadedMatrix<Number> a = load(options.a_file, Role::a);
        const LoadedMatrix<Number> b = load(options.b_file, Role::b);
        if (a.cols != b.rows) {
            throw DataError(
                fmt::format("A is {} x {} and B is {} x {}: the inner sizes differ", a.rows, a.cols, b.rows, b.cols));
        }
        for (std::int64_t k = 0; k < a.cols; ++k) {
            dot.a.push_back(element(a, i, k, options.a_file));
            dot.b.push_back(element(b, k, j, options.b_file));
        }
        shape = {a.rows, b.cols};
    }
    const auto at = [&](const std::string& path, Role role) -> std::optional<Number> {
        if (path.empty()) return std::nullopt;
        const LoadedMatrix<Number> matrix = load(path, role);
        if (shape && *shape != std::pair(matrix.rows, matrix.cols)) {
            throw DataError(fmt::format("{} is {} x {}, the product of A and B {} x {}", path, matrix.rows, matrix.cols,
                                        shape->first, shape->second));
        }
        return element(matrix, i, j, path);
    };
    dot.c = at(options.c_file, Role::c);
    dot.d = at(options.d_file, Role::d);
    return dot;
}

/// The operands of one dot product, and the unit's own result where one was given.
template <class Operands, class Result>
struct AskedDot {
    Operands operands;
    std::optional<Result> given;
};

template <class Code>
LoadedMatrix<NumberOf<Code>> load_floats(const std::string& path, const FloatFormat& format,
                                         const std::optional<OperandRounding>& rounding) {
    if constexpr (std::is_same_v<Code, std::uint64_t>) {
        return load_fp64_matrix(path);
    } else {
        return load_matrix(path, format, rounding);
    }
}

template <class Code>
AskedDot<BasicDotOperands<Code>, Code> floats_asked(const ExplainOptions& options, const TensorCoreModel& model) {
    using Number = NumberOf<Code>;
    const FloatFormat& accumulator = model.accumulator;
    const std::optional<OperandRounding> rounding = options.rounding.rounding();
    const FileDot<Number> dot = dot_from_files<Number>(options, [&](const std::string& path, Role role) {
        const FloatFormat& format = role == Role::a ? model.a_format : role == Role::b ? model.b_format : accumulator;
        return load_floats<Code>(path, format, role == Role::d ? std::nullopt : rounding);
    });
    const auto code = [&](const FloatFormat& format, const std::string& text, const std::optional<OperandRounding>& how,
                          const std::string& what) { return static_cast<Code>(code_of(format, text, how, what)); };
    AskedDot<BasicDotOperands<Code>, Code> asked;
    BasicDotOperands<Code>& operands = asked.operands;
    for (std::size_t k = 0; k < dot.a.size(); ++k) {
        operands.a.push_back(code_of(model.a_format, dot.a[k]));
        operands.b.push_back(code_of(model.b_format, dot.b[k]));
    }
    if (options.a_file.empty() && options.b_file.empty()) {
        require_values(options);
        for (std::size_t k = 0; k < options.a.size(); ++k) {
            operands.a.push_back(code(model.a_format, options.a[k], rounding, fmt::format("a[{}]", k)));
            operands.b.push_back(code(model.b_format, options.b[k], rounding, fmt::format("b[{}]", k)));
        }
    }
    operands.c = dot.c ? code_of(accumulator, *dot.c) : code(accumulator, options.c, rounding, "c");
    if (dot.d) asked.given = code_of(accumulator, *dot.d);
    if (!options.d.empty()) asked.given = code(accumulator, options.d, OperandRounding{}, "--d");
    return asked;
}

/// A result's bits and value.
using ResultText = std::function<std::pair<std::string, std::string>(std::uint64_t)>;
ResultText text_in(const FloatFormat& format) {
    return [format](std::uint64_t code) { return std::pair(to_hex_bits(format, code), to_decimal(format, code)); };
}

/// What is known of one dot product.
struct DotReport {
    std::string steps;  // how the unit computes it
    std::string exact;  // without rounding; empty where the unit's result is exact
    ResultText text_of;
    std::vector<DotCandidate> candidates;  // the unit's own way first
    std::optional<std::uint64_t> given;    // the real unit's result
};

void print_candidates(const DotReport& report) {
    const std::size_t digits = report.text_of(0).first.size() > 8 ? 16 : 10;
    fmt::print("\n{:<52} {:>{}} {:>16} {:>10}\n", "way", "bits", digits, "value", "error/ulp");
    std::vector<std::string> explaining;
    for (const DotCandidate& candidate : report.candidates) {
        const bool equal = report.given && candidate.result == *report.given;
        const auto [bits, value] = report.text_of(candidate.result);
        fmt::print("{:<52} {:>{}} {:>16} {:>10.3f}{}\n", candidate.name, bits, digits, value, candidate.error_in_ulps,
                   equal ? "  = the given result" : "");
        if (equal) explaining.push_back(candidate.name);
    }
    if (!report.given) return;
    const auto [bits, value] = report.text_of(*report.given);
    fmt::print("\ngiven result {} ({})\n", bits, value);
    if (explaining.empty()) {
        fmt::print("none of the computations above gives this result\n");
        return;
    }
    fmt::print("explained by\n");
    for (const std::string& name : explaining) fmt::print("  {}\n", name);
}

void print_report(const DotReport& report) {
    fmt::print("{}", report.steps);
    if (!report.exact.empty()) fmt::print("exact  {}\n", report.exact);
    print_candidates(report);
}

/// The steps as lines, then every way with its result.
nlohmann::ordered_json json_of(const UnitRow& row, const DotReport& report) {
    const auto number = [&](std::uint64_t code) {
        const auto [bits, value] = report.text_of(code);
        return nlohmann::ordered_json{{"bits", bits}, {"value", value}};
    };
    nlohmann::ordered_json json{{"unit", row.key()}, {"steps", nlohmann::ordered_json::array()}};
    std::istringstream steps(report.steps);
    for (std::string line; std::getline(steps, line);) json["steps"].push_back(line);
    json["value"] = report.text_of(report.candidates.front().result).second;
    if (!report.exact.empty()) json["exact"] = report.exact;
    if (report.given) json["given"] = number(*report.given);
    json["candidates"] = nlohmann::ordered_json::array();
    for (const DotCandidate& candidate : report.candidates) {
        nlohmann::ordered_json each{{"name", candidate.name}};
        each.update(number(candidate.result));
        each["error_in_ulps"] = candidate.error_in_ulps;
        if (report.given) each["equals_given"] = candidate.result == *report.given;
        json["candidates"].push_back(each);
    }
    return json;
}

void require_no_policy(const ExplainOptions& options, const std::string& key) {
    if (!options.policy.empty()) throw UsageError(key + " has no --policy");
}

DotReport explain_model(const ExplainOptions& options, const UnitRow& row, TensorCoreModel model) {
    const auto report = [&](const std::string& steps, const auto& asked) -> DotReport {
        return {steps, exact_dot_text(model, asked.operands), text_in(model.accumulator),
                dot_candidates(row.key(), model, asked.operands), asked.given};
    };
    if (model.accumulator == formats::fp64) {
        require_no_policy(options, row.key());
        const auto asked = floats_asked<std::uint64_t>(options, model);
        return report(explain_fp64(model, asked.operands), asked);
    }
    model = with_policy(row, model, options.policy);
    const auto asked = floats_asked<std::uint32_t>(options, model);
    return report(explain_dot(model, asked.operands), asked);
}

std::int32_t integer_of(const std::string& text, const IntegerRange& range, const std::string& what) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < range.least || value > range.greatest) {
        throw UsageError(
            fmt::format("{}: '{}' is not a whole number from {} to {}", what, text, range.least, range.greatest));
    }
    return static_cast<std::int32_t>(value);
}

AskedDot<IntegerOperands, std::int32_t> integers_asked(const ExplainOptions& options, const IntegerModel& model) {
    using Limits = std::numeric_limits<std::int32_t>;
    const IntegerRange a_range = operand_range(model, model.a_signed);
    const IntegerRange b_range = operand_range(model, model.b_signed);
    const IntegerRange all{Limits::min(), Limits::max()};
    const auto dot = dot_from_files<std::int32_t>(options, [&](const std::string& path, Role role) {
        const IntegerRange& range = role == Role::a ? a_range : role == Role::b ? b_range : all;
        return load_integer_matrix(path, range.least, range.greatest);
    });
    AskedDot<IntegerOperands, std::int32_t> asked{{dot.a, dot.b}, dot.d};
    if (options.a_file.empty() && options.b_file.empty()) {
        require_values(options);
        for (std::size_t k = 0; k < options.a.size(); ++k) {
            asked.operands.a.push_back(integer_of(options.a[k], a_range, fmt::format("a[{}]", k)));
            asked.operands.b.push_back(integer_of(options.b[k], b_range, fmt::format("b[{}]", k)));
        }
    }
    asked.operands.c = dot.c ? *dot.c : integer_of(options.c, all, "c");
    if (!options.d.empty()) asked.given = integer_of(options.d, all, "--d");
    return asked;
}

DotReport explain_model(const ExplainOptions& options, const UnitRow& row, const IntegerModel& model) {
    if (options.rounding.given()) throw UsageError(row.key() + " takes its operands as they are, without --rounding");
    require_no_policy(options, row.key());
    const auto asked = integers_asked(options, model);
    const auto text = [](std::uint64_t code) {
        const auto word = static_cast<std::uint32_t>(code);
        return std::pair(fmt::format("{:08X}", word), fmt::format("{}", static_cast<std::int32_t>(word)));
    };
    std::optional<std::uint64_t> given;
    if (asked.given) given = static_cast<std::uint32_t>(*asked.given);
    return {explain_integers(model, asked.operands), "", text, integer_candidates(row.key(), model, asked.operands),
            given};
}

std::vector<std::uint32_t> scale_codes(const BlockScaledModel& model, const std::vector<std::string>& values,
                                       const std::string& what) {
    std::vector<std::uint32_t> codes;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string place = fmt::format("{}[{}]", what, i);
        codes.push_back(static_cast<std::uint32_t>(
            code_of(model.scale_format, values[i], std::nullopt, place, remedy_of_scales(model.scale_format))));
    }
    return codes;
}

DotReport explain_model(const ExplainOptions& options, const UnitRow& row, const BlockScaledModel& model) {
    require_no_policy(options, row.key());
    const auto asked = floats_asked<std::uint32_t>(options, model.unscaled);
    const DotOperands& elements = asked.operands;
    const auto block = static_cast<std::size_t>(model.scale_block);
    const std::size_t blocks = (elements.a.size() + block - 1) / block;
    if (std::max(options.a_scales.size(), options.b_scales.size()) > blocks) {
        throw UsageError(fmt::format("{} products have {} scale(s) of {} elements, not more", elements.a.size(), blocks,
                                     model.scale_block));
    }
    const ScaledOperands operands{elements.a, elements.b, scale_codes(model, options.a_scales, "a-scales"),
                                  scale_codes(model, options.b_scales, "b-scales"), elements.c};
    return {explain_block_scaled(model, operands), "", text_in(model.unscaled.accumulator),
            scaled_candidates(row.key(), model, operands), asked.given};
}

ExitCode explain(const ExplainOptions& options) {
    const UnitRow row = unit_named(options.unit);
    const bool has_scales = !options.a_scales.empty() || !options.b_scales.empty();
    const bool takes_scales = row.as<BlockScaledModel>() != nullptr ||
                              (options.whole() && row.as<TensorCoreModel>() != nullptr && row.output != "fp64");
    if (has_scales && !takes_scales) {
        throw UsageError(
            options.unit +
            " has no scales in one dot product: they are multiplied in at promotions, of a whole product in "
            "files; `ulplab models` names the units with block scales");
    }
    if (options.whole()) {
        if (!options.separate.empty()) {
            for (const char* name : {"_a.npy", "_b.npy", "_c.npy"}) require_writable(options.separate + name);
        }
        return explain_all_of_d(options, row) ? ExitCode::good : ExitCode::bits_differ;
    }
    if (!options.separate.empty() || options.alpha || options.beta) {
        throw UsageError("--out, --alpha and --beta are for a whole D: give the files --a, --b and --d without --at");
    }
    const DotReport report =
        std::visit([&](const auto& model) { return explain_model(options, row, model); }, row.model);
    if (options.json) {
        fmt::print("{}\n", json_of(row, report).dump(2));
        return ExitCode::good;
    }
    fmt::print("{}\n{}\n", row.key(), evidence_lines(row, options.policy, options.evidence));
    print_report(report);
    return ExitCode::good;
}

/// The operands that are files, and the others.
void take_files(ExplainOptions& options) {
    const auto take = [](std::vector<std::string>& values, std::string& file) {
        if (values.empty() || !is_matrix_file(values.back())) return;
        file = fmt::format("{}", fmt::join(values, ","));  // its name may have commas
        values.clear();
    };
    take(options.a, options.a_file);
    take(options.b, options.b_file);
    if (is_matrix_file(options.c)) options.c_file = std::exchange(options.c, "0");
    if (is_matrix_file(options.d)) options.d_file = std::exchange(options.d, "");
}

/// "1,2": the element's row and column.
void take_place(ExplainOptions& options, const std::string& text) {
    const auto number = [&](std::string_view digits) {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error == std::errc() && end == digits.data() + digits.size()) return value;
        throw UsageError("--at takes ROW,COLUMN, counted from 0, such as 1,2, not '" + text + "'");
    };
    const std::size_t comma = std::min(text.find(','), text.size());
    options.row = number(std::string_view(text).substr(0, comma));
    options.column = number(std::string_view(text).substr(std::min(comma + 1, text.size())));
}

Action declare(OptionParser& app) {
    const auto options = std::make_shared<ExplainOptions>();
    app.add_option("--unit", options->unit,
                   fmt::format("row of `ulplab models`, such as sm_90:mma.fp16.fp32{}", or_unit_file))
        .required()
        .type_name("KEY|FILE");
    app.add_option("--a", options->a,
                   "values of a, with commas: decimal, hexadecimal float, or a storage word like #3C00; or A as .npy")
        .delimiter(',');
    app.add_option("--b", options->b, "values of b, as many as of a; or B as .npy").delimiter(',');
    app.add_option("--a-scales", options->a_scales,
                   "scales of a, with commas, or for all of D a file, for block-scaled models; default 1")
        .delimiter(',');
    app.add_option("--b-scales", options->b_scales,
                   "scales of b, with commas, or for all of D a file, for block-scaled models; default 1")
        .delimiter(',');
    app.add_option("--c", options->c, "value of c, to which the products are added; or C as .npy")
        .capture_default_str();
    app.add_option("--d", options->d, "result of the real unit, to be explained; or D as .npy");
    app.add_parsed(
           "--at", [options](const std::string& text) { take_place(*options, text); },
           "of files: the element of D; without it all of D is explained")
        .type_name("ROW,COLUMN");
    app.add_option("--alpha", options->alpha,
                   "for all of D: factor of the products' sum; default: estimated where C is given, else 1");
    app.add_option("--beta", options->beta, "for all of D: factor of C; default: estimated");
    app.add_flag("--json", options->json, "prints JSON");
    app.add_option("--out", options->separate,
                   "for all of D: writes PREFIX_a.npy, PREFIX_b.npy and, where C is read, PREFIX_c.npy, operands that "
                   "tell the ways that agree apart")
        .type_name("PREFIX");
    declare_policy(app, options->policy);
    options->rounding.declare(app, "the operands");
    app.add_flag("--evidence", options->evidence, "prints all that stands behind the unit's row, aspect by aspect");
    return [options] {
        take_files(*options);
        return explain(*options);
    };
}

}  // namespace

Command explain_command() {
    return {"explain", "one dot product of a matrix unit step by step, or who computed a whole product", declare};
}

}  // namespace ulp
