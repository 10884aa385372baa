// `ulplab explain` of a whole product in files.
#include "experiments/cli/explain_whole_product.hpp"

#include <fmt/core.h>

#include <cmath>
#include <optional>

#include "engine/analysis/product_explanation.hpp"
#include "engine/files/npy.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/product_options.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

namespace {

template <class Real>
MatrixOf<Real> owned(const LoadedMatrix<Real>& matrix) {
    return Eigen::Map<const MatrixOf<Real>>(matrix.values.data(), matrix.rows, matrix.cols);
}

template <class Real>
std::vector<Real> values_of(const MatrixOf<Real>& matrix) {
    return {matrix.data(), matrix.data() + matrix.size()};
}

template <class Real, class Load>
BasicProductQuestion<Real> question_of(const ExplainOptions& options, const UnitRow& row, const Load& load) {
    const TensorCoreModel& model = *row.as<TensorCoreModel>();
    const auto rounding = options.rounding.rounding();
    const FloatFormat container = std::is_same_v<Real, double> ? formats::fp64 : formats::fp32;
    BasicProductQuestion<Real> question{row.key(), model, owned(load(options.a_file, model.a_format, rounding)),
                                        owned(load(options.b_file, model.b_format, rounding)),
                                        owned(load(options.d_file, container, std::nullopt))};
    question.model = with_policy(row, model, options.policy);
    if (!options.c_file.empty()) question.c = owned(load(options.c_file, container, std::nullopt));
    if (options.alpha || options.beta) {
        question.epilogue = LinearEpilogue{options.alpha.value_or(1), options.beta.value_or(0)};
        for (const double factor : {question.epilogue->alpha, question.epilogue->beta}) {
            if (!std::isfinite(static_cast<Real>(factor))) throw UsageError("--alpha and --beta are finite numbers");
        }
        if (question.epilogue->beta != 0 && !question.c) throw UsageError("--beta scales C; give a file --c, too");
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
void write_separating_operands(const ExplainOptions& options, const BasicProductQuestion<Real>& question,
                               const BasicProductExplanation<Real>& explanation) {
    const std::vector<ProductComputation>& ways = explanation.candidates.front().ways;
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
void explain_all_of_d(const ExplainOptions& options, const BasicProductQuestion<Real>& question) {
    const BasicProductExplanation<Real> explanation = explain_product(question);
    fmt::print("{}", options.json ? explanation_json(question, explanation) : explanation_text(question, explanation));
    if (!options.separate.empty()) write_separating_operands(options, question, explanation);
}

}  // namespace

void explain_all_of_d(const ExplainOptions& options, const UnitRow& row) {
    const auto* model = row.as<TensorCoreModel>();
    if (model == nullptr) {
        throw UsageError(row.key() +
                         ": all of D is explained for floating-point units without block scales; give --at "
                         "ROW,COLUMN for one element");
    }
    const auto load_floats = [](const std::string& path, const auto&... how) { return load_matrix(path, how...); };
    if (model->accumulator != formats::fp64)
        return explain_all_of_d(options, question_of<float>(options, row, load_floats));
    if (options.rounding.given() || !options.policy.empty()) {
        throw UsageError(row.key() + " takes fp64 operands as they are, without --rounding and --policy");
    }
    const auto load = [](const std::string& path, const auto&...) { return load_fp64_matrix(path); };
    explain_all_of_d(options, question_of<double>(options, row, load));
}

}  // namespace ulp
