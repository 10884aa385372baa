// `ulplab bound`: how far a matrix unit's product can lie from the exact one, and what tolerance a test may use.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/files/npy.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/commands/units/matrix_files.hpp"
#include "experiments/commands/units/model_keys.hpp"
#include "experiments/commands/units/order_options.hpp"
#include "experiments/commands/units/product_bound.hpp"
#include "softfloat/bounds/apriori.hpp"
#include "softfloat/bounds/operands.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/matrix_units/table/units.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {
namespace {

using Json = nlohmann::ordered_json;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t most_k = (std::int64_t{1} << 20) - 1;  // of exact sums

struct Options {
    std::string model, policy, a, b, c, d, output, level, against = "exact", format = "console";
    std::optional<std::int64_t> k;
    std::optional<double> max_a, max_b, max_c;
    bool nonnegative = false, transpose_a = false, transpose_b = false, round = false;
    OrderOptions order;
    std::optional<float> alpha, beta;
};

TensorCoreModel bounded_model(const std::string& key) {
    const UnitRow row = unit_named(key);
    const auto* model = row.as<TensorCoreModel>();
    if (model != nullptr) return *model;
    throw UsageError(key + " has no bound: integer units are exact until they wrap, and block scales are not covered");
}

BoundQuestion question_of(const Options& options, const std::string& key, bool arrays) {
    BoundQuestion q{bounded_model(key), {}, false, options.level};
    if (!options.policy.empty()) q.model = with_policies(q.model, policy_set(options.policy));
    q.order = options.order.order();
    if (options.alpha || options.beta) {
        const bool has_c = !options.c.empty() || options.max_c;
        q.order.epilogue = {options.alpha.value_or(1.0F), options.beta.value_or(has_c ? 1.0F : 0.0F)};
        if (!std::isfinite(q.order.epilogue->alpha) || !std::isfinite(q.order.epilogue->beta)) {
            throw UsageError("--alpha and --beta are finite numbers");
        }
    }
    q.ordered = q.order != ProductOrder{};
    const bool looks = q.model.summation == Summation::fused && !is_varied(q.model) && !q.ordered;
    if (q.level.empty()) q.level = arrays && looks ? "running" : "apriori";
    if (q.level == "apriori") return q;
    if (!arrays) throw UsageError("--level " + q.level + " looks at operands; give --a-file and --b-file");
    if (!looks) {
        throw UsageError("--level " + q.level + " is of one chain of a unit that aligns products with c; " + key +
                         (q.ordered ? " in this order" : "") + " has --level apriori");
    }
    return q;
}

struct Answer {
    std::string model, level;
    std::int64_t k = 0;
    AprioriBound apriori;
    std::optional<double> max_absolute, max_relative, atol, rtol;
    double expected_bias = 0;  // relative to S
    std::optional<std::pair<std::int64_t, std::int64_t>> at;
    std::string overflow = "excluded";
    std::int64_t unbounded = 0;
    std::optional<std::int64_t> violations;
    double largest_ratio = 0;  // of --d-file's errors to their bounds
};

/// What |D - reference| may be beside the unit's own bound, from the reference's side.
double of_reference(const Options& options, const BoundQuestion& other, const AprioriBound& bound,
                    const BoundedDot& dot, double magnitude, ErrorInterval* interval) {
    if (options.against == "exact") return 0;
    if (options.against == "fp64") {
        const double k = static_cast<double>(dot.a.size()) * 0x1p-53;
        return k * magnitude / (1 - k);
    }
    const ElementBound element = bound_of(other, bound, dot);
    *interval = element.interval;
    return element.absolute;
}

LoadedMatrix<float> loaded(const Options& options, const std::string& path, const FloatFormat& format) {
    return load_matrix(path, format, options.round ? std::optional(OperandRounding{}) : std::nullopt);
}

void require_shape(const std::string& path, const LoadedMatrix<float>& matrix, std::int64_t m, std::int64_t n) {
    if (matrix.rows == m && matrix.cols == n) return;
    throw DataError(fmt::format("{} is {} x {}, the product is {} x {}", path, matrix.rows, matrix.cols, m, n));
}

Answer from_arrays(const Options& options, const BoundQuestion& q) {
    const auto a_matrix = loaded(options, options.a, q.model.a_format);
    const auto b_matrix = loaded(options, options.b, q.model.b_format);
    const MatrixView a = view_of(a_matrix, options.transpose_a);
    const MatrixView b = view_of(b_matrix, options.transpose_b);
    if (a.cols != b.rows) {
        throw DataError(
            fmt::format("A is {} x {} and B is {} x {}: the inner sizes differ (--transpose-a, "
                        "--transpose-b?)",
                        a.rows, a.cols, b.rows, b.cols));
    }
    if (a.cols > most_k) throw UsageError(fmt::format("k is {}; bounds are of k up to {}", a.cols, most_k));
    const bool reads_c = !options.c.empty() && (!q.order.epilogue || q.order.epilogue->beta != 0);
    std::optional<LoadedMatrix<float>> c_matrix, d_matrix;
    if (reads_c) c_matrix = loaded(options, options.c, q.model.accumulator);
    if (!options.d.empty()) d_matrix = load_matrix(options.d, q.model.accumulator, std::nullopt);
    if (c_matrix) require_shape(options.c, *c_matrix, a.rows, b.cols);
    if (d_matrix) require_shape(options.d, *d_matrix, a.rows, b.cols);
    if (d_matrix && q.order.epilogue) throw UsageError("--d-file is compared with products without --alpha and --beta");
    const std::optional<MatrixView> c = c_matrix ? std::optional(view_of(*c_matrix)) : std::nullopt;

    const bool another = options.against != "exact" && options.against != "fp64";
    const BoundQuestion other = another ? question_of(options, options.against, true) : q;
    const AprioriBound apriori = apriori_bound(q.model, a.cols, q.order);
    const AprioriBound apriori_of_other = apriori_bound(other.model, a.cols, other.order);
    const auto n = static_cast<std::size_t>(b.cols);
    const std::size_t size = static_cast<std::size_t>(a.rows) * n;
    std::vector<double> bounds(size), magnitudes(size), biases(size), excess(size), ratios(size, 0.0);
    const double rtol = options.nonnegative ? apriori.gamma : relative_tolerance(q.model);
    for_each_index(a.rows, worth_threads(a.rows > 1), [&](std::int64_t i) {
        for (std::int64_t j = 0; j < b.cols; ++j) {
            const std::size_t e = static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j);
            const BoundedDot dot = bounded_dot(q.model, a, b, c, i, j);
            const ElementBound element = bound_of(q, apriori, dot);
            bounds[e] = element.absolute;
            magnitudes[e] = element.magnitude;
            biases[e] = element.interval.expected;
            ErrorInterval theirs;
            const double reference = of_reference(options, other, apriori_of_other, dot, element.magnitude, &theirs);
            double apart = element.absolute + reference;
            if (another && q.level == "running" && other.level == "running") {
                apart = std::max(element.interval.below + theirs.above, element.interval.above + theirs.below);
            }
            const double exact = std::abs(exact_error(q.model, dot.a_codes, dot.b_codes, dot.c_code, 0));
            excess[e] = apart - rtol * std::max(0.0, exact - reference);
            if (d_matrix) {
                const float d = (*d_matrix).values[e];
                const double error = std::isfinite(d)
                                         ? std::abs(exact_error(q.model, dot.a_codes, dot.b_codes, dot.c_code,
                                                                operand_code(q.model.accumulator, d)))
                                         : infinity;
                ratios[e] = error <= bounds[e] && (error == 0 || std::isinf(bounds[e])) ? 0 : error / bounds[e];
            }
        }
    });

    Answer answer{options.model, q.level, a.cols, apriori, {}, {}, {}, {}, 0, {}, "excluded", 0, {}, 0};
    double largest = -1;
    double relative = 0;
    for (std::size_t e = 0; e < size; ++e) {
        if (std::isinf(bounds[e])) {
            ++answer.unbounded;
            continue;
        }
        if (bounds[e] > largest) {
            largest = bounds[e];
            answer.at = {static_cast<std::int64_t>(e / n), static_cast<std::int64_t>(e % n)};
            answer.expected_bias = magnitudes[e] > 0 ? biases[e] / magnitudes[e] : 0;
        }
        if (magnitudes[e] > 0) relative = std::max(relative, bounds[e] / magnitudes[e]);
    }
    if (answer.at) {
        answer.max_absolute = largest;
        answer.max_relative = relative;
        answer.rtol = rtol;
        double most = 0;
        for (std::size_t e = 0; e < size; ++e) most = std::isinf(bounds[e]) ? most : std::max(most, excess[e]);
        answer.atol = most;
    }
    if (answer.unbounded > 0) answer.overflow = fmt::format("possible in {} of {} elements", answer.unbounded, size);
    if (d_matrix) {
        answer.violations = std::count_if(ratios.begin(), ratios.end(), [](double r) { return !(r <= 1); });
        for (const double r : ratios) answer.largest_ratio = std::max(answer.largest_ratio, r);
    }
    if (!options.output.empty()) npy::write(options.output, npy::matrix("<f8", a.rows, b.cols, bounds));
    return answer;
}

Answer from_sizes(const Options& options, const BoundQuestion& q) {
    for (const auto& [name, value] :
         {std::pair{"--max-a", options.max_a}, {"--max-b", options.max_b}, {"--max-c", options.max_c}}) {
        if (value && !(*value >= 0 && std::isfinite(*value))) {
            throw UsageError(fmt::format("{} is {}; give a magnitude, 0 or more", name, *value));
        }
    }
    if (*options.k < 0 || *options.k > most_k) {
        throw UsageError(fmt::format("-k is {}; bounds are of k from 0 to {}", *options.k, most_k));
    }
    Answer answer{options.model,
                  q.level,
                  *options.k,
                  apriori_bound(q.model, *options.k, q.order),
                  {},
                  {},
                  {},
                  {},
                  0,
                  {},
                  "excluded",
                  0,
                  {},
                  0};
    const AprioriBound& bound = answer.apriori;
    answer.max_relative = bound.gamma;
    answer.expected_bias = options.nonnegative ? usual_loss(q.model, bound) : 0;
    if (options.nonnegative) answer.rtol = bound.gamma;
    if (options.nonnegative) answer.atol = bound.eta;
    if (!options.max_a || !options.max_b) {
        answer.overflow = "unknown without --max-a and --max-b";
        return answer;
    }
    const std::vector<double> a(static_cast<std::size_t>(*options.k), *options.max_a);
    const std::vector<double> b(static_cast<std::size_t>(*options.k), *options.max_b);
    Magnitude m = magnitude_of(q.model, a, b, options.max_c.value_or(0));
    if (q.model.flush_subnormals) {  // any operand may be one that is flushed
        m.flushed = static_cast<double>(*options.k) * (std::ldexp(*options.max_b, q.model.a_format.emin()) +
                                                       std::ldexp(*options.max_a, q.model.b_format.emin()));
    }
    const ElementBound element = whatever_the_operands(q, bound, m, options.max_c.value_or(0));
    if (std::isinf(element.absolute)) {
        answer.overflow = "possible";
        return answer;
    }
    answer.max_absolute = element.absolute;
    if (options.nonnegative) return answer;
    answer.rtol = relative_tolerance(q.model);
    answer.atol = element.absolute;
    return answer;
}

std::string number(const std::optional<double>& x) { return x ? fmt::format("{:.4g}", *x) : "unknown"; }

void print_console(const Options& options, const Answer& x) {
    const AprioriBound& b = x.apriori;
    fmt::print("{}, k = {}: {} groups in a chain\n", x.model, x.k, b.groups);
    fmt::print("|D - s| <= gamma * S + eta, S = |c| + sum of |a b|\n");
    const double unit = static_cast<double>(x.k) * 0x1p-24;
    fmt::print("gamma      {:.4g}{}\n", b.gamma, x.k > 0 ? fmt::format(" = {:.3g} k 2^-24", b.gamma / unit) : "");
    fmt::print("eta        {:.4g}\n", b.eta);
    const BoundShares& s = b.shares;
    for (const auto& [name, share] : {std::pair{"alignment", s.alignment},
                                      {"rounding", s.rounding},
                                      {"c cut", s.addend},
                                      {"partial sums", s.pieces}}) {
        if (share > 0) fmt::print("  {:<12} {:3.0f} %\n", name, 100 * share / b.gamma);
    }
    fmt::print("level      {}\n", x.level);
    fmt::print("largest    {} absolute, {} of S{}\n", number(x.max_absolute), number(x.max_relative),
               x.at ? fmt::format(", absolute at ({}, {})", x.at->first, x.at->second) : "");
    fmt::print("expected   {:.4g} of S on average (an estimate)\n", x.expected_bias);
    fmt::print("overflow   {}\n", x.overflow);
    fmt::print("tolerance  atol {}, rtol {} against {}\n", number(x.atol), number(x.rtol), options.against);
    if (x.violations) {
        fmt::print("D          {} elements outside their bounds; the largest error is {:.4g} of its bound\n",
                   *x.violations, x.largest_ratio);
    }
}

Json or_null(const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); }

void print_json(const Answer& x) {
    const BoundShares& s = x.apriori.shares;
    Json json = {
        {"model", x.model},
        {"k", x.k},
        {"groups", x.apriori.groups},
        {"gamma", x.apriori.gamma},
        {"eta", x.apriori.eta},
        {"shares", {{"alignment", s.alignment}, {"rounding", s.rounding}, {"addend", s.addend}, {"pieces", s.pieces}}},
        {"level", x.level},
        {"max_absolute", or_null(x.max_absolute)},
        {"max_relative", or_null(x.max_relative)},
        {"at", x.at ? Json{x.at->first, x.at->second} : Json(nullptr)},
        {"expected_bias", x.expected_bias},
        {"overflow", x.overflow},
        {"atol", or_null(x.atol)},
        {"rtol", or_null(x.rtol)},
        {"violations", x.violations ? Json(*x.violations) : Json(nullptr)}};
    fmt::print("{}\n", json.dump(2));
}

ExitCode bound(const Options& options) {
    const bool arrays = !options.a.empty() || !options.b.empty();
    if (arrays == options.k.has_value()) throw UsageError("give either -k or --a-file and --b-file");
    if (arrays && (options.a.empty() || options.b.empty())) throw UsageError("give both --a-file and --b-file");
    if (!arrays && (!options.c.empty() || !options.d.empty() || !options.output.empty())) {
        throw UsageError("--c-file, --d-file and -o belong to --a-file and --b-file");
    }
    const BoundQuestion q = question_of(options, options.model, arrays);
    if (arrays && q.model.accumulator == formats::fp64) {
        throw UsageError(options.model + " has fp64 operands; its bounds are of -k alone");
    }
    const Answer answer = arrays ? from_arrays(options, q) : from_sizes(options, q);
    options.format == "json" ? print_json(answer) : print_console(options, answer);
    return answer.violations.value_or(0) == 0 ? ExitCode::good : ExitCode::claim_failed;
}

Action declare(OptionParser& app) {
    const auto o = std::make_shared<Options>();
    app.add_option("--model", o->model,
                   fmt::format("row of the model table, such as sm_90:wgmma.fp16.fp32{}", or_unit_file))
        .required();
    app.add_option("-k", o->k, "length of the sums, for a bound whatever the operands are");
    app.add_option("--max-a", o->max_a, "with -k: largest magnitude in A");
    app.add_option("--max-b", o->max_b, "with -k: largest magnitude in B");
    app.add_option("--max-c", o->max_c, "with -k: largest magnitude in C; default 0");
    app.add_flag("--nonnegative", o->nonnegative, "all numbers have one sign: the tolerance is relative");
    app.add_option("--a-file", o->a, "A as .npy, m x k");
    app.add_option("--b-file", o->b, "B as .npy, k x n");
    app.add_option("--c-file", o->c, "C as .npy, m x n");
    app.add_option("--d-file", o->d, "D of the real unit as .npy: exit code 1 if an element leaves its bound");
    app.add_flag("--transpose-a", o->transpose_a, "A holds k x m");
    app.add_flag("--transpose-b", o->transpose_b, "B holds n x k");
    app.add_flag("--round", o->round, "round the operands to the input format first");
    app.add_option(
           "--level", o->level,
           "apriori: for all operands; magnitudes: for their magnitudes in this order; running: by the unit's own "
           "partial sums (default with files)")
        .one_of({"apriori", "magnitudes", "running"});
    app.add_option("--against", o->against,
                   "what D is compared with in the tolerance: exact, fp64 (any order) or another row or file")
        .capture_default_str();
    app.add_option("--policy", o->policy, "policy set used instead of the table's: A, B, C, D, E or H");
    o->order.declare(app);
    app.add_option("--alpha", o->alpha, "factor of the products' sum in an fp32 epilogue");
    app.add_option("--beta", o->beta, "factor of C in the epilogue");
    app.add_option("-o,--output", o->output, "file for the bound of every element, .npy of float64");
    app.add_option("--format", o->format, "console or json").one_of({"console", "json"});
    return [o] { return bound(*o); };
}

}  // namespace

Command bound_command() {
    return {"bound", "how far a matrix unit's product can lie from the exact one, and the tolerance that follows",
            declare};
}

}  // namespace ulp
