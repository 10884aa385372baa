// `ulplab bound`: how far a matrix unit's product can lie from the exact one, and what tolerance a test may use.
#include <tuple>

#include "engine/analysis/bound_answer.hpp"
#include "engine/analysis/product_bound.hpp"
#include "engine/files/npy.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/product_options.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/matrix_units/bound_operands.hpp"
#include "softfloat/matrix_units/bounds.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {
namespace {

struct Options {
    std::string unit, policy, scheme, a, b, c, d, out, level, a_scales, b_scales, against = "exact";
    std::optional<std::int64_t> k;
    std::vector<double> largest;  // magnitudes in A, B and C
    bool nonnegative = false, json = false;
    Transpositions transpose;
    RoundingOptions rounding;
    OrderOptions order;
    std::optional<double> alpha, beta;
};

BoundQuestion question_of(const Options& options, const std::string& key, bool arrays) {
    const UnitRow row = unit_named(key);
    BoundQuestion q = bound_question(row, options.order.order(), options.level,
                                     !options.a_scales.empty() || !options.b_scales.empty());
    if (!q.scaled) q.model = with_policy(row, q.model, options.policy);
    if (q.scaled && !options.policy.empty()) throw UsageError(key + " has no --policy");
    if (options.alpha || options.beta) {
        const bool has_c = !options.c.empty() || options.largest.size() > 2;
        q.order.epilogue = {options.alpha.value_or(1), options.beta.value_or(has_c ? 1 : 0)};
        const bool is_double = q.model.accumulator == formats::fp64;
        for (const double factor : {q.order.epilogue->alpha, q.order.epilogue->beta}) {
            const bool finite = is_double ? std::isfinite(factor) : std::isfinite(static_cast<float>(factor));
            if (!finite) throw UsageError("--alpha and --beta are finite numbers");
        }
    }
    settle_level(q, key, arrays);
    return q;
}

template <class Real>
LoadedMatrix<Real> loaded(const std::string& path, const FloatFormat& format,
                          const std::optional<OperandRounding>& rounding) {
    if constexpr (std::is_same_v<Real, double>) {
        return load_fp64_matrix(path);
    } else {
        return load_matrix(path, format, rounding);
    }
}

template <class Real>
void require_shape(const std::string& path, const LoadedMatrix<Real>& matrix, std::int64_t m, std::int64_t n) {
    if (matrix.rows == m && matrix.cols == n) return;
    throw DataError(fmt::format("{} is {} x {}, the product is {} x {}", path, matrix.rows, matrix.cols, m, n));
}

void require_scale_shape(const std::string& path, const LoadedMatrix<float>& scales, std::int64_t rows,
                         std::int64_t cols) {
    if (scales.rows == rows && scales.cols == cols) return;
    throw DataError(
        fmt::format("{}: the scales are {} x {}, the blocks {} x {}", path, scales.rows, scales.cols, rows, cols));
}

template <class Real>
BoundAnswer from_arrays(const Options& options, const BoundQuestion& q) {
    const auto rounding = options.rounding.rounding();
    const auto a_matrix = loaded<Real>(options.a, q.model.a_format, rounding);
    const auto b_matrix = loaded<Real>(options.b, q.model.b_format, rounding);
    BasicBoundedProduct<Real> product{view_of(a_matrix, options.transpose.a), view_of(b_matrix, options.transpose.b)};
    const auto& [m, k, n] = std::tuple(product.a.rows, product.a.cols, product.b.cols);
    if (k != product.b.rows) {
        throw DataError(fmt::format("A is {} x {} and B is {} x {}: the inner sizes differ (--transpose a, b or a,b?)",
                                    m, k, product.b.rows, n));
    }
    const bool reads_c = !options.c.empty() && (!q.order.epilogue || q.order.epilogue->beta != 0);
    std::optional<LoadedMatrix<Real>> c_matrix, d_matrix;
    if (reads_c) c_matrix = loaded<Real>(options.c, q.model.accumulator, rounding);
    if (!options.d.empty()) d_matrix = loaded<Real>(options.d, q.model.accumulator, std::nullopt);
    if (c_matrix) require_shape(options.c, *c_matrix, m, n);
    if (d_matrix) require_shape(options.d, *d_matrix, m, n);
    if (d_matrix && q.order.epilogue) throw UsageError("--d is compared with products without --alpha and --beta");
    if (c_matrix) product.c = view_of(*c_matrix);
    if (d_matrix) product.d = view_of(*d_matrix);
    const auto scales_of = [&, k = k](const std::string& path, std::int64_t lines, bool of_b) -> LoadedMatrix<float> {
        if (path.empty()) return {};
        if (!q.scaled) return load_block_scales(path, lines, k, q.scale_block(), of_b);
        LoadedMatrix<float> scales = load_scales(path, q.scaled->scale_format);
        const std::int64_t blocks = (k + q.scale_block() - 1) / q.scale_block();
        of_b ? require_scale_shape(path, scales, blocks, lines) : require_scale_shape(path, scales, lines, blocks);
        return scales;
    };
    const auto a_scales = scales_of(options.a_scales, m, false), b_scales = scales_of(options.b_scales, n, true);
    if (!options.a_scales.empty()) product.scales.a = view_of(a_scales);
    if (!options.b_scales.empty()) product.scales.b = view_of(b_scales);
    product.nonnegative = options.nonnegative;
    product.reference = options.against == "fp64"    ? BoundReference::fp64_sums
                        : options.against == "exact" ? BoundReference::exact
                                                     : BoundReference::unit;
    if (product.reference == BoundReference::unit) product.other = question_of(options, options.against, true);
    std::vector<double> bounds;
    BoundAnswer answer = bound_of_product(q, product, bounds);
    if (!options.out.empty()) npy::write(options.out, npy::matrix("<f8", m, n, bounds));
    return answer;
}

/// k and the magnitudes, checked.
BoundedSizes sizes_of(const Options& options) {
    const std::vector<double>& largest = options.largest;
    if (largest.size() == 1 || largest.size() > 3) {
        throw UsageError("--max takes the largest magnitudes in A and B, and in C where there is one: --max 8,0.5");
    }
    for (const double value : largest) {
        if (value >= 0 && std::isfinite(value)) continue;
        throw UsageError(fmt::format("--max has {}; give a magnitude, 0 or more", value));
    }
    const auto at = [&](std::size_t i) { return i < largest.size() ? std::optional(largest[i]) : std::nullopt; };
    return {*options.k, at(0), at(1), at(2), options.nonnegative};
}

BoundAnswer of_scheme(const Options& options) {
    if (!options.level.empty() || options.against != "exact" || options.nonnegative || options.rounding.given() ||
        !options.policy.empty() || options.alpha || options.beta || !options.a_scales.empty() ||
        !options.b_scales.empty()) {
        throw UsageError("--scheme goes with --unit, -k, --max, --order, and the files; leave the rest out");
    }
    const UnitRow row = unit_named(options.unit);
    const Scheme scheme = scheme_by_name(options.scheme);
    const ProductOrder order = options.order.order();
    if (options.k) {
        // By name the schemes of floating-point sums make fp32 alone.
        const bool narrow = scheme.kind < SchemeKind::ozaki1;
        const SchemePlan plan = plan_of(scheme, row, order, *options.k, narrow ? formats::fp32 : formats::fp64);
        return bound_of_scheme(plan, sizes_of(options));
    }
    SchemeOperands operands(options.a, options.b, options.c, options.d, options.transpose);
    std::vector<double> bounds;
    const SchemePlan plan = plan_of(scheme, row, order, operands.problem.k(), operands.format);
    const BoundAnswer answer = bound_of_scheme(plan, operands.problem, !options.d.empty(), bounds);
    if (!options.out.empty()) {
        npy::write(options.out, npy::matrix("<f8", operands.problem.m(), operands.problem.n(), bounds));
    }
    return answer;
}

std::string number(const std::optional<double>& x) { return x ? fmt::format("{:.4g}", *x) : "unknown"; }

void print_console(const Options& options, const BoundAnswer& x) {
    const AprioriBound& b = x.apriori;
    if (x.has_scales) {
        fmt::print("{}, k = {}, with scales: S = |c| + sum of |scales a b|\n", options.unit, x.k);
    } else {
        if (x.scheme.empty()) {
            fmt::print("{}, k = {}: {} groups in a chain\n", options.unit, x.k, b.groups);
        } else {
            fmt::print("{} by {}, k = {}: {} products\n", options.unit, x.scheme, x.k, x.products);
        }
        const bool of_largest = x.scheme.starts_with("ozaki");
        fmt::print(
            "|D - s| <= gamma * S + eta, S = |c| + {}\n",
            of_largest ? "k times the largest |a| of the row times the largest |b| of the column" : "sum of |a b|");
        const double unit = static_cast<double>(x.k) * 0x1p-24;
        fmt::print("gamma      {:.4g}{}\n", b.gamma, x.k > 0 ? fmt::format(" = {:.3g} k 2^-24", b.gamma / unit) : "");
        fmt::print("eta        {:.4g}\n", b.eta);
    }
    if (b.drops_any) {
        fmt::print("and S, since the unit drops c and partial sums: in this order any of the terms\n");
    } else if (b.drops_sums) {
        fmt::print("and all of what the unit drops: c, and the products before its last instruction's\n");
    }
    const BoundShares& s = b.shares;
    for (const auto& [name, share] : {std::pair{"alignment", s.alignment},
                                      {"rounding", s.rounding},
                                      {"c cut", s.addend},
                                      {"partial sums", s.pieces},
                                      {"products", s.products}}) {
        if (share > 0) fmt::print("  {:<12} {:3.0f} %\n", name, 100 * share / b.gamma);
    }
    fmt::print("level      {}\n", x.level);
    fmt::print("largest    {} absolute, {} of S{}\n", number(x.max_absolute), number(x.max_relative),
               x.at ? fmt::format(", absolute at ({}, {})", x.at->first, x.at->second) : "");
    fmt::print("expected   {} of S on average (an estimate)\n", number(x.expected_bias));
    fmt::print("overflow   {}\n", x.overflow);
    fmt::print("tolerance  atol {}, rtol {} against {}\n", number(x.atol), number(x.rtol), options.against);
    if (x.violations) {
        fmt::print("D          {} elements outside their bounds; the largest error is {:.4g} of its bound\n",
                   *x.violations, x.largest_ratio);
    }
}

ExitCode bound(const Options& options) {
    const bool arrays = !options.a.empty() || !options.b.empty();
    if (arrays == options.k.has_value()) throw UsageError("give either -k or the files --a and --b");
    if (arrays && (options.a.empty() || options.b.empty())) throw UsageError("give both --a and --b");
    if (!arrays && (!options.c.empty() || !options.d.empty() || !options.out.empty())) {
        throw UsageError("--c, --d and --out belong to the files --a and --b");
    }
    require_writable(options.out);
    if (!options.scheme.empty()) {
        const BoundAnswer answer = of_scheme(options);
        options.json ? fmt::print("{}\n", json_of(options.unit, answer)) : print_console(options, answer);
        return answer.violations.value_or(0) == 0 ? ExitCode::good : ExitCode::claim_failed;
    }
    const BoundQuestion q = question_of(options, options.unit, arrays);
    const bool is_double = q.model.accumulator == formats::fp64;
    if (is_double && (options.rounding.given() || !options.policy.empty())) {
        throw UsageError(options.unit + " takes fp64 operands as they are, without --rounding and --policy");
    }
    const BoundAnswer answer = !arrays     ? bound_of_sizes(q, sizes_of(options))
                               : is_double ? from_arrays<double>(options, q)
                                           : from_arrays<float>(options, q);
    options.json ? fmt::print("{}\n", json_of(options.unit, answer)) : print_console(options, answer);
    return answer.violations.value_or(0) == 0 ? ExitCode::good : ExitCode::claim_failed;
}

Action declare(OptionParser& app) {
    const auto o = std::make_shared<Options>();
    app.add_option("--unit", o->unit,
                   fmt::format("row of `ulplab models`, such as sm_90:wgmma.fp16.fp32{}", or_unit_file))
        .required()
        .type_name("KEY|FILE");
    declare_scheme(app, o->scheme);
    app.add_option("-k", o->k, "length of the sums, for a bound whatever the operands are");
    app.add_option("--max", o->largest, "with -k: largest magnitudes in A, B and, 0 otherwise, C, with commas")
        .delimiter(',')
        .type_name("A,B[,C]");
    app.add_flag("--nonnegative", o->nonnegative, "all numbers have one sign: the tolerance is relative");
    app.add_option("--a", o->a, "A as .npy, m x k");
    app.add_option("--b", o->b, "B as .npy, k x n");
    app.add_option("--a-scales", o->a_scales, "scales of A as .npy, as `ulplab matmul` takes them; default 1");
    app.add_option("--b-scales", o->b_scales, "scales of B as .npy; default 1");
    app.add_option("--c", o->c, "C as .npy, m x n");
    app.add_option("--d", o->d, "D of the real unit as .npy: exit code 1 if an element leaves its bound");
    o->transpose.declare(app);
    o->rounding.declare(app, "the operands");
    app.add_option("--level", o->level,
                   "apriori: for all operands; magnitudes: for their magnitudes in this order; running: by the unit's "
                   "own partial sums (default with files)")
        .one_of({"apriori", "magnitudes", "running"});
    app.add_option("--against", o->against,
                   "what D is compared with in the tolerance: exact, fp64 (any order) or another row or file")
        .capture_default_str();
    declare_policy(app, o->policy);
    o->order.declare(app);
    app.add_option("--alpha", o->alpha, "factor of the products' sum in an fp32 epilogue");
    app.add_option("--beta", o->beta, "factor of C in the epilogue");
    app.add_option("--out", o->out, "file for the bound of every element, .npy of float64");
    app.add_flag("--json", o->json, "prints JSON");
    return [o] { return bound(*o); };
}

}  // namespace

Command bound_command() {
    return {"bound", "how far a matrix unit's product can lie from the exact one, and the tolerance that follows",
            declare};
}

}  // namespace ulp
