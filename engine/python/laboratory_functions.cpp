// Discovery of units that are Python functions.
#include <fmt/format.h>

#include <cstring>

#include "engine/products/unit_file.hpp"
#include "engine/python/module_parts.hpp"
#include "engine/python/numpy_arrays.hpp"
#include "engine/python/unit_lookup.hpp"
#include "softfloat/lab/discovery.hpp"
#include "softfloat/lab/match_check.hpp"
#include "softfloat/lab/model_fit.hpp"
#include "softfloat/lab/operand_discovery.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/names.hpp"

namespace ulp::python {
namespace {

/// The numbers of words as the array that a unit in Python is given: float16, float32 or float64.
py::array numbers_of(const FloatFormat& format, std::span<const std::uint64_t> words) {
    py::array numbers(type_of_format(format), std::vector<py::ssize_t>{static_cast<py::ssize_t>(words.size())});
    for (std::size_t i = 0; i < words.size(); ++i) {
        void* const at = static_cast<char*>(numbers.mutable_data()) + i * static_cast<std::size_t>(numbers.itemsize());
        const auto word = static_cast<std::uint32_t>(words[i]);
        if (numbers.itemsize() == 8) {
            std::memcpy(at, &words[i], 8);
        } else if (numbers.itemsize() == 2) {
            const auto half = static_cast<std::uint16_t>(word);
            std::memcpy(at, &half, 2);
        } else {
            const float number = in_fp32_container(format, word);
            std::memcpy(at, &number, 4);
        }
    }
    return numbers;
}

/// The storage word of what a unit in Python answered.
std::uint64_t word_of(const FloatFormat& format, const py::object& answer) {
    if (format == formats::fp64) return std::bit_cast<std::uint64_t>(answer.cast<double>());
    const py::array array = py::module_::import("numpy").attr("asarray")(answer).cast<py::array>();
    if (array.size() != 1) throw py::type_error("the unit answered an array; it must give one number");
    const py::array one = packed(array);
    float number = 0;
    constexpr const char* name = "the unit's answer";
    const Words words = words_of(one, format_of_array(one, std::nullopt, name), name);
    const auto found = numbers_on_grid(words, format, std::nullopt, &number);
    if (found) throw_off_grid(name, one, *found, format);
    return operand_code(format, number);
}

DotUnit unit_of_callable(const py::function& unit, const FloatFormat& a, const FloatFormat& b,
                         const FloatFormat& accumulator, int k) {
    return {a, b, accumulator, k,
            [=](std::span<const std::uint64_t> x, std::span<const std::uint64_t> y, std::uint64_t c) {
                const py::array addend = numbers_of(accumulator, {&c, 1});
                return word_of(accumulator, unit(numbers_of(a, x), numbers_of(b, y), addend[py::int_(0)]));
            }};
}

template <class Value, class Convert>
py::object or_none(const std::optional<Value>& value, const Convert& convert) {
    return value ? py::cast(convert(*value)) : py::object(py::none());
}

py::dict findings_of(const Discovery& found) {
    const auto rounding = [](Rounding r) { return std::string(name_of(r)); };
    const auto same = [](auto x) { return x; };
    py::dict fields;
    fields["summation_tree"] = found.tree.text();
    fields["fused_terms"] = found.fused_terms;
    fields["fraction_bits"] = or_none(found.fraction_bits, same);
    fields["exact_alignment"] = found.exact_alignment;
    fields["alignment"] = or_none(found.alignment, rounding);
    fields["addend_alignment"] = or_none(found.addend_alignment, rounding);
    fields["normalises_products"] = or_none(found.normalises_products, same);
    fields["exact_products"] = or_none(found.exact_products, same);
    fields["rounding"] = or_none(found.rounding, rounding);
    fields["output_fraction_bits"] = found.output_fraction_bits;
    fields["uses_subnormal_inputs"] = found.uses_subnormal_inputs;
    fields["nan"] = found.nan;
    fields["evidence"] = found.evidence;
    return fields;
}

/// What is read of the operands, where that is less than all of them; else None.
py::object operands_of(const OperandDiscovery& found) {
    if (!found.cuts()) return py::none();
    const auto reading = [](const OperandReading& of) {
        py::dict fields;
        fields["fraction_bits"] = of.fraction_bits;
        fields["rounding"] = or_none(of.rounding, [](Rounding r) { return std::string(name_of(r)); });
        fields["subnormals"] = of.subnormals;
        return fields;
    };
    py::dict fields;
    fields["a"] = reading(found.a);
    fields["b"] = reading(found.b);
    fields["piece_bits"] = or_none(found.piece_bits, [](int bits) { return bits; });
    fields["evidence"] = found.evidence;
    return fields;
}

/// Asks, compares with the rows that have the parameters found, and where none agrees seeks a description.
py::dict discover_callable(const py::function& function, const py::object& input, const py::object& output, int k,
                           const py::object& b_input, std::int64_t blocks, std::uint64_t seed, bool fit) {
    if (k < 2 || k > 256) throw py::value_error(fmt::format("k is {}; units have 2 to 256 products", k));
    const FloatFormat a_format = format_of(input);
    DotUnit unit =
        unit_of_callable(function, a_format, b_input.is_none() ? a_format : format_of(b_input), format_of(output), k);
    if (const std::optional<std::uint64_t> constant = constant_answer(unit)) {
        throw py::value_error(
            fmt::format("the function answers {:X} whatever a and b are: there is nothing to discover", *constant));
    }
    const OperandDiscovery operands = can_mask(unit) ? discover_operands(unit) : OperandDiscovery{};
    if (operands.cuts() && !operands.piece_bits) unit = narrowed(unit, operands);
    const Discovery found = discover(unit);
    py::dict answer = findings_of(found);
    answer["operands"] = operands_of(operands);
    const std::vector<const UnitRow*> rows = matching_rows(unit, found);
    std::vector<const TensorCoreModel*> models;
    for (const UnitRow* row : rows) models.push_back(row->as<TensorCoreModel>());
    const std::vector<MatchCheck> checks = check_matches(unit, models, blocks, seed);
    py::list matching, agreeing;
    bool unstable = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        matching.append(rows[i]->key());
        if (checks[i].agrees()) agreeing.append(rows[i]->key());
        unstable = unstable || checks[i].unstable > 0;
    }
    answer["rows"] = matching;
    answer["agreeing"] = agreeing;
    answer["description"] = py::none();
    answer["undecided"] = py::list();
    if (!agreeing.empty()) {
        answer["description"] =
            unit_json({agreeing[0].cast<std::string>(), unit_named(agreeing[0].cast<std::string>())->model});
    } else if (fit && !unstable) {
        const ModelFit fitted =
            fit_model(unit, fit_starts(unit),
                      {.blocks = std::max<std::int64_t>(blocks, 1000), .seed = seed, .allowed = [](const auto& model) {
                           return limit_of(model).empty();
                       }});
        unstable = fitted.check.unstable > 0;
        if (fitted.found()) answer["description"] = unit_json({"found", fitted.model});
        answer["undecided"] = fitted.undecided;
    }
    answer["deterministic"] = !unstable;
    return answer;
}

}  // namespace

void add_laboratory(py::module_& module) { module.def("discover", &discover_callable); }

}  // namespace ulp::python
