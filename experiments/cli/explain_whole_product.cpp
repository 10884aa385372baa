// `ulplab explain` of a whole product in files.
#include "experiments/cli/explain_whole_product.hpp"

#include "engine/analysis/product_explanation.hpp"
#include "engine/files/npy.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/product_options.hpp"

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
    const auto* scaled = row.as<BlockScaledModel>();
    const TensorCoreModel& model = scaled != nullptr ? scaled->unscaled : *row.as<TensorCoreModel>();
    const auto rounding = options.rounding.rounding();
    const FloatFormat container = std::is_same_v<Real, double> ? formats::fp64 : formats::fp32;
    BasicProductQuestion<Real> question{row.key(), model, owned(load(options.a_file, model.a_format, rounding)),
                                        owned(load(options.b_file, model.b_format, rounding)), MatrixOf<Real>()};
    if constexpr (std::is_same_v<Real, double>) {
        question.d = owned(load_fp64_matrix(options.d_file));
    } else {
        question.d = owned(load_result(options.d_file));
    }
    if (scaled != nullptr) question.scaled = *scaled;
    if (scaled == nullptr) question.model = with_policy(row, model, options.policy);
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
    if (question.scaled || explanation.verdict != ProductVerdict::explained) {
        fmt::print(stderr, "ulplab: no operands were written: --out is for ways that explain D without block scales\n");
        return;
    }
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
    std::string files = a + " and " + b;
    if (operands.c) {
        const std::string c = options.separate + "_c.npy";
        save(c, std::is_same_v<Real, double> ? formats::fp64 : formats::fp32, *operands.c);
        files = fmt::format("{}, {} and {}", a, b, c);
    }
    fmt::print(stderr, "ulplab: {} tell {} of the {} ways apart: multiply them, and explain that D\n", files,
               operands.groups.size(), ways.size());
}

/// The file of scales, "s.npy", or nothing.
std::string scales_file(const std::vector<std::string>& given) {
    const std::string path = fmt::format("{}", fmt::join(given, ","));
    if (path.empty() || is_matrix_file(path)) return path;
    throw UsageError("of a whole product the scales are a file, FILE.npy, not " + path);
}

/// The scales, if there are any. Their shape is checked against the blocks'.
std::optional<MatrixOf<float>> scales_in(const std::vector<std::string>& given, const BlockScaledModel& model,
                                         Index rows, Index cols) {
    const std::string path = scales_file(given);
    if (path.empty()) return std::nullopt;
    const LoadedMatrix<float> scales = load_scales(path, model.scale_format);
    if (scales.rows == rows && scales.cols == cols) return owned(scales);
    throw DataError(
        fmt::format("{}: the scales are {} x {}, the blocks {} x {}", path, scales.rows, scales.cols, rows, cols));
}

template <class Real>
bool explain_all_of_d(const ExplainOptions& options, const BasicProductQuestion<Real>& question) {
    const BasicProductExplanation<Real> explanation = explain_product(question);
    fmt::print("{}", options.json ? explanation_json(question, explanation) : explanation_text(question, explanation));
    if (!options.separate.empty()) write_separating_operands(options, question, explanation);
    return explanation.verdict == ProductVerdict::explained;
}

}  // namespace

ProductQuestion product_question(const ExplainOptions& options, const UnitRow& row) {
    const auto* scaled = row.as<BlockScaledModel>();
    if (scaled == nullptr && row.as<TensorCoreModel>() == nullptr) {
        throw UsageError(row.key() + ": all of D is explained for floating-point units; integer units have one way");
    }
    if (scaled != nullptr && (options.alpha || options.beta || !options.policy.empty())) {
        throw UsageError(row.key() + " has no --alpha, --beta and --policy");
    }
    const auto load_floats = [](const std::string& path, const auto&... how) { return load_matrix(path, how...); };
    ProductQuestion question = question_of<float>(options, row, load_floats);
    const std::int64_t k = question.a.cols();
    if (scaled == nullptr) {
        const auto take = [&](const std::vector<std::string>& given, Index lines, bool of_b) {
            const std::string path = scales_file(given);
            return path.empty() ? std::optional<MatrixOf<float>>()
                                : owned(load_block_scales(path, lines, k, usual_scale_block, of_b));
        };
        question.a_scales = take(options.a_scales, question.a.rows(), false);
        question.b_scales = take(options.b_scales, question.b.cols(), true);
        if (question.a_scales || question.b_scales) question.promote_every = usual_scale_block;
        return question;
    }
    const Index blocks = (question.a.cols() + scaled->scale_block - 1) / scaled->scale_block;
    question.a_scales = scales_in(options.a_scales, *scaled, question.a.rows(), blocks);
    question.b_scales = scales_in(options.b_scales, *scaled, blocks, question.b.cols());
    return question;
}

bool explain_all_of_d(const ExplainOptions& options, const UnitRow& row) {
    const auto* model = row.as<TensorCoreModel>();
    if (model == nullptr || model->accumulator != formats::fp64) {
        return explain_all_of_d(options, product_question(options, row));
    }
    if (options.rounding.given() || !options.policy.empty()) {
        throw UsageError(row.key() + " takes fp64 operands as they are, without --rounding and --policy");
    }
    const auto load = [](const std::string& path, const auto&...) { return load_fp64_matrix(path); };
    return explain_all_of_d(options, question_of<double>(options, row, load));
}

}  // namespace ulp
