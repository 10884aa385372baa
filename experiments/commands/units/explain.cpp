// `ulplab explain --model KEY`: one dot product of a matrix unit, step by step, beside other orders and other units; or
// which unit, order, epilogue and output format gave a whole product.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "engine/files/npy.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/commands/explaining/dot_explanation.hpp"
#include "experiments/commands/explaining/product_explanation.hpp"
#include "experiments/commands/explaining/unit_explanation.hpp"
#include "experiments/commands/units/matrix_files.hpp"
#include "experiments/commands/units/model_keys.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/format_names.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/matrix_units/table/units.hpp"
#include "softfloat/round.hpp"
#include "softfloat/text.hpp"

namespace ulp {
namespace {

struct Options {
    std::string model, policy;
    std::vector<std::string> a, b, a_scales, b_scales;
    std::string c = "0", result;
    std::string a_file, b_file, c_file, d_file;
    std::optional<std::int64_t> row, column;
    std::optional<double> alpha, beta;
    std::string format = "console", separate;
    bool round = false;

    /// All of D is asked for: it is given, and no element is named.
    [[nodiscard]] bool whole() const {
        return !a_file.empty() && !b_file.empty() && !d_file.empty() && !row && !column;
    }
};

/// A value or, after a '#', a storage word in hexadecimal.
std::uint64_t code_of(const FloatFormat& format, const std::string& text, bool round, const std::string& what) {
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
    Context context;
    const std::uint64_t code = parse_bits(format, text, context);
    if (!round && (context.flags & (flag::inexact | flag::overflow)) != 0) {
        throw UsageError(
            fmt::format("{}: {} is not a value of {}; use --round to round first", what, text, name_of(format)));
    }
    return code;
}

void require_values(const Options& options) {
    if (options.a.empty() || options.a.size() != options.b.size()) {
        throw UsageError(fmt::format("give as many values with --a ({}) as with --b ({}), one or more",
                                     options.a.size(), options.b.size()));
    }
}

template <class Code = std::uint32_t>
BasicDotOperands<Code> operands_from_values(const Options& options, const TensorCoreModel& model) {
    require_values(options);
    const auto code = [&](const FloatFormat& format, const std::string& text, const std::string& what) {
        return static_cast<Code>(code_of(format, text, options.round, what));
    };
    BasicDotOperands<Code> operands{{}, {}, code(model.accumulator, options.c, "c")};
    for (std::size_t k = 0; k < options.a.size(); ++k) {
        operands.a.push_back(code(model.a_format, options.a[k], fmt::format("a[{}]", k)));
        operands.b.push_back(code(model.b_format, options.b[k], fmt::format("b[{}]", k)));
    }
    return operands;
}

std::uint32_t element(const LoadedMatrix<float>& matrix, const FloatFormat& format, std::int64_t i, std::int64_t j,
                      const std::string& file) {
    if (i < 0 || j < 0 || i >= matrix.rows || j >= matrix.cols) {
        throw UsageError(
            fmt::format("{} is {} x {} and has no element ({}, {})", file, matrix.rows, matrix.cols, i, j));
    }
    return operand_code(format, matrix.values[static_cast<std::size_t>(i * matrix.cols + j)]);
}

DotOperands operands_from_files(const Options& options, const TensorCoreModel& model) {
    const auto rounding = options.round ? std::optional(OperandRounding{}) : std::nullopt;
    const auto a = load_matrix(options.a_file, model.a_format, rounding);
    const auto b = load_matrix(options.b_file, model.b_format, rounding);
    if (a.cols != b.rows) {
        throw DataError(
            fmt::format("A is {} x {} and B is {} x {}: the inner sizes differ", a.rows, a.cols, b.rows, b.cols));
    }
    DotOperands operands;
    for (std::int64_t k = 0; k < a.cols; ++k) {
        operands.a.push_back(element(a, model.a_format, options.row.value_or(0), k, options.a_file));
        operands.b.push_back(element(b, model.b_format, k, options.column.value_or(0), options.b_file));
    }
    operands.c = static_cast<std::uint32_t>(code_of(model.accumulator, options.c, options.round, "c"));
    if (!options.c_file.empty()) {
        const auto c = load_matrix(options.c_file, model.accumulator, rounding);
        operands.c = element(c, model.accumulator, options.row.value_or(0), options.column.value_or(0), options.c_file);
    }
    return operands;
}

/// The unit's own answer, if one was given.
std::optional<std::uint32_t> given_result(const Options& options, const TensorCoreModel& model) {
    if (!options.result.empty()) {
        return static_cast<std::uint32_t>(code_of(model.accumulator, options.result, true, "--result"));
    }
    if (options.d_file.empty()) return std::nullopt;
    const auto d = load_matrix(options.d_file, model.accumulator, std::nullopt);
    return element(d, model.accumulator, options.row.value_or(0), options.column.value_or(0), options.d_file);
}

void print_candidates(const TensorCoreModel& model, const std::vector<DotCandidate>& candidates,
                      const std::optional<std::uint32_t>& given) {
    fmt::print("\n{:<52} {:>10} {:>16} {:>10}\n", "way", "bits", "value", "error/ulp");
    std::vector<std::string> explaining;
    for (const DotCandidate& candidate : candidates) {
        const bool equal = given && candidate.result == *given;
        fmt::print("{:<52} {:>10} {:>16} {:>10.3f}{}\n", candidate.name,
                   to_hex_bits(model.accumulator, candidate.result), to_decimal(model.accumulator, candidate.result),
                   candidate.error_in_ulps, equal ? "  = the given result" : "");
        if (equal) explaining.push_back(candidate.name);
    }
    if (!given) return;
    fmt::print("\ngiven result {} ({})\n", to_hex_bits(model.accumulator, *given),
               to_decimal(model.accumulator, *given));
    if (explaining.empty()) {
        fmt::print("none of the computations above gives this result\n");
        return;
    }
    fmt::print("explained by\n");
    for (const std::string& name : explaining) fmt::print("  {}\n", name);
}

/// Refuses the options that only units have whose operands fit fp32.
void require_values_alone(const Options& options, const std::string& key) {
    if (!options.a_file.empty() || !options.b_file.empty() || !options.c_file.empty() || !options.d_file.empty() ||
        !options.result.empty() || !options.policy.empty()) {
        throw UsageError(key + " is explained from --a, --b and --c alone, without files, --result or --policy");
    }
    require_values(options);
}

/// The same for operands that are never rounded.
void require_exact_values_alone(const Options& options, const std::string& key) {
    if (options.round) throw UsageError(key + " takes its operands as they are, without --round");
    require_values_alone(options, key);
}

void explain_model(const Options& options, const UnitRow& row, TensorCoreModel model) {
    if (model.accumulator == formats::fp64) {
        require_values_alone(options, row.key());
        fmt::print("{}", explain_fp64(model, operands_from_values<std::uint64_t>(options, model)));
        return;
    }
    if (!options.policy.empty()) model = with_policies(model, policy_set(options.policy));
    const bool files = !options.a_file.empty() || !options.b_file.empty();
    const DotOperands operands = files ? operands_from_files(options, model) : operands_from_values(options, model);
    fmt::print("{}", explain_dot(model, operands));
    fmt::print("exact  {}\n", exact_dot_text(model, operands));
    print_candidates(model, dot_candidates(row.key(), model, operands), given_result(options, model));
}

std::int32_t integer_of(const std::string& text, std::int64_t least, std::int64_t greatest, const std::string& what) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > greatest) {
        throw UsageError(fmt::format("{}: '{}' is not a whole number from {} to {}", what, text, least, greatest));
    }
    return static_cast<std::int32_t>(value);
}

void explain_model(const Options& options, const UnitRow& row, const IntegerModel& model) {
    require_exact_values_alone(options, row.key());
    const IntegerRange a_range = operand_range(model, model.a_signed);
    const IntegerRange b_range = operand_range(model, model.b_signed);
    using Limits = std::numeric_limits<std::int32_t>;
    IntegerOperands operands{{}, {}, integer_of(options.c, Limits::min(), Limits::max(), "c")};
    for (std::size_t k = 0; k < options.a.size(); ++k) {
        operands.a.push_back(integer_of(options.a[k], a_range.least, a_range.greatest, fmt::format("a[{}]", k)));
        operands.b.push_back(integer_of(options.b[k], b_range.least, b_range.greatest, fmt::format("b[{}]", k)));
    }
    fmt::print("{}", explain_integers(model, operands));
}

std::vector<std::uint32_t> scale_codes(const BlockScaledModel& model, const std::vector<std::string>& values,
                                       const std::string& what) {
    std::vector<std::uint32_t> codes;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint64_t code = code_of(model.scale_format, values[i], false, fmt::format("{}[{}]", what, i));
        codes.push_back(static_cast<std::uint32_t>(code));
    }
    return codes;
}

void explain_model(const Options& options, const UnitRow& row, const BlockScaledModel& model) {
    require_values_alone(options, row.key());
    const auto block = static_cast<std::size_t>(model.scale_block);
    const std::size_t blocks = (options.a.size() + block - 1) / block;
    if (std::max(options.a_scales.size(), options.b_scales.size()) > blocks) {
        throw UsageError(fmt::format("{} products have {} scale(s) of {} elements, not more", options.a.size(), blocks,
                                     model.scale_block));
    }
    const DotOperands elements = operands_from_values(options, model.unscaled);
    fmt::print("{}",
               explain_block_scaled(model, {elements.a, elements.b, scale_codes(model, options.a_scales, "a-scales"),
                                            scale_codes(model, options.b_scales, "b-scales"), elements.c}));
}

template <class Real>
MatrixOf<Real> owned(const LoadedMatrix<Real>& matrix) {
    return Eigen::Map<const MatrixOf<Real>>(matrix.values.data(), matrix.rows, matrix.cols);
}

template <class Real>
std::vector<Real> values_of(const MatrixOf<Real>& matrix) {
    return {matrix.data(), matrix.data() + matrix.size()};
}

template <class Real, class Load>
BasicProductQuestion<Real> question_of(const Options& options, const UnitRow& row, const Load& load) {
    const TensorCoreModel& model = *row.as<TensorCoreModel>();
    const auto rounding = options.round ? std::optional(OperandRounding{}) : std::nullopt;
    const FloatFormat container = std::is_same_v<Real, double> ? formats::fp64 : formats::fp32;
    BasicProductQuestion<Real> question{row.key(), model, owned(load(options.a_file, model.a_format, rounding)),
                                        owned(load(options.b_file, model.b_format, rounding)),
                                        owned(load(options.d_file, container, std::nullopt))};
    if (!options.policy.empty()) question.model = with_policies(question.model, policy_set(options.policy));
    if (!options.c_file.empty()) question.c = owned(load(options.c_file, container, std::nullopt));
    if (options.alpha || options.beta) {
        question.epilogue = LinearEpilogue{options.alpha.value_or(1), options.beta.value_or(0)};
        for (const double factor : {question.epilogue->alpha, question.epilogue->beta}) {
            if (!std::isfinite(static_cast<Real>(factor))) throw UsageError("--alpha and --beta are finite numbers");
        }
        if (question.epilogue->beta != 0 && !question.c) throw UsageError("--beta scales C; give --c-file, too");
    }
    return question;
}

void save(const std::string& path, const FloatFormat& format, const MatrixOf<float>& matrix) {
    save_matrix(path, format, matrix.rows(), matrix.cols(), values_of(matrix));
}
void save(const std::string& path, const FloatFormat&, const MatrixOf<double>& matrix) {
    npy::write(path, npy::matrix("<f8", matrix.rows(), matrix.cols(), values_of(matrix)));
}

/// Operands that tell the best candidate's ways apart, as files.
template <class Real>
void write_separating_operands(const Options& options, const BasicProductQuestion<Real>& question,
                               const BasicProductExplanation<Real>& explanation) {
    const std::vector<ProductWay>& ways = explanation.candidates.front().ways;
    if (ways.size() < 2) {
        fmt::print(stderr, "ulplab: one way alone explains D best; there is nothing to tell apart\n");
        return;
    }
    const SeparatingOperands<Real> operands = separate<Real>(ways, question.a.cols());
    if (operands.groups.size() < 2) {
        fmt::print(stderr, "ulplab: 100 random products tell none of the {} ways apart; no operands were written\n",
                   ways.size());
        return;
    }
    const std::string a = options.separate + "_a.npy";
    const std::string b = options.separate + "_b.npy";
    save(a, question.model.a_format, operands.a);
    save(b, question.model.b_format, operands.b);
    fmt::print(stderr, "ulplab: {} and {} tell {} of the {} ways apart (without C)\n", a, b, operands.groups.size(),
               ways.size());
}

template <class Real>
void explain_all_of_d(const Options& options, const BasicProductQuestion<Real>& question) {
    const BasicProductExplanation<Real> explanation = explain_product(question);
    fmt::print("{}", options.format == "json" ? explanation_json(question, explanation)
                                              : explanation_text(question, explanation));
    if (!options.separate.empty()) write_separating_operands(options, question, explanation);
}

void explain_all_of_d(const Options& options, const UnitRow& row) {
    const auto* model = row.as<TensorCoreModel>();
    if (model == nullptr) {
        throw UsageError(row.key() +
                         ": all of D is explained for floating-point units without block scales; give one dot product "
                         "by --a, --b and --c");
    }
    if (model->accumulator != formats::fp64)
        return explain_all_of_d(options, question_of<float>(options, row, load_matrix));
    if (options.round || !options.policy.empty()) {
        throw UsageError(row.key() + " takes fp64 operands as they are, without --round and --policy");
    }
    const auto load = [](const std::string& path, const auto&...) { return load_fp64_matrix(path); };
    explain_all_of_d(options, question_of<double>(options, row, load));
}

ExitCode explain(const Options& options) {
    const UnitRow row = unit_named(options.model);
    if (row.as<BlockScaledModel>() == nullptr && !(options.a_scales.empty() && options.b_scales.empty())) {
        throw UsageError(options.model + " has no scales; `ulplab models` names the block-scaled models");
    }
    if (options.whole()) {
        explain_all_of_d(options, row);
        return ExitCode::good;
    }
    if (options.format == "json" || !options.separate.empty() || options.alpha || options.beta) {
        throw UsageError(
            "--format json, --separate, --alpha and --beta are for a whole D: give --a-file, --b-file and "
            "--d-file without --row and --column");
    }
    fmt::print("{}\nevidence: {}\n\n", row.key(), evidence_text(row));
    std::visit([&](const auto& model) { explain_model(options, row, model); }, row.model);
    return ExitCode::good;
}

Action declare(OptionParser& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--model", options->model, "row of the model table, such as sm_90:mma.fp16.fp32").required();
    app.add_option("--a", options->a,
                   "values of a, with commas: decimal, hexadecimal float, or a storage word like #3C00")
        .delimiter(',');
    app.add_option("--b", options->b, "values of b, as many as of a").delimiter(',');
    app.add_option("--a-scales", options->a_scales, "scales of a, with commas, for block-scaled models; default 1")
        .delimiter(',');
    app.add_option("--b-scales", options->b_scales, "scales of b, with commas, for block-scaled models; default 1")
        .delimiter(',');
    app.add_option("--c", options->c, "value of c, to which the products are added").capture_default_str();
    app.add_option("--a-file", options->a_file, "A as .npy; --row chooses the dot product's row");
    app.add_option("--b-file", options->b_file, "B as .npy; --column chooses the column");
    app.add_option("--c-file", options->c_file, "C as .npy");
    app.add_option("--d-file", options->d_file, "D of the real unit as .npy, to be explained");
    app.add_option("--row", options->row, "row of A, C and D; without it and --column all of D is explained");
    app.add_option("--column", options->column, "column of B, C and D");
    app.add_option("--alpha", options->alpha, "for all of D: factor of the products' sum; default: estimated");
    app.add_option("--beta", options->beta, "for all of D: factor of C; default: estimated");
    app.add_option("--format", options->format, "console, or for all of D json").one_of({"console", "json"});
    app.add_option("--separate", options->separate,
                   "for all of D: writes PREFIX_a.npy and PREFIX_b.npy, operands that tell the best ways apart")
        .type_name("PREFIX");
    app.add_option("--result", options->result, "result of the real unit, to be explained");
    app.add_option("--policy", options->policy, "policy set used instead of the table's: A, B, C, D, E or H");
    app.add_flag("--round", options->round, "round the values to the formats first");
    return [options] { return explain(*options); };
}

}  // namespace

Command explain_command() {
    return {"explain", "one dot product of a matrix unit step by step, or who computed a whole product", declare};
}

}  // namespace ulp
