#include "experiments/cli/library_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "experiments/cli/product_options.hpp"
#include "gpu/library/cublas_study.hpp"
#include "gpu/untried/answers.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/product.hpp"

namespace ulp {
namespace {

/// The word of a card's name that tells it from others: the first that has a digit, "H100" of "NVIDIA H100 80GB HBM3".
std::string model_of(std::string name) {
    std::replace(name.begin(), name.end(), '-', ' ');
    std::istringstream words(name);
    for (std::string word; words >> word;) {
        if (word.find_first_of("0123456789") != std::string::npos) return word;
    }
    return name;
}

/// "cublas-13.1.0@H100"
struct LibraryName {
    std::string version, card;
    /// "13.1" is each 13.1.x; a card may be named by its model's word alone.
    [[nodiscard]] bool is(const std::string& its_version, const std::string& its_card) const {
        return !version.empty() && (its_version + ".").starts_with(version + ".") &&
               (card == model_of(its_card) || card == its_card);
    }
};
LibraryName library_name(const std::string& unit) {
    constexpr std::string_view prefix = "cublas-";
    const std::size_t at = unit.find('@');
    if (!unit.starts_with(prefix) || at == std::string::npos || at + 1 == unit.size()) {
        throw UsageError(fmt::format("--unit is '{}'; give cublas-VERSION@CARD, such as cublas-13.1.0@H100", unit));
    }
    return {unit.substr(prefix.size(), at - prefix.size()), unit.substr(at + 1)};
}

/// The answers, if they are those of the library on the card.
gpu::StoredAnswers answers_for(const LibraryProductOptions& options) {
    gpu::StoredAnswers stored = gpu::StoredAnswers::read(options.answers);
    if (!library_name(options.unit).is(stored.info.version, stored.info.gpu)) {
        throw DataError(
            fmt::format("{} holds the answers of cuBLAS {} on {} (cublas-{}@{}), not of {}: declined; ask that library "
                        "on that card",
                        options.answers, stored.info.version, stored.info.gpu, stored.info.version,
                        model_of(stored.info.gpu), options.unit));
    }
    return stored;
}

/// Without a file of answers: what the committed study of the library found.
ExitCode multiply_as_studied(const LibraryProductOptions& options, const gpu::ProblemType& type) {
    const LibraryName name = library_name(options.unit);
    const auto a = load_matrix(options.a, gpu::format_of(type.b), std::nullopt);
    const auto b = load_matrix(options.b, gpu::format_of(type.a), std::nullopt);
    const MatrixView x = view_of(a, options.transpose_a), y = view_of(b, options.transpose_b);
    if (x.cols != y.rows) throw DataError("the inner sizes of A and B differ (--transpose a, b or a,b?)");
    const bool of_library = std::ranges::any_of(gpu::studied_cards, [&](std::string_view card) {
        return name.is(std::string(gpu::studied_version), std::string(card));
    });
    const bool of_layout = options.transpose_b && !options.transpose_a && options.alpha == 1 && options.beta == 0;
    const auto found = of_library && of_layout ? gpu::studied_product(type.name, x.rows, y.cols, x.cols) : std::nullopt;
    if (!found) {
        throw DataError(
            fmt::format("declined: {} for {} x {} x {} of {} is not known; the program knows cuBLAS {} on {} with {}; "
                        "of others give --answers FILE, which `ulplab gpu answers` stores on the card",
                        options.unit, x.rows, y.cols, x.cols, type.name, gpu::studied_version,
                        fmt::join(gpu::studied_cards, " and "), gpu::studied_shapes));
    }
    std::vector<float> d(static_cast<std::size_t>(x.rows * y.cols));
    soft_product(found->model, found->order, {x, y, {}, {d.data(), x.rows, y.cols}});
    save_matrix(options.out, gpu::format_of(type.d), x.rows, y.cols, d);
    fmt::print(
        "{}: {}, {}\nas the study of that library found it, of which every element looked at was equal "
        "(tests/recordings)\n",
        options.unit, found->key, name_of(found->order));
    return ExitCode::good;
}

/// Codes of a matrix, line by line: its rows, or its columns.
std::vector<std::uint32_t> codes_of(const LoadedMatrix<float>& matrix, gpu::Element element, bool rows) {
    std::vector<std::uint32_t> codes;
    codes.reserve(matrix.values.size());
    const std::int64_t lines = rows ? matrix.rows : matrix.cols;
    const std::int64_t length = rows ? matrix.cols : matrix.rows;
    for (std::int64_t line = 0; line < lines; ++line) {
        for (std::int64_t i = 0; i < length; ++i) {
            const std::int64_t at = rows ? line * matrix.cols + i : i * matrix.cols + line;
            codes.push_back(operand_code(gpu::format_of(element), matrix.values[static_cast<std::size_t>(at)]));
        }
    }
    return codes;
}

}  // namespace

ExitCode multiply_like_library(const LibraryProductOptions& options) {
    const gpu::ProblemType& type = gpu::problem_type(options.type);
    if (options.answers.empty()) return multiply_as_studied(options, type);
    const gpu::StoredAnswers stored = answers_for(options);
    const auto a = load_matrix(options.a, gpu::format_of(type.b), std::nullopt);
    const auto b = load_matrix(options.b, gpu::format_of(type.a), std::nullopt);
    // The library thinks in columns: D' = op(B)' * op(A)', so its A is our B. A matrix by rows is its own transpose by
    // columns: op(B)' is taken as it lies (N) unless B is transposed.
    gpu::LibraryProblem p;
    p.type = &type;
    p.layout = {options.transpose_b ? 'T' : 'N', options.transpose_a ? 'T' : 'N'};
    p.m = options.transpose_b ? b.rows : b.cols;
    p.n = options.transpose_a ? a.cols : a.rows;
    p.k = options.transpose_a ? a.rows : a.cols;
    p.alpha = options.alpha;
    p.beta = options.beta;
    if (p.k != (options.transpose_b ? b.cols : b.rows)) {
        throw DataError("the inner sizes of A and B differ (--transpose a, b or a,b?)");
    }
    std::vector<std::uint32_t> c_codes;
    if (p.beta != 0) {
        const auto c = load_matrix(options.c, gpu::format_of(type.d), std::nullopt);
        if (c.rows != p.n || c.cols != p.m) {
            throw DataError(fmt::format("C is {} x {}, but the product {} x {}", c.rows, c.cols, p.n, p.m));
        }
        c_codes = codes_of(c, type.d, false);
    }
    const gpu::KernelPlan plan = stored.plan(p);
    if (const auto* declined = std::get_if<gpu::Declined>(&plan)) {
        throw DataError(fmt::format("declined: {} ({})", declined->reason, p.text()));
    }
    const auto& kernel = std::get<gpu::LibraryKernel>(plan);
    gpu::ProblemSample sample;
    sample.rows.resize(static_cast<std::size_t>(p.m));
    sample.columns.resize(static_cast<std::size_t>(p.n));
    std::iota(sample.rows.begin(), sample.rows.end(), 0);
    std::iota(sample.columns.begin(), sample.columns.end(), 0);
    sample.a = codes_of(b, type.a, options.transpose_b);
    sample.b = codes_of(a, type.b, !options.transpose_a);
    sample.c = std::move(c_codes);
    const auto words = gpu::ordered_product(kernel, p, sample);
    std::vector<float> d(words.size());
    for (std::size_t i = 0; i < d.size(); ++i) {
        const std::size_t row = i % sample.columns.size();
        const std::size_t column = i / sample.columns.size();
        d[row * sample.rows.size() + column] = in_fp32_container(gpu::format_of(type.d), words[i]);
    }
    save_matrix(options.out, gpu::format_of(type.d), p.n, p.m, d);
    fmt::print("cublas-{}@{}: {}\n", stored.info.version, stored.info.gpu, kernel.text());
    fmt::print("{}\n", stored.info.hardware
                           ? "predicted from stored answers of the heuristic; judge it with `ulplab gpu judge`"
                           : "answers of the software stand-in: no evidence of cuBLAS");
    return ExitCode::good;
}

}  // namespace ulp
