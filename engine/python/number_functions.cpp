// Formats, rounding, codes, functions and quantisation for Python.
#include <fmt/format.h>

#include <array>
#include <span>

#include "engine/python/module_parts.hpp"
#include "engine/python/numpy_arrays.hpp"
#include "softfloat/array/functions.hpp"
#include "softfloat/describe.hpp"
#include "softfloat/names.hpp"
#include "softfloat/quantization/fp64_operands.hpp"
#include "softfloat/quantization/quantize.hpp"

namespace ulp::python {
namespace {

constexpr std::int64_t between_signals = std::int64_t{1} << 25;  // numbers that are rounded in well under a second

Context context_of(const std::string& rounding, const py::object& seed, bool saturate, bool subnormals,
                   std::uint64_t stream, std::uint64_t first, int random_bits) {
    Context context{.rounding = rounding_by_name(rounding), .flush_outputs = !subnormals, .saturate = saturate};
    if (context.rounding != Rounding::stochastic) return context;
    if (seed.is_none()) throw py::value_error("stochastic rounding needs a seed; give seed=0, say");
    context.seed = seed.cast<std::uint64_t>();
    context.random_bits = random_bits;
    context.stream = stream;
    context.first = first;
    return context;
}

/// Whether fp16 holds every number of the format.
bool fits_fp16(const FloatFormat& format) {
    const FloatFormat& half = formats::fp16;
    return format.fraction_bits <= half.fraction_bits && format.emax() <= half.emax() &&
           format.smallest_exponent() >= half.smallest_exponent() && (!format.has_nan() || half.has_nan());
}

/// compute(first, how many) for all numbers, without the interpreter's lock; looks for signals in between.
template <class Compute>
void in_pieces(std::int64_t count, const Compute& compute) {
    const py::gil_scoped_release unlocked;
    for (std::int64_t i = 0; i < count; i += between_signals) {
        if (i > 0) check_signals();
        compute(i, std::min(between_signals, count - i));
    }
}

Words part_of(const Words& words, std::int64_t first, std::int64_t count) {
    return {static_cast<const char*>(words.data) + first * word_bytes(words.format), words.format, count};
}

template <class Real>
void round_interruptibly(const FloatFormat& format, const Real* from, Real* to, std::int64_t count,
                         const Context& context) {
    in_pieces(count, [&](std::int64_t first, std::int64_t size) {
        Context part = context;
        part.first += static_cast<std::uint64_t>(first);
        round_numbers(format, from + first, to + first, size, part);
    });
}

py::array round_array_of(const py::array& x, const py::object& wanted, const Context& context, const py::object& out) {
    const FloatFormat format = format_of(wanted);
    const FloatFormat source = format_of_array(x, std::nullopt, "x");
    const py::array from = packed(x);
    const bool single = source == formats::fp32;
    const bool is_double = source == formats::fp64;
    if (format == formats::fp64 && !is_double) throw py::value_error("fp64 needs float64 numbers; give x.astype('f8')");
    py::array to;
    if (out.is_none()) {
        to = empty_like(from, float_type(is_double ? 8 : 4));
    } else {
        to = out.cast<py::array>();
        const bool same = to.ndim() == from.ndim() && std::equal(to.shape(), to.shape() + to.ndim(), from.shape()) &&
                          std::equal(to.strides(), to.strides() + to.ndim(), from.strides());
        if (!same || !to.dtype().is(from.dtype()) || !to.writeable() || (!single && !is_double)) {
            throw py::value_error(
                "out needs the type, shape and order of x, float32 or float64, and must be writeable");
        }
    }
    if (single) {
        round_interruptibly(format, static_cast<const float*>(from.data()), static_cast<float*>(to.mutable_data()),
                            from.size(), context);
    } else if (is_double) {
        round_interruptibly(format, static_cast<const double*>(from.data()), static_cast<double*>(to.mutable_data()),
                            from.size(), context);
    } else {
        auto* numbers = static_cast<float*>(to.mutable_data());
        decode_words(words_of(from, source, "x"), numbers);
        round_interruptibly(format, numbers, numbers, from.size(), context);
        if (source != formats::fp16 || !fits_fp16(format)) return to;
        const py::array narrow = empty_like(from, float_type(2));
        encode_numbers(numbers, from.size(), formats::fp16, const_cast<void*>(narrow.data()));
        return narrow;
    }
    return to;
}

py::array encode_array(const py::array& x, const py::object& wanted, const std::string& rounding, bool saturate) {
    const FloatFormat format = format_of(wanted);
    const FloatFormat source = format_of_array(x, std::nullopt, "x");
    const py::array from = packed(x);
    py::array codes = empty_like(from, type_of_words(format));
    const InputRounding how{rounding_by_name(rounding), saturate};
    if (how.rounding == Rounding::stochastic) throw py::value_error("encode what ulplab.round rounded stochastically");
    const Words words = words_of(from, source, "x");
    auto* const to = static_cast<char*>(codes.mutable_data());
    in_pieces(from.size(), [&](std::int64_t first, std::int64_t size) {
        encode_words(part_of(words, first, size), format, how, to + first * word_bytes(format));
    });
    return codes;
}

py::array decode_array(const py::array& codes, const py::object& wanted) {
    const FloatFormat format = format_of(wanted);
    const py::array from = packed(codes);
    if (codes.dtype().kind() != 'u' || codes.itemsize() != word_bytes(format)) {
        throw py::type_error(fmt::format("codes of {} are uint{}, not {}", name_of(format), 8 * word_bytes(format),
                                         py::str(codes.dtype()).cast<std::string>()));
    }
    if (format == formats::fp64) return codes.attr("view")("f8");
    const Words words = words_of(from, format, "codes");
    const bool narrow = fits_fp32(format);
    py::array numbers = empty_like(from, float_type(narrow ? 4 : 8));
    if (narrow) {
        decode_words(words, static_cast<float*>(numbers.mutable_data()));
    } else {
        decode_words(words, static_cast<double*>(numbers.mutable_data()));
    }
    return numbers;
}

struct NamedFunction {
    const char* name;
    array::Function function;
};
#define ULPLAB_FUNCTION(name, Definition) NamedFunction{#name, array::Function::name},
constexpr NamedFunction functions[] = {ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)};
#undef ULPLAB_FUNCTION

array::Function function_of(const std::string& name) {
    std::string known;
    for (const NamedFunction& each : functions) {
        if (name == each.name) return each.function;
        known += (known.empty() ? "" : ", ") + std::string(each.name);
    }
    throw py::value_error(fmt::format("there is no function '{}'; there are {}", name, known));
}

/// function(x), correctly rounded to the format; x lies on it or is rounded to it first.
py::array evaluate(const std::string& name, const py::array& x, const py::object& wanted, const std::string& rounding,
                   bool round_first) {
    const array::Function function = function_of(name);
    const FloatFormat source = format_of_array(x, std::nullopt, "x");
    const FloatFormat format = wanted.is_none() ? source : format_of(wanted);
    if (!fits_fp32(format)) {
        throw py::value_error("functions are of formats whose numbers fp32 holds; give format='fp32', say");
    }
    const py::array from = packed(x);
    const Context context{.rounding = rounding_by_name(rounding)};
    const Words given = words_of(from, source, "x");
    const bool half = source == formats::fp16 && fits_fp16(format);
    py::array result = empty_like(from, float_type(half ? 2 : 4));
    auto* const to = static_cast<char*>(result.mutable_data());
    const auto bytes = static_cast<std::int64_t>(result.itemsize());
    const auto how = round_first ? std::optional(InputRounding{}) : std::nullopt;
    const bool as_they_are = source == format && bytes == word_bytes(format);
    const auto most = as_they_are ? 0 : static_cast<std::size_t>(std::min<std::int64_t>(from.size(), between_signals));
    std::vector<float> numbers(most);
    std::vector<std::uint8_t> words(most * static_cast<std::size_t>(word_bytes(format)));
    std::optional<OffGrid> found;
    in_pieces(from.size(), [&](std::int64_t first, std::int64_t size) {
        if (found) return;
        const Words part = part_of(given, first, size);
        const auto count = static_cast<std::size_t>(size);
        if (as_they_are) {
            return array::evaluate_words(format, function, part.data, to + first * bytes, count, context,
                                         simd_choice());
        }
        found = numbers_on_grid(part, format, how, numbers.data());
        if (found) {
            found->at += first;
            return;
        }
        encode_numbers(numbers.data(), size, format, words.data());
        array::evaluate_words(format, function, words.data(), words.data(), count, context, simd_choice());
        decode_words({words.data(), format, size}, numbers.data());
        encode_numbers(numbers.data(), size, half ? formats::fp16 : formats::fp32, to + first * bytes);
    });
    if (found) throw_off_grid("x", from, *found, format);
    return result;
}

py::dict description_of(const Description& row) {
    py::dict fields;
    fields["format"] = std::string(row.format.name);
    fields["bits"] = "0x" + row.value.hex;
    fields["code"] = row.value.bits;
    fields["fields"] = row.fields;
    fields["hex"] = row.hex_float;
    fields["value"] = row.exact;
    fields["shortest"] = row.value.decimal;
    fields["class"] = row.number_class;
    if (row.below) fields["below"] = row.below->decimal;
    if (row.above) fields["above"] = row.above->decimal;
    if (row.ulp) fields["ulp"] = std::ldexp(1.0, row.ulp_exponent);
    if (row.error) fields["error"] = *row.error;
    if (row.error_in_ulps) fields["error_in_ulps"] = *row.error_in_ulps;
    fields["flags"] = row.flags;
    return fields;
}

py::dict describe_number(const std::string& text, const py::object& wanted, const std::string& rounding,
                         bool saturate) {
    const Context how{.rounding = rounding_by_name(rounding), .saturate = saturate};
    if (how.rounding == Rounding::stochastic) throw py::value_error("show rounds in the deterministic modes only");
    const FloatFormat format = format_of(wanted);
    return description_of(describe({name_of(format), format, ""}, text, how));
}

/// The numbers as fp32, which carries those of an operand: fp64's so that elements are rounded once.
py::array numbers_for(const Quantization& how, const py::array& x) {
    if (format_of_array(x, formats::fp32, "x") != formats::fp64) return x;
    const py::array from = packed(x);
    py::array numbers = empty_like(from, float_type(4));
    const auto count = static_cast<std::size_t>(from.size());
    const std::span given(static_cast<const double*>(from.data()), count);
    const std::span carried(static_cast<float*>(numbers.mutable_data()), count);
    const py::gil_scoped_release unlocked;
    carry_in_fp32(how, given, carried);
    return numbers;
}

/// What `quantize` gives: arrays, and what is needed to dequantise.
py::dict quantize_matrix(const py::array& x, const std::string& name, std::uint64_t seed, std::uint64_t stream) {
    const Quantization& how = quantization_by_name(name);
    const Matrices lines = load_matrices(numbers_for(how, x), formats::fp32, InputRounding{}, "x");
    Quantized quantized;
    std::vector<float> numbers;
    {
        const py::gil_scoped_release unlocked;
        quantized = quantize(how, lines.view(), {.seed = seed, .stream = stream});
        check_signals();
        numbers = dequantize(quantized);
        check_signals();
    }
    const auto matrix = [](const auto& values, std::int64_t rows, std::int64_t cols) {
        using Value = typename std::decay_t<decltype(values)>::value_type;
        py::array_t<Value> array({rows, cols});
        std::copy(values.begin(), values.end(), array.mutable_data());
        return array;
    };
    const std::int64_t blocks = quantized.blocks_along_k;
    const std::int64_t lines_of_blocks = blocks == 0 ? 0 : static_cast<std::int64_t>(quantized.scales.size()) / blocks;
    py::dict result;
    std::vector<float> elements;
    const MatrixView view = quantized.elements();
    for (std::int64_t i = 0; i < view.rows; ++i) {
        for (std::int64_t j = 0; j < view.cols; ++j) elements.push_back(view(i, j));
    }
    result["elements"] = matrix(elements, quantized.lines, quantized.k);
    result["scales"] = matrix(quantized.scales, lines_of_blocks, blocks);
    result["values"] = matrix(numbers, quantized.lines, quantized.k);
    result["tensor_scale"] = quantized.tensor_scale;
    result["element"] = how.element;
    result["block"] = py::make_tuple(quantized.block_lines(), quantized.block_k());
    result["scale_format"] = how.scale.format;
    if (how.element.storage_bits() <= 8)
        result["codes"] = matrix(element_codes(quantized), quantized.lines, quantized.k);
    if (how.scale.format.storage_bits() <= 8 && how.scale.format.code_bits() <= 8 &&
        how.scale.format != formats::power_of_two) {
        result["scale_codes"] = matrix(scale_codes(quantized), lines_of_blocks, blocks);
    }
    return result;
}

py::tuple round_in_place(py::array_t<float, 0> x, const py::object& format, bool flush) {
    const Context context{.flush_inputs = flush, .flush_outputs = flush};
    const FloatFormat grid = format_of(format);
    if ((x.flags() & (py::array::c_style | py::array::f_style)) == 0) throw py::value_error("x has gaps");
    RoundingCounts counts;
    float* const numbers = x.mutable_data();
    const std::int64_t count = x.size();
    {
        const py::gil_scoped_release unlocked;
        counts = round_and_count(grid, numbers, count, context);
    }
    return py::make_tuple(counts.overflows, counts.underflows, counts.not_finite, counts.first_not_finite);
}

void add_format(py::module_& module) {
    py::class_<FloatFormat>(module, "Format",
                            "A number format. Functions take its name (\"fp16\") wherever they take a Format.")
        .def(py::init([](const std::string& name) { return format_by_name(name); }), py::arg("name"))
        .def_property_readonly("name", [](const FloatFormat& f) { return name_of(f); })
        .def_readonly("exponent_bits", &FloatFormat::exponent_bits)
        .def_readonly("fraction_bits", &FloatFormat::fraction_bits)
        .def_readonly("bias", &FloatFormat::bias)
        .def_readonly("has_sign", &FloatFormat::has_sign)
        .def_readonly("has_subnormals", &FloatFormat::has_subnormals)
        .def_property_readonly("precision", &FloatFormat::precision)
        .def_property_readonly("storage_bits", &FloatFormat::storage_bits)
        .def_property_readonly("emin", &FloatFormat::emin)
        .def_property_readonly("emax", &FloatFormat::emax)
        .def_property_readonly("has_infinity", &FloatFormat::has_infinity)
        .def_property_readonly("has_nan", &FloatFormat::has_nan)
        .def_property_readonly("largest",
                               [](const FloatFormat& f) {
                                   return describe({"", f, ""}).largest;
                               })
        .def_property_readonly("smallest_normal",
                               [](const FloatFormat& f) {
                                   return describe({"", f, ""}).smallest_normal;
                               })
        .def_property_readonly("smallest_positive",
                               [](const FloatFormat& f) {
                                   return describe({"", f, ""}).smallest_positive;
                               })
        .def_property_readonly("epsilon",
                               [](const FloatFormat& f) {
                                   return describe({"", f, ""}).epsilon;
                               })
        .def("__eq__", [](const FloatFormat& x, const FloatFormat& y) { return x == y; })
        .def("__hash__", [](const FloatFormat& f) { return py::hash(py::str(name_of(f))); })
        .def("__repr__", [](const FloatFormat& f) { return "Format('" + name_of(f) + "')"; });
    module.def("custom_format", &custom_format, py::arg("precision"), py::arg("emin"), py::arg("emax"));
    module.def("format_names", [] {
        std::vector<std::pair<std::string, std::string>> rows;
        for (const NamedFormat& row : named_formats()) rows.emplace_back(row.name, row.description);
        return rows;
    });
}

}  // namespace

void add_numbers(py::module_& module) {
    add_format(module);
    module.def("round", [](const py::array& x, const py::object& format, const std::string& rounding,
                           const py::object& seed, bool saturate, bool subnormals, std::uint64_t stream,
                           std::uint64_t first, int random_bits, const py::object& out) {
        return round_array_of(x, format, context_of(rounding, seed, saturate, subnormals, stream, first, random_bits),
                              out);
    });
    module.def("round_in_place", &round_in_place);
    module.def("encode", &encode_array);
    module.def("decode", &decode_array);
    module.def("evaluate", &evaluate);
    module.def("function_names", [] {
        std::vector<std::string> names;
        for (const NamedFunction& each : functions) names.emplace_back(each.name);
        return names;
    });
    module.def("describe", &describe_number);
    module.def("quantize", &quantize_matrix);
    module.def("quantizations", [] {
        std::vector<std::pair<std::string, std::string>> rows;
        for (const NamedQuantization& row : named_quantizations()) rows.emplace_back(row.name, row.what);
        return rows;
    });
}

}  // namespace ulp::python
