// Bounds, explanations and inspection for Python: what the commands of the same names answer.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/analysis/bound_answer.hpp"
#include "engine/analysis/collective_sum.hpp"
#include "engine/analysis/dot_candidates.hpp"
#include "engine/analysis/dot_explanation.hpp"
#include "engine/analysis/inspection_json.hpp"
#include "engine/analysis/product_explanation.hpp"
#include "engine/analysis/tiled_attention.hpp"
#include "engine/analysis/token_mismatch.hpp"
#include "engine/analysis/unit_explanation.hpp"
#include "engine/python/module_parts.hpp"
#include "engine/python/numpy_arrays.hpp"
#include "engine/python/unit_lookup.hpp"
#include "softfloat/matrix_units/block_steps.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "softfloat/text.hpp"

namespace ulp::python {
namespace {

std::optional<InputRounding> rounding_if(bool round) { return round ? std::optional(InputRounding{}) : std::nullopt; }

template <class Real>
using MatricesOf = std::conditional_t<std::is_same_v<Real, double>, Fp64Matrices, Matrices>;

/// A matrix of fp64 numbers, or of another format's in fp32.
template <class Real>
MatricesOf<Real> loaded(const py::object& array, const FloatFormat& format, bool round, const char* name) {
    if constexpr (std::is_same_v<Real, double>) {
        return load_fp64_matrices(array.cast<py::array>(), name);
    } else {
        return load_matrices(array.cast<py::array>(), format, rounding_if(round), name);
    }
}

/// The same of m x n, or nothing of None.
template <class Real>
std::optional<MatricesOf<Real>> load_if(const py::object& array, const FloatFormat& format, bool round, std::int64_t m,
                                        std::int64_t n, const char* name) {
    if (array.is_none()) return std::nullopt;
    auto matrix = loaded<Real>(array, format, round, name);
    if (matrix.rows == m && matrix.cols == n) return matrix;
    throw py::value_error(fmt::format("{} is {} x {}, the product is {} x {}", name, matrix.rows, matrix.cols, m, n));
}

/// Whether a unit's operands and sums are fp64. Throws ValueError for options that it does not have then.
bool takes_fp64(const std::string& unit, const TensorCoreModel& model, bool round, const py::object& policy) {
    if (model.accumulator != formats::fp64) return false;
    if (round || !policy.is_none()) {
        throw py::value_error(unit + " takes fp64 operands as they are, without round and policy");
    }
    return true;
}

BoundQuestion question_of(const std::string& unit, const py::object& order, const py::object& alpha,
                          const py::object& beta, bool has_c, const std::string& level, const py::object& policy,
                          bool has_operands, bool has_scales = false) {
    const std::shared_ptr<const UnitRow> row = unit_named(unit);
    BoundQuestion q = bound_question(*row, order_of(order), level, has_scales);
    if (!policy.is_none()) q.model = floating_point_model(*row, policy);
    q.order.epilogue = epilogue_of(alpha, beta, has_c, q.model.accumulator == formats::fp64);
    settle_level(q, unit, has_operands);
    return q;
}

/// The JSON of the command, and the bounds of all elements. `another` is the unit that D is compared with.
template <class Real>
py::tuple bound_of_arrays(const std::string& unit, const BoundQuestion& q, const py::array& a, const py::array& b,
                          const py::object& c, const py::object& d, const std::string& against,
                          const std::optional<BoundQuestion>& another, bool nonnegative, bool round,
                          const py::object& a_scales, const py::object& b_scales) {
    const auto x = loaded<Real>(a, q.model.a_format, round, "a");
    const auto y = loaded<Real>(b, q.model.b_format, round, "b");
    if (x.cols != y.rows) {
        throw py::value_error(
            fmt::format("a is {} x {} and b is {} x {}: the inner sizes differ", x.rows, x.cols, y.rows, y.cols));
    }
    const bool reads_c = !q.order.epilogue || q.order.epilogue->beta != 0;
    const auto z = load_if<Real>(reads_c ? c : py::none(), q.model.accumulator, round, x.rows, y.cols, "c");
    const auto given = load_if<Real>(d, q.model.accumulator, false, x.rows, y.cols, "d");
    if (given && q.order.epilogue) throw py::value_error("d is compared with products without alpha and beta");
    BasicBoundedProduct<Real> product{x.view(), y.view()};
    const auto scales_of = [&](const py::object& scales, const char* name) -> std::optional<Matrices> {
        if (scales.is_none()) return std::nullopt;
        const FloatFormat& format = q.scaled ? q.scaled->scale_format : formats::fp32;
        return load_matrices(scales.cast<py::array>(), format, std::nullopt, name);
    };
    const auto of_a = scales_of(a_scales, "the scales of a"), of_b = scales_of(b_scales, "the scales of b");
    if (of_a) product.scales.a = of_a->view(0);
    if (of_b) product.scales.b = of_b->view(0);
    if (z) product.c = z->view();
    if (given) product.d = given->view();
    product.nonnegative = nonnegative;
    product.reference = against == "fp64" ? BoundReference::fp64_sums
                        : another         ? BoundReference::unit
                                          : BoundReference::exact;
    product.other = another;
    std::vector<double> bounds;
    BoundAnswer answer;
    SignalWatch signals;
    product.stops = [&] { return signals.raised(); };
    {
        const py::gil_scoped_release unlocked;
        answer = bound_of_product(q, product, bounds);
    }
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    py::array_t<double> array({x.rows, y.cols});
    std::copy(bounds.begin(), bounds.end(), array.mutable_data());
    return py::make_tuple(json_of(unit, answer), array, answer.largest_ratio);
}

py::tuple bound_of(const std::string& unit, const py::array& a, const py::array& b, const py::object& c,
                   const py::object& d, const std::string& level, const std::string& against, const py::object& order,
                   const py::object& alpha, const py::object& beta, bool nonnegative, bool round,
                   const py::object& policy, const py::object& a_scales, const py::object& b_scales) {
    const auto question = [&](const std::string& of) {
        return question_of(of, order, alpha, beta, !c.is_none(), level, policy, true,
                           !(a_scales.is_none() && b_scales.is_none()));
    };
    const BoundQuestion q = question(unit);
    std::optional<BoundQuestion> another;
    if (against != "fp64" && against != "exact") another = question(against);
    const auto bounded = takes_fp64(unit, q.model, round, policy) ? bound_of_arrays<double> : bound_of_arrays<float>;
    return bounded(unit, q, a, b, c, d, against, another, nonnegative, round, a_scales, b_scales);
}

/// The same of a scheme: of fp32 numbers, or of fp64 numbers where an array has them.
py::tuple scheme_bound_of_arrays(const std::string& unit, const std::string& scheme, const py::array& a,
                                 const py::array& b, const py::object& c, const py::object& d,
                                 const py::object& order) {
    const auto x = loaded<double>(a, formats::fp64, false, "a");
    const auto y = loaded<double>(b, formats::fp64, false, "b");
    const auto z = load_if<double>(c, formats::fp64, false, x.rows, y.cols, "c");
    auto given = load_if<double>(d, formats::fp64, false, x.rows, y.cols, "d");
    if (x.cols != y.rows) {
        throw py::value_error(
            fmt::format("a is {} x {} and b is {} x {}: the inner sizes differ", x.rows, x.cols, y.rows, y.cols));
    }
    bool wide = false;
    for (const py::object& each : {py::object(a), py::object(b), c}) {
        wide = wide || (!each.is_none() && each.cast<py::array>().dtype().is(py::dtype::of<double>()));
    }
    const SchemePlan plan = plan_of(scheme_by_name(scheme), *unit_named(unit), order_of(order), x.cols,
                                    wide ? formats::fp64 : formats::fp32);
    py::array_t<double> array({x.rows, y.cols});
    std::vector<double> none(static_cast<std::size_t>(array.size())), bounds;
    Fp64Problem problem{x.view(), y.view(), {}, {none.data(), x.rows, y.cols}};
    if (z) problem.c = z->view();
    if (given) std::copy_n(given->view().data, none.size(), none.begin());
    BoundAnswer answer;
    {
        const py::gil_scoped_release unlocked;
        answer = bound_of_scheme(plan, problem, given.has_value(), bounds);
    }
    std::copy(bounds.begin(), bounds.end(), array.mutable_data());
    return py::make_tuple(json_of(unit, answer), array, answer.largest_ratio);
}

/// Of fp32 numbers for the schemes that make no others, else of fp64 numbers.
std::string scheme_bound_of_k(const std::string& unit, const std::string& name, std::int64_t k,
                              const std::optional<double>& max_a, const std::optional<double>& max_b,
                              const std::optional<double>& max_c, const py::object& order) {
    const Scheme scheme = scheme_by_name(name);
    const FloatFormat format = scheme.kind < SchemeKind::ozaki1 ? formats::fp32 : formats::fp64;
    const SchemePlan plan = plan_of(scheme, *unit_named(unit), order_of(order), k, format);
    return json_of(unit, bound_of_scheme(plan, {k, max_a, max_b, max_c}));
}

std::string bound_of_k(const std::string& unit, std::int64_t k, const std::optional<double>& max_a,
                       const std::optional<double>& max_b, const std::optional<double>& max_c, const std::string& level,
                       const py::object& order, const py::object& alpha, const py::object& beta, bool nonnegative,
                       const py::object& policy) {
    const BoundQuestion q = question_of(unit, order, alpha, beta, max_c.has_value(), level, policy, false);
    for (const auto& value : {max_a, max_b, max_c}) {
        if (value && !(*value >= 0 && std::isfinite(*value))) {
            throw py::value_error(fmt::format("{} is no magnitude; give 0 or more", *value));
        }
    }
    return json_of(unit, bound_of_sizes(q, {k, max_a, max_b, max_c, nonnegative}));
}

/// Storage words of the numbers of a vector.
template <class Code = std::uint32_t>
std::vector<Code> codes_of(const py::array& numbers, const FloatFormat& format, bool round, const char* name) {
    if (numbers.ndim() != 1) throw py::value_error(fmt::format("{} has {} extents; give 1", name, numbers.ndim()));
    if (format == formats::fp64) {
        const auto doubles = doubles_of(numbers, name);
        std::vector<Code> codes;
        for (py::ssize_t i = 0; i < doubles.size(); ++i) {
            codes.push_back(static_cast<Code>(std::bit_cast<std::uint64_t>(doubles.at(i))));
        }
        return codes;
    }
    const Matrices matrix =
        load_matrices(numbers.attr("reshape")(1, -1).cast<py::array>(), format, rounding_if(round), name);
    std::vector<Code> codes;
    for (std::int64_t i = 0; i < matrix.cols; ++i) codes.push_back(operand_code(format, matrix.view()(0, i)));
    return codes;
}

template <class Code = std::uint32_t>
BasicDotOperands<Code> dot_operands(const TensorCoreModel& model, const py::array& a, const py::array& b,
                                    const py::array& c, bool round) {
    BasicDotOperands<Code> operands{codes_of<Code>(a, model.a_format, round, "a"),
                                    codes_of<Code>(b, model.b_format, round, "b"),
                                    codes_of<Code>(c, model.accumulator, round, "c").at(0)};
    if (operands.a.size() != operands.b.size() || operands.a.empty()) {
        throw py::value_error(
            fmt::format("a has {} numbers and b {}; give as many, 1 or more", operands.a.size(), operands.b.size()));
    }
    return operands;
}

double double_of(const FloatFormat& format, std::uint64_t code) {
    if (format == formats::fp64) return std::bit_cast<double>(code);
    return static_cast<double>(in_fp32_container(format, static_cast<std::uint32_t>(code)));
}

py::dict fields_of(const GroupSteps& group) {
    py::list terms;
    for (const GroupTerm& each : group.terms) {
        py::dict term;
        term["k"] = each.k;
        term["sign"] = each.term.sign;
        term["significand"] = each.term.significand;
        term["point"] = each.term.point;
        term["exponent"] = each.term.exponent;
        term["aligned"] = each.aligned;
        term["cut"] = each.cut;
        terms.append(term);
    }
    py::dict fields;
    fields["instruction"] = group.instruction;
    fields["part"] = group.part;
    fields["terms"] = terms;
    fields["special"] = group.special;
    fields["largest_exponent"] = group.largest;
    fields["fraction_bits"] = group.model.fraction_bits;
    fields["sum"] = group.sum;
    fields["result"] = double_of(group.model.accumulator, group.result);
    return fields;
}

/// (name, number, bits, error) of each; `number_of` reads a storage word.
template <class NumberOf, class BitsOf>
py::list candidate_list(const std::vector<DotCandidate>& candidates, const NumberOf& number_of, const BitsOf& bits_of) {
    py::list list;
    for (const DotCandidate& each : candidates) {
        list.append(py::make_tuple(each.name, number_of(each.result), bits_of(each.result), each.error_in_ulps));
    }
    return list;
}
py::list candidate_list(const std::vector<DotCandidate>& candidates, const FloatFormat& format) {
    return candidate_list(
        candidates, [&](std::uint64_t code) { return double_of(format, code); },
        [&](std::uint64_t code) { return to_hex_bits(format, code); });
}

template <class Code>
py::dict explain_floats(const UnitRow& row, const TensorCoreModel& model, const BasicDotOperands<Code>& operands) {
    py::dict answer;
    py::list steps;
    if constexpr (std::is_same_v<Code, std::uint64_t>) {
        answer["text"] = explain_fp64(model, operands);
    } else {
        answer["text"] = explain_dot(model, operands);
        if (is_fused(model) && !is_varied(model)) {
            for (const GroupSteps& group : steps_of_dot(model, operands.a, operands.b, operands.c)) {
                steps.append(fields_of(group));
            }
        }
    }
    answer["exact"] = exact_dot_text(model, operands);
    answer["candidates"] = candidate_list(dot_candidates(row.key(), model, operands), model.accumulator);
    answer["steps"] = steps;
    return answer;
}

std::vector<std::int32_t> int32_values(const py::array& array) {
    const py::array_t<std::int32_t, py::array::c_style | py::array::forcecast> integers(array);
    return {integers.data(), integers.data() + integers.size()};
}

py::dict explain_one(const std::string& unit, const py::array& a, const py::array& b, const py::array& c,
                     const py::object& a_scales, const py::object& b_scales, bool round, const py::object& policy) {
    const std::shared_ptr<const UnitRow> row = unit_named(unit);
    if (row->as<BlockScaledModel>() == nullptr && !(a_scales.is_none() && b_scales.is_none())) {
        throw py::value_error(unit +
                              " has no scales in one dot product: they are multiplied in at promotions, of a "
                              "whole product");
    }
    py::dict answer;
    if (const auto* scaled = row->as<BlockScaledModel>()) {
        const auto scales = [&](const py::object& of, const char* name) {
            return of.is_none() ? std::vector<std::uint32_t>()
                                : codes_of(of.cast<py::array>(), scaled->scale_format, false, name);
        };
        const DotOperands elements = dot_operands(scaled->unscaled, a, b, c, round);
        const ScaledOperands operands{elements.a, elements.b, scales(a_scales, "the scales of a"),
                                      scales(b_scales, "the scales of b"), elements.c};
        answer["text"] = explain_block_scaled(*scaled, operands);
        answer["candidates"] =
            candidate_list(scaled_candidates(row->key(), *scaled, operands), scaled->unscaled.accumulator);
    } else if (const auto* integers = row->as<IntegerModel>()) {
        const IntegerOperands operands{int32_values(a), int32_values(b), int32_values(c).at(0)};
        const auto number = [](std::uint64_t code) {
            return static_cast<std::int32_t>(static_cast<std::uint32_t>(code));
        };
        answer["text"] = explain_integers(*integers, operands);
        answer["candidates"] = candidate_list(integer_candidates(row->key(), *integers, operands), number,
                                              [](std::uint64_t code) { return fmt::format("{:08X}", code); });
    } else {
        const TensorCoreModel model = floating_point_model(*row, policy);
        answer = takes_fp64(unit, model, round, policy)
                     ? explain_floats(*row, model, dot_operands<std::uint64_t>(model, a, b, c, false))
                     : explain_floats(*row, model, dot_operands(model, a, b, c, round));
    }
    answer["evidence"] = evidence_text(*row);
    return answer;
}

template <class Real>
MatrixOf<Real> owned(const MatricesOf<Real>& matrix) {
    MatrixOf<Real> copy(matrix.rows, matrix.cols);
    const BasicMatrixView<const Real> view = matrix.view();
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Index j = 0; j < matrix.cols; ++j) copy(i, j) = view(i, j);
    }
    return copy;
}

/// The command's text and JSON.
template <class Real>
py::tuple explain_product_of(const UnitRow& row, const TensorCoreModel& model, const py::array& a, const py::array& b,
                             const py::array& d, const py::object& c, const py::object& alpha, const py::object& beta,
                             bool round, const py::object& a_scales, const py::object& b_scales) {
    constexpr bool in_fp64 = std::is_same_v<Real, double>;
    const auto matrix = [](const py::object& array, const FloatFormat& format, bool rounded, const char* name) {
        return owned<Real>(loaded<Real>(array, format, rounded, name));
    };
    BasicProductQuestion<Real> question{row.key(), model, matrix(a, model.a_format, round, "a"),
                                        matrix(b, model.b_format, round, "b"), matrix(d, formats::fp32, false, "d")};
    if (!c.is_none()) question.c = matrix(c, formats::fp32, false, "c");
    question.epilogue = epilogue_of(alpha, beta, !c.is_none(), in_fp64);
    if (const auto* scaled = row.as<BlockScaledModel>()) {
        question.scaled = *scaled;
        const Index blocks = (question.a.cols() + scaled->scale_block - 1) / scaled->scale_block;
        const auto take = [&](const py::object& scales, Index rows, Index cols, const char* name) {
            std::optional<MatrixOf<Real>> taken;
            if (!scales.is_none()) taken = matrix(scales.cast<py::array>(), scaled->scale_format, false, name);
            if (taken && (taken->rows() != rows || taken->cols() != cols)) {
                throw py::value_error(
                    fmt::format("{} are {} x {}, the blocks {} x {}", name, taken->rows(), taken->cols(), rows, cols));
            }
            return taken;
        };
        question.a_scales = take(a_scales, question.a.rows(), blocks, "the scales of a");
        question.b_scales = take(b_scales, blocks, question.b.cols(), "the scales of b");
    } else if (!(a_scales.is_none() && b_scales.is_none())) {
        if (!a_scales.is_none()) question.a_scales = matrix(a_scales, formats::fp32, false, "the scales of a");
        if (!b_scales.is_none()) question.b_scales = matrix(b_scales, formats::fp32, false, "the scales of b");
        question.promote_every = usual_scale_block;
        if constexpr (!in_fp64) {
            BlockScales scales;
            if (question.a_scales) scales.a = *question.a_scales;
            if (question.b_scales) scales.b = *question.b_scales;
            require_scales(scales, question.a.rows(), question.b.cols(), question.a.cols(), usual_scale_block);
        }
    }
    SignalWatch signals;
    question.before_each_way = [&] { signals.check(); };
    const py::gil_scoped_release unlocked;
    const BasicProductExplanation<Real> explanation = explain_product(question);
    const std::string text = explanation_text(question, explanation);
    const std::string json = explanation_json(question, explanation);
    const py::gil_scoped_acquire locked;
    return py::make_tuple(text, json);
}

py::tuple explain_whole(const std::string& unit, const py::array& a, const py::array& b, const py::array& d,
                        const py::object& c, const py::object& alpha, const py::object& beta, bool round,
                        const py::object& policy, const py::object& a_scales, const py::object& b_scales) {
    const std::shared_ptr<const UnitRow> row = unit_named(unit);
    const auto* scaled = row->as<BlockScaledModel>();
    if (scaled != nullptr && !(alpha.is_none() && beta.is_none() && policy.is_none())) {
        throw py::value_error(unit + " has no alpha, beta and policy");
    }
    const bool no_scales = scaled == nullptr && (row->as<TensorCoreModel>() == nullptr || row->output == "fp64");
    if (no_scales && !(a_scales.is_none() && b_scales.is_none())) throw py::value_error(unit + " has no scales");
    const TensorCoreModel model = scaled != nullptr ? scaled->unscaled : floating_point_model(*row, policy);
    const auto explained =
        takes_fp64(unit, model, round, policy) ? explain_product_of<double> : explain_product_of<float>;
    return explained(*row, model, a, b, d, c, alpha, beta, round, a_scales, b_scales);
}

std::string inspect_files(InspectionRequest request) {
    SignalWatch signals;
    request.before_each_tensor = [&] { signals.check(); };
    const py::gil_scoped_release unlocked;
    using Handler = nlohmann::ordered_json::error_handler_t;
    return json_of(inspect_tensors(request)).dump(-1, ' ', false, Handler::replace);
}

using FloatArray = py::array_t<float, py::array::c_style>;

template <class Number>
py::array_t<Number> array_of(const std::vector<Number>& numbers, const std::vector<py::ssize_t>& shape) {
    py::array_t<Number> array(shape);
    std::copy(numbers.begin(), numbers.end(), array.mutable_data());
    return array;
}

Collective collective_of(const std::string& kind, const py::object& format, int node, std::int64_t chunk) {
    return {collective_by_name(kind), format_of(format), node, chunk};
}

/// The sum, the exact sum, the sum of magnitudes and the bound; the height and the numbers that are not finite.
py::tuple reduce(const std::vector<FloatArray>& arrays, const Collective& how) {
    std::vector<std::span<const float>> parts;
    for (const FloatArray& each : arrays) parts.emplace_back(each.data(), static_cast<std::size_t>(each.size()));
    SignalWatch signals;
    CollectiveSum found;
    {
        const py::gil_scoped_release unlocked;
        found = collective_sum(how, parts, [&] { return signals.raised(); });
    }
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    const std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(found.sum.size())};
    return py::make_tuple(array_of(found.sum, shape), array_of(found.exact, shape), array_of(found.magnitude, shape),
                          array_of(found.bound, shape), found.height, found.not_finite);
}

/// Heads of queries, and of as many or fewer keys and values: several heads of queries in a row share one of these.
struct Heads {
    Matrices q, k, v;
    AttentionProblem common;
    TensorCoreModel model;

    [[nodiscard]] std::int64_t shared(std::int64_t head) const { return head / (q.batches / k.batches); }
    [[nodiscard]] AttentionProblem problem(std::int64_t head) const {
        AttentionProblem each = common;
        each.q = q.view(head);
        each.k = k.view(shared(head));
        each.v = v.view(shared(head));
        return each;
    }
};

Heads heads_of(const std::string& unit, const py::object& policy, const py::array& q, const py::array& k,
               const py::array& v, const py::dict& how) {
    const TensorCoreModel model = floating_point_model(*unit_named(unit), policy);
    const FloatFormat& format = model.a_format;
    const auto rounding = rounding_if(how["round"].cast<bool>());
    Heads heads{load_matrices(q, format, rounding, "q"),
                load_matrices(k, format, rounding, "k"),
                load_matrices(v, format, rounding, "v"),
                {},
                model};
    heads.common.format = format;
    heads.common.scale = how["scale"].cast<float>();
    heads.common.tile_keys = how["tile"].cast<int>();
    heads.common.splits = how["split"].cast<int>();
    heads.common.causal = how["causal"].cast<bool>();
    heads.common.rescale_threshold = how["rescale_threshold"].cast<float>();
    if (const py::object p_format = how["p_format"]; !p_format.is_none()) heads.common.weights = format_of(p_format);
    return heads;
}

py::tuple attend(const std::string& unit, const py::object& policy, const py::array& q, const py::array& k,
                 const py::array& v, const py::dict& how) {
    const Heads heads = heads_of(unit, policy, q, k, v, how);
    py::array_t<float> out({heads.q.batches, heads.q.rows, heads.v.cols});
    py::array_t<float> logarithms({heads.q.batches, heads.q.rows});
    float* to = out.mutable_data();
    float* to_logarithms = logarithms.mutable_data();
    std::int64_t rescaled = 0;
    SignalWatch signals;
    {
        const py::gil_scoped_release unlocked;
        for (std::int64_t h = 0; h < heads.q.batches; ++h) {
            signals.check();
            const AttentionResult result = tiled_attention(heads.model, heads.problem(h));
            to = std::ranges::copy(result.out, to).out;
            to_logarithms = std::ranges::copy(result.logarithms, to_logarithms).out;
            rescaled += result.rescaled;
        }
    }
    return py::make_tuple(out, logarithms, rescaled);
}

/// dQ, dK and dV; those of shared keys are added in ascending order of their heads, in fp32.
py::tuple attend_backward(const std::string& unit, const py::object& policy, const py::array& q, const py::array& k,
                          const py::array& v, const py::dict& how, const FloatArray& out, const FloatArray& logarithms,
                          const py::array& d_out) {
    const Heads heads = heads_of(unit, policy, q, k, v, how);
    const Matrices d_o = load_matrices(d_out, heads.common.format, rounding_if(how["round"].cast<bool>()), "d_out");
    const std::int64_t rows = heads.q.rows;
    const auto zeros = [](const Matrices& like) {
        py::array_t<float> array({like.batches, like.rows, like.cols});
        std::fill_n(array.mutable_data(), array.size(), 0.0F);
        return array;
    };
    py::array_t<float> d_q = zeros(heads.q), d_k = zeros(heads.k), d_v = zeros(heads.v);
    const auto add = [](const std::vector<float>& from, float* to) {
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = to[i] + from[i];
    };
    const auto part = [](const float* from, std::int64_t index, std::int64_t size) {
        return std::vector<float>(from + index * size, from + (index + 1) * size);
    };
    float* const to_q = d_q.mutable_data();
    float* const to_k = d_k.mutable_data();
    float* const to_v = d_v.mutable_data();
    SignalWatch signals;
    {
        const py::gil_scoped_release unlocked;
        for (std::int64_t h = 0; h < heads.q.batches; ++h) {
            signals.check();
            const AttentionResult result{part(out.data(), h, rows * heads.v.cols), part(logarithms.data(), h, rows)};
            const AttentionGradients found = attention_gradients(heads.model, heads.problem(h), result, d_o.view(h));
            std::ranges::copy(found.q, to_q + h * rows * heads.q.cols);
            add(found.k, to_k + heads.shared(h) * heads.k.rows * heads.k.cols);
            add(found.v, to_v + heads.shared(h) * heads.v.rows * heads.v.cols);
        }
    }
    return py::make_tuple(d_q, d_k, d_v);
}

py::list attention_tiles(const std::string& unit, const py::object& policy, const py::array& q, const py::array& k,
                         const py::array& v, const py::dict& how, std::int64_t head, std::int64_t query) {
    const Heads heads = heads_of(unit, policy, q, k, v, how);
    py::list list;
    for (const AttentionTile& each : tiles_of_query(heads.model, heads.problem(head), query)) {
        py::dict tile;
        tile["split"] = each.split;
        tile["first_key"] = each.first_key;
        tile["keys"] = each.keys;
        tile["masked"] = each.masked;
        tile["largest_key"] = each.largest_key < 0 ? py::object(py::none()) : py::int_(each.largest_key);
        tile["largest_score"] = each.largest_score;
        tile["reference"] = each.reference;
        tile["factor"] = each.factor;
        tile["sum"] = each.sum;
        tile["lost"] = each.lost;
        tile["share"] = each.share;
        list.append(tile);
    }
    return list;
}

py::tuple mismatch(const std::string& a, const std::string& b, std::int64_t layers, std::int64_t width,
                   std::int64_t vocabulary) {
    const py::gil_scoped_release unlocked;
    const TokenMismatch found =
        token_mismatch(read_token_sequences(a), read_token_sequences(b), {layers, width, vocabulary});
    const std::string text = text_of(found, a, b);
    const std::string json = json_of(found).dump();
    const py::gil_scoped_acquire locked;
    return py::make_tuple(text, json);
}

}  // namespace

void add_analysis(py::module_& module) {
    module.def("bound_of_arrays", &bound_of);
    module.def("bound_of_k", &bound_of_k);
    module.def("scheme_bound_of_arrays", &scheme_bound_of_arrays);
    module.def("scheme_bound_of_k", &scheme_bound_of_k);
    module.def("explain_dot", &explain_one);
    module.def("explain_product", &explain_whole);
    module.def("reduce",
               [](const std::vector<FloatArray>& parts, const std::string& kind, const py::object& format, int node,
                  std::int64_t chunk) { return reduce(parts, collective_of(kind, format, node, chunk)); });
    module.def("reduce_order", [](const std::string& kind, int node, std::int64_t chunk, int ranks, std::int64_t n,
                                  std::int64_t i) {
        const Collective how{collective_by_name(kind), formats::fp32, node, chunk};
        return py::make_tuple(text_of(order_of_element(how, ranks, n, i)), owner_of_element(how, ranks, n, i));
    });
    module.def("attention", &attend);
    module.def("attention_backward", &attend_backward);
    module.def("attention_tiles", &attention_tiles);
    module.def("mismatch", &mismatch);
    module.def("inspect", [](const std::vector<std::string>& files, const std::vector<std::string>& formats,
                             const std::string& target) {
        return inspect_files({files, formats, target, {}});
    });
}

}  // namespace ulp::python
