// `ulplab matmul --unit KEY a.npy b.npy [c.npy] --out d.npy`: the product a matrix unit would give.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "engine/analysis/bound_answer.hpp"
#include "engine/files/npy.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/library_product.hpp"
#include "experiments/cli/product_options.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/integer_model.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/schemes.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

struct MatmulOptions {
    std::string unit, a, b, c, out, policy, scheme, a_scales, b_scales;
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
    const bool scaled = !options.a_scales.empty() || !options.b_scales.empty();
    if (scaled && order.promote_every == 0) order.promote_every = usual_scale_block;
    const auto scales_of = [&](const std::string& path, std::int64_t lines, bool of_b) {
        return path.empty() ? LoadedMatrix<float>{}
                            : load_block_scales(path, lines, problem.k(), order.promote_every, of_b);
    };
    const auto a_scales = scales_of(options.a_scales, problem.m(), false);
    const auto b_scales = scales_of(options.b_scales, problem.n(), true);
    BlockScales scales;
    if (!options.a_scales.empty()) scales.a = view_of(a_scales);
    if (!options.b_scales.empty()) scales.b = view_of(b_scales);
    soft_product(model, order, problem, scales);
    save_matrix(options.out, model.accumulator, problem.m(), problem.n(), d);
    report_overflows(model.a_format, a, b, d);
    fmt::print("{}: {} x {} x {} products, {} in, {} out{}\n", row.key(), problem.m(), problem.n(), problem.k(),
               row.input, row.output, scaled ? fmt::format(", scales of {} k", order.promote_every) : "");
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
    if (options.order.order() != ProductOrder{} || !options.policy.empty()) {
        throw UsageError(row.key() + " has no --order or --policy");
    }
    const ProductOrder order{.epilogue = epilogue_of<float>(options)};
    const bool reads_c = !order.epilogue || order.epilogue->beta != 0;
    const auto rounding = options.rounding.rounding();
    const auto a =
        load_matrix(options.a, model.unscaled.a_format, rounding, options.packed ? Pairs::across : Pairs::none);
    const auto b =
        load_matrix(options.b, model.unscaled.b_format, rounding, options.packed ? Pairs::down : Pairs::none);
    const auto load = [&](const std::string& path) { return load_matrix(path, model.unscaled.accumulator, rounding); };
    const auto c = reads_c ? load_c<float>(options, load) : std::nullopt;
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
    soft_product(model, order, problem);
    save_matrix(options.out, model.unscaled.accumulator, p.m(), p.n(), d);
    report_overflows(model.unscaled.a_format, a, b, d);
    fmt::print("{}: {} x {} x {} products, scales of {} elements\n", row.key(), p.m(), p.n(), p.k(), model.scale_block);
}

/// Errors against exact sums, of up to 16 x 16 elements.
void print_errors(const SchemePlan& plan, const UnitRow& row, const Fp64Problem& whole) {
    const auto some = [](auto view, bool rows) {
        const std::int64_t step = std::max<std::int64_t>(1, (rows ? view.rows : view.cols) / 16);
        const std::int64_t left = ((rows ? view.rows : view.cols) + step - 1) / step;
        (rows ? view.rows : view.cols) = left;
        (rows ? view.row_stride : view.col_stride) *= step;
        return view;
    };
    Fp64Problem p{some(whole.a, true), some(whole.b, false), {}, some(some(whole.d, true), false)};
    if (whole.has_c()) p.c = some(some(whole.c, true), false);
    if (p.k() >= std::int64_t{1} << 20 || p.m() * p.n() == 0) return;  // of exact sums
    const std::string scheme = name_of(plan.scheme);
    fmt::print("largest error, of |A| |B|, in {} elements\n  {:<28}{:.3g}\n", p.m() * p.n(), scheme, largest_error(p));
    std::vector<double> bounds;
    const BoundAnswer bound = bound_of_scheme(plan, p, false, bounds);
    fmt::print("  {:<28}{:.3g}\n", "its bound", bound.max_relative.value_or(0));
    if (const auto alone = largest_error_of(row, p))
        fmt::print("  {:<28}{:.3g}\n", "the unit, operands rounded", *alone);
    fmt::print("  {:<28}{:.3g}\n", "fma after fma in " + name_of(plan.output), largest_error_of_chain(plan.output, p));
}

void multiply_by_scheme(const MatmulOptions& options, const UnitRow& row) {
    if (options.alpha || options.beta || !options.policy.empty() || options.rounding.given() || options.packed ||
        !options.a_scales.empty() || !options.b_scales.empty()) {
        throw UsageError(
            "--scheme takes A, B and C as they are, with --order and --transpose; leave the rest out and scale D");
    }
    SchemeOperands operands(options.a, options.b, options.c, "", options.transpose);
    const Fp64Problem& p = operands.problem;
    const auto* model = row.as<TensorCoreModel>();
    if (model != nullptr) options.order.require_pieces(p.k(), model->instruction_k);
    const SchemePlan plan = plan_of(scheme_by_name(options.scheme), row, options.order.order(), p.k(), operands.format);
    scheme_product(plan, p);
    if (operands.format == formats::fp32) {
        save_matrix(options.out, formats::fp32, p.m(), p.n(), {operands.d.values.begin(), operands.d.values.end()});
    } else {
        npy::write(options.out, npy::matrix("<f8", p.m(), p.n(), operands.d.values));
    }
    fmt::print("{} by {}: {} products of {} x {} x {}, {} in and out\n", row.key(), name_of(plan.scheme), plan.products,
               p.m(), p.n(), p.k(), name_of(operands.format));
    print_errors(plan, row, p);
}

ExitCode matmul(const MatmulOptions& options) {
    if (options.unit.empty()) {
        throw UsageError(
            "say what multiplies: --unit KEY, a matrix unit, or --unit cublas-VERSION@CARD, a library on a card");
    }
    require_writable(options.out);
    if (is_library_name(options.unit)) {
        if (!options.policy.empty() || options.rounding.given() || !options.a_scales.empty() ||
            !options.b_scales.empty() || !options.scheme.empty() || options.order.order() != ProductOrder{}) {
            throw UsageError(options.unit +
                             " takes A, B, C, --alpha, --beta and --transpose alone: the library chooses the order of "
                             "k");
        }
        // Without factors a C is added as it is.
        const auto factors = epilogue_of<float>(options).value_or(LinearEpilogue{1, options.c.empty() ? 0.0 : 1.0});
        return multiply_like_library({options.unit, options.answers, options.type, options.a, options.b, options.c,
                                      options.out, options.transpose.a, options.transpose.b,
                                      static_cast<float>(factors.alpha), static_cast<float>(factors.beta)});
    }
    const UnitRow row = unit_named(options.unit);
    const auto* scaled = row.as<BlockScaledModel>();
    const bool has_scales = !options.a_scales.empty() || !options.b_scales.empty();
    if (has_scales && (row.as<IntegerModel>() != nullptr || row.output == "fp64")) {
        throw UsageError(options.unit + " has no scales; block-scaled units have, and those with fp16 or fp32 results");
    }
    if (!options.scheme.empty()) {
        multiply_by_scheme(options, row);
    } else if (scaled != nullptr) {
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
                   "m x n: what the first instruction accumulates to; with --alpha or --beta the "
                   "epilogue's C");
    app.add_option("--out", options->out, "file for D, .npy").required();
    options->transpose.declare(app);
    app.add_option("--a-scales", options->a_scales,
                   "scales of A, default 1: m x (k / block) for block-scaled models; for others fp32 or UE8M0 codes, "
                   "multiplied in at each promotion (block: promote of --order, default 128), a line or a square each");
    app.add_option("--b-scales", options->b_scales,
                   "scales of B, default 1: (k / block) x n, or (k / block) x (n / block) of squares");
    declare_scheme(app, options->scheme);
    app.add_flag("--packed", options->packed,
                 "bytes of A and B hold two 4-bit codes along k, the first in the low half, as PyTorch stores FP4");
    app.add_option(
        "--alpha", options->alpha,
        "factor of the products' sum in D = alpha * sum + beta * C, an fp32 epilogue; default 1; of NVFP4 the "
        "product of both tensors' fp32 scales");
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
