// Bounds, explanations and inspection for Python: what the commands of the same names answer.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/python/module_parts.hpp"
#include "engine/python/numpy_arrays.hpp"
#include "engine/python/unit_lookup.hpp"
#include "experiments/commands/explaining/dot_explanation.hpp"
#include "experiments/commands/explaining/product_explanation.hpp"
#include "experiments/commands/explaining/unit_explanation.hpp"
#include "experiments/commands/inspection/inspection_json.hpp"
#include "experiments/commands/units/bound_answer.hpp"
#include "softfloat/format_names.hpp"
#include "softfloat/matrix_units/block_steps.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/table/units.hpp"
#include "softfloat/text.hpp"

namespace ulp::python {
namespace {

std::optional<InputRounding> rounding_if(bool round) { return round ? std::optional(InputRounding{}) : std::nullopt; }

std::optional<Matrices> load_if(const py::object& array, const FloatFormat& format, bool round, const char* name) {
    if (array.is_none()) return std::nullopt;
    return load_matrices(array.cast<py::array>(), format, rounding_if(round), name);
}

void require_matrix(const std::optional<Matrices>& matrix, std::int64_t m, std::int64_t n, const char* name) {
    if (!matrix || (matrix->rows == m && matrix->cols == n)) return;
    throw py::value_error(fmt::format("{} is {} x {}, the product is {} x {}", name, matrix->rows, matrix->cols, m, n));
}

BoundQuestion question_of(const std::string& unit, const py::object& order, const py::object& alpha,
                          const py::object& beta, bool has_c, const std::string& level, const py::object& policy,
                          bool has_operands) {
    const std::shared_ptr<const UnitRow> row = unit_named(unit);
    BoundQuestion q{bounded_model(*row), order_of(order), false, level};
    if (!policy.is_none()) q.model = floating_point_model(*row, policy);
    q.order.epilogue = epilogue_of(alpha, beta, has_c);
    if (has_operands && q.model.accumulator == formats::fp64) {
        throw py::value_error(unit + " has fp64 operands; its bounds are of k alone");
    }
    settle_level(q, unit, has_operands);
    return q;
}

/// The JSON of the command, and the bounds of all elements.
py::tuple bound_of_arrays(const std::string& unit, const py::array& a, const py::array& b, const py::object& c,
                          const py::object& d, const std::string& level, const std::string& against,
                          const py::object& order, const py::object& alpha, const py::object& beta, bool nonnegative,
                          bool round, const py::object& policy) {
    const BoundQuestion q = question_of(unit, order, alpha, beta, !c.is_none(), level, policy, true);
    const Matrices x = load_matrices(a, q.model.a_format, rounding_if(round), "a");
    const Matrices y = load_matrices(b, q.model.b_format, rounding_if(round), "b");
    if (x.cols != y.rows) {
        throw py::value_error(
            fmt::format("a is {} x {} and b is {} x {}: the inner sizes differ", x.rows, x.cols, y.rows, y.cols));
    }
    const bool reads_c = !q.order.epilogue || q.order.epilogue->beta != 0;
    const auto z = load_if(reads_c ? c : py::none(), q.model.accumulator, round, "c");
    const auto given = load_if(d, q.model.accumulator, false, "d");
    require_matrix(z, x.rows, y.cols, "c");
    require_matrix(given, x.rows, y.cols, "d");
    if (given && q.order.epilogue) throw py::value_error("d is compared with products without alpha and beta");
    BoundedProduct product{x.view(), y.view()};
    if (z) product.c = z->view();
    if (given) product.d = given->view();
    product.nonnegative = nonnegative;
    product.reference = against == "fp64"    ? BoundReference::fp64_sums
                        : against == "exact" ? BoundReference::exact
                                             : BoundReference::unit;
    if (product.reference == BoundReference::unit) {
        product.other = question_of(against, order, alpha, beta, !c.is_none(), level, policy, true);
    }
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
        const py::array_t<double, py::array::c_style | py::array::forcecast> doubles(numbers);
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

double double_of(const FloatFormat& format, std::uint32_t code) {
    return static_cast<double>(in_fp32_container(format, code));
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

py::dict explain_floats(const UnitRow& row, const TensorCoreModel& model, const py::array& a, const py::array& b,
                        const py::array& c, bool round) {
    const DotOperands operands = dot_operands(model, a, b, c, round);
    py::dict answer;
    answer["text"] = explain_dot(model, operands);
    answer["exact"] = exact_dot_text(model, operands);
    py::list candidates;
    for (const DotCandidate& each : dot_candidates(row.key(), model, operands)) {
        candidates.append(py::make_tuple(each.name, double_of(model.accumulator, each.result),
                                         to_hex_bits(model.accumulator, each.result), each.error_in_ulps));
    }
    answer["candidates"] = candidates;
    py::list steps;
    if (is_fused(model) && !is_varied(model)) {
        for (const GroupSteps& group : steps_of_dot(model, operands.a, operands.b, operands.c)) {
            steps.append(fields_of(group));
        }
    }
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
    py::dict answer;
    if (const auto* scaled = row->as<BlockScaledModel>()) {
        const auto scales = [&](const py::object& of, const char* name) {
            return of.is_none() ? std::vector<std::uint32_t>()
                                : codes_of(of.cast<py::array>(), scaled->scale_format, false, name);
        };
        const DotOperands elements = dot_operands(scaled->unscaled, a, b, c, round);
        answer["text"] = explain_block_scaled(*scaled, {elements.a, elements.b, scales(a_scales, "the scales of a"),
                                                        scales(b_scales, "the scales of b"), elements.c});
    } else if (const auto* integers = row->as<IntegerModel>()) {
        answer["text"] = explain_integers(*integers, {int32_values(a), int32_values(b), int32_values(c).at(0)});
    } else {
        const TensorCoreModel model = floating_point_model(*row, policy);
        if (model.accumulator != formats::fp64) {
            answer = explain_floats(*row, model, a, b, c, round);
        } else {
            answer["text"] = explain_fp64(model, dot_operands<std::uint64_t>(model, a, b, c, round));
        }
    }
    answer["evidence"] = evidence_text(*row);
    return answer;
}

Matrix owned(const Matrices& matrix) {
    Matrix copy(matrix.rows, matrix.cols);
    const MatrixView view = matrix.view();
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Index j = 0; j < matrix.cols; ++j) copy(i, j) = view(i, j);
    }
    return copy;
}

/// The command's text and JSON.
py::tuple explain_whole(const std::string& unit, const py::array& a, const py::array& b, const py::array& d,
                        const py::object& c, const py::object& alpha, const py::object& beta, bool round,
                        const py::object& policy) {
    const std::shared_ptr<const UnitRow> row = unit_named(unit);
    const TensorCoreModel model = floating_point_model(*row, policy);
    if (model.accumulator == formats::fp64) throw py::value_error(unit + ": all of d is explained for fp32 and fp16");
    ProductQuestion question{row->key(), model, owned(load_matrices(a, model.a_format, rounding_if(round), "a")),
                             owned(load_matrices(b, model.b_format, rounding_if(round), "b")),
                             owned(load_matrices(d, formats::fp32, std::nullopt, "d"))};
    if (!c.is_none()) question.c = owned(load_matrices(c.cast<py::array>(), formats::fp32, std::nullopt, "c"));
    question.epilogue = epilogue_of(alpha, beta, !c.is_none());
    SignalWatch signals;
    question.before_each_way = [&] { signals.check(); };
    const py::gil_scoped_release unlocked;
    const ProductExplanation explanation = explain_product(question);
    const std::string text = explanation_text(question, explanation);
    const std::string json = explanation_json(question, explanation);
    const py::gil_scoped_acquire locked;
    return py::make_tuple(text, json);
}

std::string inspect_files(InspectionRequest request) {
    SignalWatch signals;
    request.before_each_tensor = [&] { signals.check(); };
    const py::gil_scoped_release unlocked;
    using Handler = nlohmann::ordered_json::error_handler_t;
    return json_of(inspect_tensors(request)).dump(-1, ' ', false, Handler::replace);
}

}  // namespace

void add_analysis(py::module_& module) {
    module.def("bound_of_arrays", &bound_of_arrays);
    module.def("bound_of_k", &bound_of_k);
    module.def("explain_dot", &explain_one);
    module.def("explain_product", &explain_whole);
    module.def("inspect", [](const std::vector<std::string>& files, const std::vector<std::string>& formats,
                             const std::string& target) {
        return inspect_files({files, formats, target, {}});
    });
}

}  // namespace ulp::python
