// `ulplab matmul --unit KEY a.npy b.npy [c.npy] --out d.npy`: the product a matrix unit would give.
#include <limits>
#include <numeric>
#include <sstream>

#include "engine/files/npy.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/product_options.hpp"
#include "experiments/framework/files.hpp"
#include "gpu/untried/answers.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/integer_model.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

struct LibraryProductOptions {
    std::string unit, answers, type, a, b, c, out;
    bool transpose_a = false, transpose_b = false;
    float alpha = 1, beta = 0;  // C is read unless beta is 0
};

/// Whether a unit's name is that of a library on a card: "cublas-13.1.0@H100".
bool is_library_name(const std::string& unit) { return unit.starts_with("cublas") && !unit.starts_with("cublas:"); }

/// The word of a card's name that tells it from others: the first that has a digit, "H100" of "NVIDIA H100 80GB HBM3".
std::string model_of(std::string name) {
    std::replace(name.begin(), name.end(), '-', ' ');
    std::istringstream words(name);
    for (std::string word; words >> word;) {
        if (word.find_first_of("0123456789") != std::string::npos) return word;
    }
    return name;
}

/// The answers, if they are those of "cublas-13.1.0@H100".
gpu::StoredAnswers answers_for(const LibraryProductOptions& options) {
    constexpr std::string_view prefix = "cublas-";
    const std::size_t at = options.unit.find('@');
    if (!options.unit.starts_with(prefix) || at == std::string::npos || at + 1 == options.unit.size()) {
        throw UsageError(
            fmt::format("--unit is '{}'; give cublas-VERSION@CARD, such as cublas-13.1.0@H100", options.unit));
    }
    if (options.answers.empty()) {
        throw UsageError(
            "--unit cublas-... needs --answers FILE: no card's answers are part of the program; `ulplab gpu answers` "
            "stores them");
    }
    gpu::StoredAnswers stored = gpu::StoredAnswers::read(options.answers);
    const std::string version = options.unit.substr(prefix.size(), at - prefix.size());
    const std::string card = options.unit.substr(at + 1);
    // "13.1" is each 13.1.x; the answers name the one.
    const bool same_version = (stored.info.version + ".").starts_with(version + ".") && !version.empty();
    if (!same_version || (card != model_of(stored.info.gpu) && card != stored.info.gpu)) {
        throw DataError(
            fmt::format("{} holds the answers of cuBLAS {} on {} (cublas-{}@{}), not of {}: declined; ask that library "
                        "on that card",
                        options.answers, stored.info.version, stored.info.gpu, stored.info.version,
                        model_of(stored.info.gpu), options.unit));
    }
    return stored;
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

/// D = alpha * op(A) * op(B) + beta * C, all by rows; C has D's format. The library's A is B, as it thinks in columns:
/// of the type e5m2, E5M2 times E4M3 there, A is E4M3 and B is E5M2. Throws UsageError or DataError where the answers
/// are of another library or card, and DataError with the reason where they do not say how the library adds this shape.
ExitCode multiply_like_library(const LibraryProductOptions& options) {
    const gpu::ProblemType& type = gpu::problem_type(options.type);
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

struct MatmulOptions {
    std::string unit, a, b, c, out, policy, a_scales, b_scales;
    std::string answers, type = "fp16";
    Transpositions transpose;
    std::optional<double> alpha, beta;
    OrderOptions order;
    RoundingOptions rounding;
    bool evidence = false;
    bool packed = false;
};

/// Sizes of op(A) * op(B), checked, with C's.
template <class Real>
ProductProblem<Real> problem_of(const MatmulOptions& options, const LoadedMatrix<Real>& a, const LoadedMatrix<Real>& b,
                                const std::optional<LoadedMatrix<Real>>& c) {
    const auto [m, k] = options.transpose.a ? std::pair{a.cols, a.rows} : std::pair{a.rows, a.cols};
    const auto [k_of_b, n] = options.transpose.b ? std::pair{b.cols, b.rows} : std::pair{b.rows, b.cols};
    if (k != k_of_b) {
        throw DataError(fmt::format("A is {} x {} and B is {} x {}: the inner sizes differ (--transpose a, b or a,b?)",
                                    m, k, k_of_b, n));
    }
    if (c && (c->rows != m || c->cols != n)) {
        throw DataError(fmt::format("{}: C is {} x {}, the product is {} x {}", options.c, c->rows, c->cols, m, n));
    }
    ProductProblem<Real> problem{view_of(a, options.transpose.a), view_of(b, options.transpose.b), {}, {nullptr, m, n}};
    if (c) problem.c = view_of(*c);
    return problem;
}

template <class Real, class Load>
std::optional<LoadedMatrix<Real>> load_c(const MatmulOptions& options, const Load& load) {
    if (options.c.empty()) return std::nullopt;
    return load(options.c);
}

/// The epilogue's factors, checked. C is read unless beta is 0.
template <class Real>
std::optional<LinearEpilogue> epilogue_of(const MatmulOptions& options) {
    if (!options.alpha && !options.beta) return std::nullopt;
    const LinearEpilogue epilogue{options.alpha.value_or(1), options.beta.value_or(options.c.empty() ? 0 : 1)};
    for (const auto& [name, factor] : {std::pair{"--alpha", epilogue.alpha}, {"--beta", epilogue.beta}}) {
        if (!std::isfinite(static_cast<Real>(factor)))
            throw UsageError(fmt::format("{} is {}; give a finite number", name, factor));
    }
    if (epilogue.beta != 0 && options.c.empty()) throw UsageError("--beta scales C; give C after A and B");
    return epilogue;
}

/// What overflow made of the product, in one sentence on standard error.
void report_overflows(const FloatFormat& input, const LoadedMatrix<float>& a, const LoadedMatrix<float>& b,
                      const std::vector<float>& d) {
    const auto not_finite = [](const std::vector<float>& values) {
        return std::count_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
    };
    const auto results = not_finite(d);
    const std::string count = fmt::format("{} of {} results are infinite or NaN", results, d.size());
    if (a.overflows + b.overflows > 0) {
        fmt::print(stderr, "ulplab: {} of {} operands overflow {} and became {}, {}; --saturate clamps operands\n",
                   a.overflows + b.overflows, a.values.size() + b.values.size(), name_of(input),
                   input.has_infinity() ? "infinite" : "NaN", count);
    } else if (results > 0 && not_finite(a.values) + not_finite(b.values) == 0) {
        fmt::print(stderr, "ulplab: {}, though all operands are finite\n", count);
    }
}

void multiply_floats(const MatmulOptions& options, const UnitRow& row, TensorCoreModel model) {
    model = with_policy(row, model, options.policy);
    ProductOrder order = options.order.order();
    order.epilogue = epilogue_of<float>(options);
    const bool reads_c = !order.epilogue || order.epilogue->beta != 0;
    const auto rounding = options.rounding.rounding();
    const auto a = load_matrix(options.a, model.a_format, rounding, options.packed ? Pairs::across : Pairs::none);
    const auto b = load_matrix(options.b, model.b_format, rounding, options.packed ? Pairs::down : Pairs::none);
    const auto load = [&](const std::string& path) { return load_matrix(path, model.accumulator, rounding); };
    const auto c = reads_c ? load_c<float>(options, load) : std::nullopt;
    GemmProblem problem = problem_of(options, a, b, c);
    std::vector<float> d(static_cast<std::size_t>(problem.m() * problem.n()));
    problem.d.data = d.data();
    options.order.require_pieces(problem.k(), model.instruction_k);
    soft_product(model, order, problem);
    save_matrix(options.out, model.accumulator, problem.m(), problem.n(), d);
    report_overflows(model.a_format, a, b, d);
    fmt::print("{}: {} x {} x {} products, {} in, {} out\n", row.key(), problem.m(), problem.n(), problem.k(),
               row.input, row.output);
}

void require_plain_order(const MatmulOptions& options, const std::string& key) {
    if (options.alpha || options.beta || options.order.order() != ProductOrder{} || !options.policy.empty()) {
        throw UsageError(key + " has no --alpha, --beta, --order or --policy");
    }
}

void require_no_rounding(const MatmulOptions& options, const std::string& key) {
    if (options.rounding.given()) {
        throw UsageError(key + " takes its operands as they are, without --rounding and --saturate");
    }
}

void multiply_fp64(const MatmulOptions& options, const UnitRow& row, const TensorCoreModel& model) {
    if (!options.policy.empty()) throw UsageError(row.key() + " has no --policy: it aligns no terms");
    require_no_rounding(options, row.key());
    ProductOrder order = options.order.order();
    order.epilogue = epilogue_of<double>(options);
    const bool reads_c = !order.epilogue || order.epilogue->beta != 0;
    const auto a = load_fp64_matrix(options.a);
    const auto b = load_fp64_matrix(options.b);
    const auto c = reads_c ? load_c<double>(options, load_fp64_matrix) : std::nullopt;
    Fp64Problem problem = problem_of(options, a, b, c);
    std::vector<double> d(static_cast<std::size_t>(problem.m() * problem.n()));
    problem.d.data = d.data();
    options.order.require_pieces(problem.k(), model.instruction_k);
    fp64_product(model, order, problem);
    npy::write(options.out, npy::matrix("<f8", problem.m(), problem.n(), d));
    fmt::print("{}: {} x {} x {} products\n", row.key(), problem.m(), problem.n(), problem.k());
}

void multiply_integers(const MatmulOptions& options, const UnitRow& row, const IntegerModel& model) {
    require_plain_order(options, row.key());
    require_no_rounding(options, row.key());
    const IntegerRange a_range = operand_range(model, model.a_signed);
    const IntegerRange b_range = operand_range(model, model.b_signed);
    const auto a = load_integer_matrix(options.a, a_range.least, a_range.greatest);
    const auto b = load_integer_matrix(options.b, b_range.least, b_range.greatest);
    using Limits = std::numeric_limits<std::int32_t>;
    const auto c = load_c<std::int32_t>(
        options, [](const std::string& path) { return load_integer_matrix(path, Limits::min(), Limits::max()); });
    auto p = problem_of(options, a, b, c);
    std::vector<std::int32_t> d(static_cast<std::size_t>(p.m() * p.n()));
    p.d.data = d.data();
    gemm(model, p);
    npy::write(options.out, npy::matrix("<i4", p.m(), p.n(), d));
    fmt::print("{}: {} x {} x {} products\n", row.key(), p.m(), p.n(), p.k());
}

/// The scales' view, checked: rows x cols.
MatrixView scales_view(const std::optional<LoadedMatrix<float>>& scales, const std::string& path, std::int64_t rows,
                       std::int64_t cols) {
    if (!scales) return {};
    if (scales->rows != rows || scales->cols != cols) {
        throw DataError(fmt::format("{}: the scales are {} x {}, the blocks {} x {}", path, scales->rows, scales->cols,
                                    rows, cols));
    }
    return view_of(*scales);
}

void multiply_block_scaled(const MatmulOptions& options, const UnitRow& row, const BlockScaledModel& model) {
    require_plain_order(options, row.key());
    const auto rounding = options.rounding.rounding();
    const auto a =
        load_matrix(options.a, model.unscaled.a_format, rounding, options.packed ? Pairs::across : Pairs::none);
    const auto b =
        load_matrix(options.b, model.unscaled.b_format, rounding, options.packed ? Pairs::down : Pairs::none);
    const auto c = load_c<float>(
        options, [&](const std::string& path) { return load_matrix(path, model.unscaled.accumulator, rounding); });
    const auto scales_of = [&](const std::string& path) -> std::optional<LoadedMatrix<float>> {
        if (path.empty()) return std::nullopt;
        return load_scales(path, model.scale_format);
    };
    const auto a_scales = scales_of(options.a_scales);
    const auto b_scales = scales_of(options.b_scales);
    BlockScaledProblem problem{problem_of(options, a, b, c)};
    GemmProblem& p = problem.product;
    const std::int64_t blocks = (p.k() + model.scale_block - 1) / model.scale_block;
    problem.a_scales = scales_view(a_scales, options.a_scales, p.m(), blocks);
    problem.b_scales = scales_view(b_scales, options.b_scales, blocks, p.n());
    std::vector<float> d(static_cast<std::size_t>(p.m() * p.n()));
    p.d.data = d.data();
    gemm(model, problem);
    save_matrix(options.out, model.unscaled.accumulator, p.m(), p.n(), d);
    report_overflows(model.unscaled.a_format, a, b, d);
    fmt::print("{}: {} x {} x {} products, scales of {} elements\n", row.key(), p.m(), p.n(), p.k(), model.scale_block);
}

ExitCode matmul(const MatmulOptions& options) {
    if (options.unit.empty()) {
        throw UsageError(
            "say what multiplies: --unit KEY, a matrix unit, or --unit cublas-VERSION@CARD, a library on a card");
    }
    require_writable(options.out);
    if (is_library_name(options.unit)) {
        if (!options.policy.empty() || options.rounding.given() || !options.a_scales.empty() ||
            !options.b_scales.empty() || options.order.order() != ProductOrder{}) {
            throw UsageError(
                options.unit +
                " takes A, B, C, --alpha, --beta and --transpose alone: the library chooses the order of k");
        }
        // Without factors a C is added as it is.
        const auto factors = epilogue_of<float>(options).value_or(LinearEpilogue{1, options.c.empty() ? 0.0 : 1.0});
        return multiply_like_library({options.unit, options.answers, options.type, options.a, options.b, options.c,
                                      options.out, options.transpose.a, options.transpose.b,
                                      static_cast<float>(factors.alpha), static_cast<float>(factors.beta)});
    }
    const UnitRow row = unit_named(options.unit);
    const auto* scaled = row.as<BlockScaledModel>();
    if (scaled == nullptr && (!options.a_scales.empty() || !options.b_scales.empty())) {
        throw UsageError(options.unit + " has no scales; `ulplab models` names the block-scaled models");
    }
    if (scaled != nullptr) {
        multiply_block_scaled(options, row, *scaled);
    } else if (const auto* integers = row.as<IntegerModel>()) {
        multiply_integers(options, row, *integers);
    } else if (row.output == "fp64") {
        multiply_fp64(options, row, *row.as<TensorCoreModel>());
    } else {
        multiply_floats(options, row, *row.as<TensorCoreModel>());
    }
    fmt::print("{}", evidence_lines(row, options.policy, options.evidence));
    return ExitCode::good;
}

Action declare_matmul(OptionParser& app) {
    const auto options = std::make_shared<MatmulOptions>();
    app.add_option(
           "--unit", options->unit,
           fmt::format("what multiplies: a row of `ulplab models`, such as sm_90:wgmma.fp16.fp32{}; or "
                       "cublas-VERSION@CARD, such as cublas-13.1.0@H100, by the stored answers of its heuristic",
                       or_unit_file))
        .type_name("KEY|FILE");
    app.add_option("--answers", options->answers, "of cublas-VERSION@CARD: the answers, from `ulplab gpu answers`");
    app.add_option("--type", options->type,
                   "of cublas-VERSION@CARD: type of product, as in a list of shapes; of e5m2 A is E4M3, B is E5M2")
        .capture_default_str();
    app.add_option("A", options->a, "m x k, .npy of float16, float32 or codes as unsigned integers").required();
    app.add_option("B", options->b, "k x n").required();
    app.add_option("C", options->c,
                   "m x n: what the first instruction accumulates to; with --alpha or --beta the epilogue's C");
    app.add_option("--out", options->out, "file for D, .npy").required();
    options->transpose.declare(app);
    app.add_option("--a-scales", options->a_scales, "scales of A for block-scaled models, m x (k / block); default 1");
    app.add_option("--b-scales", options->b_scales, "scales of B for block-scaled models, (k / block) x n; default 1");
    app.add_flag("--packed", options->packed,
                 "bytes of A and B hold two 4-bit codes along k, the first in the low half, as PyTorch stores FP4");
    app.add_option("--alpha", options->alpha,
                   "factor of the products' sum in D = alpha * sum + beta * C, an fp32 epilogue; default 1");
    app.add_option("--beta", options->beta,
                   "factor of C in the epilogue; 0: C is not read, as in BLAS; default 1 with C");
    options->order.declare(app);
    declare_policy(app, options->policy);
    options->rounding.declare(app, "the operands");
    app.add_flag("--evidence", options->evidence, "prints all that stands behind the unit's row, aspect by aspect");
    return [options] { return matmul(*options); };
}

}  // namespace

Command matmul_command() {
    return {"matmul", "the product that a matrix unit would give, on .npy files", declare_matmul};
}

}  // namespace ulp
