// Formats, rounding, codes, functions and quantisation for Python.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/files/format_file.hpp"
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

Context context_of(const std::string& rounding, const py::object& seed, const std::string& saturate, bool subnormals,
                   std::uint64_t stream, std::uint64_t first, int random_bits) {
    Context context{
        .rounding = rounding_by_name(rounding), .flush_outputs = !subnormals, .saturate = saturation_by_name(saturate)};
    if (!is_stochastic(context.rounding)) return context;
    if (seed.is_none()) throw py::value_error("stochastic rounding needs a seed; give seed=0, say");
    context.seed = seed.cast<std::uint64_t>();
    context.random_bits = random_bits;
    context.stream = stream;
    context.first = first;
    return context;
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
    return {static_cast<const char*>(words.data) + first * word_bytes(words.format), words.format, count,
            words.integers};
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

/// P3109's formats with the most exponent bits reach beyond what NumPy has.
void require_within_fp64(const FloatFormat& format) {
    if (format.emax() <= formats::fp64.emax() && format.smallest_exponent() >= formats::fp64.smallest_exponent())
        return;
    throw py::value_error(
        fmt::format("{} reaches beyond float64; encode takes it, and show has its numbers as text", name_of(format)));
}

/// A type for numbers of the format: that of `given` where it holds them, else float32 or float64.
struct ResultType {
    py::dtype type;
    FloatFormat format;
};
ResultType result_type(const Numbers& given, const FloatFormat& format) {
    require_within_fp64(format);
    if (!given.words.integers && (given.words.format == format || holds(given.words.format, format))) {
        return {given.keep.dtype(), given.words.format};
    }
    const bool narrow = !given.words.integers && given.words.format != formats::fp64 && fits_fp32(format);
    return {float_type(narrow ? 4 : 8), narrow ? formats::fp32 : formats::fp64};
}

void require_like(const py::array& out, const py::array& x, bool can_hold) {
    const bool same = out.ndim() == x.ndim() && std::equal(out.shape(), out.shape() + out.ndim(), x.shape()) &&
                      std::equal(out.strides(), out.strides() + out.ndim(), x.strides());
    if (same && out.dtype().is(x.dtype()) && out.writeable() && can_hold) return;
    throw py::value_error("out needs the type, shape and order of x, float32 or float64, and must be writeable");
}

py::array round_array_of(const py::array& x, const py::object& wanted, const Context& context, const py::object& out) {
    const FloatFormat format = format_of(wanted);
    require_within_fp64(format);
    const Numbers given = numbers_of(x, "x");
    const FloatFormat& source = given.words.format;
    const bool in_fp32 = !given.words.integers && source != formats::fp64 && fits_fp32(format);
    const bool as_it_is = !given.words.integers && (in_fp32 ? source == formats::fp32 : source == formats::fp64);
    if (!out.is_none()) require_like(out.cast<py::array>(), given.keep, as_it_is);
    py::array to = out.is_none() ? empty_like(given.keep, float_type(in_fp32 ? 4 : 8)) : out.cast<py::array>();
    const void* from = given.words.data;
    if (!as_it_is) {
        // Integers beyond 53 bits are rounded to odd on their way: a second rounding cannot see it, but one to fp64.
        const bool at_once = given.words.integers && format.precision() > 50;
        const Rounding first = at_once ? context.rounding : Rounding::odd;
        if (at_once && is_stochastic(first)) {
            throw py::value_error("integers are rounded stochastically to precisions of up to 50 bits");
        }
        encode_words(given.words,
                     in_fp32   ? formats::fp32
                     : at_once ? format
                               : formats::fp64,
                     {first}, to.mutable_data());
        if (at_once) decode_words({to.data(), format, to.size()}, static_cast<double*>(to.mutable_data()));
        from = to.data();
    }
    if (in_fp32) {
        round_interruptibly(format, static_cast<const float*>(from), static_cast<float*>(to.mutable_data()), to.size(),
                            context);
    } else {
        round_interruptibly(format, static_cast<const double*>(from), static_cast<double*>(to.mutable_data()),
                            to.size(), context);
    }
    const ResultType type = result_type(given, format);
    if (!out.is_none() || type.format == (in_fp32 ? formats::fp32 : formats::fp64)) return to;
    py::array own = empty_like(given.keep, type.type);
    encode_words({to.data(), in_fp32 ? formats::fp32 : formats::fp64, to.size()}, type.format, {}, own.mutable_data());
    return own;
}

py::array encode_array(const py::array& x, const py::object& wanted, const std::string& rounding,
                       const std::string& saturate) {
    const FloatFormat format = format_of(wanted);
    const Numbers given = numbers_of(x, "x");
    py::array codes = empty_like(given.keep, type_of_words(format));
    const InputRounding how{rounding_by_name(rounding), saturation_by_name(saturate)};
    if (is_stochastic(how.rounding)) throw py::value_error("encode what ulplab.round rounded stochastically");
    auto* const to = static_cast<char*>(codes.mutable_data());
    in_pieces(given.words.count, [&](std::int64_t first, std::int64_t size) {
        encode_words(part_of(given.words, first, size), format, how, to + first * word_bytes(format));
    });
    return codes;
}

py::array decode_array(const py::array& codes, const py::object& wanted) {
    const FloatFormat format = format_of(wanted);
    require_within_fp64(format);
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

/// Numbers as words of the format, which is theirs by default; `round` rounds those that it does not have.
struct Operand {
    py::array words;
    Operand(const Numbers& given, const FloatFormat& format, bool round, const char* name) : words(given.keep) {
        if (!given.words.integers && given.words.format == format) return;
        words = empty_like(given.keep, type_of_words(format));
        const auto how = round ? std::optional(InputRounding{}) : std::nullopt;
        std::optional<OffGrid> found;
        auto* const to = static_cast<char*>(words.mutable_data());
        in_pieces(given.words.count, [&](std::int64_t first, std::int64_t size) {
            if (found) return;
            found = words_on_grid(part_of(given.words, first, size), format, how, to + first * word_bytes(format));
            if (found) found->at += first;
        });
        if (found) throw_off_grid(name, given.keep, *found, format);
    }
};

/// Words of the format as an array of numbers of a type.
py::array numbers_of_words(const py::array& words, const FloatFormat& format, const ResultType& type) {
    py::array numbers = empty_like(words, type.type);
    void* const to = numbers.mutable_data();
    const py::gil_scoped_release unlocked;
    encode_words({words.data(), format, words.size()}, type.format, {}, to);
    return numbers;
}

/// function(x), correctly rounded to the format; x lies on it or is rounded to it first.
py::array evaluate(const std::string& name, const py::array& x, const py::object& wanted, const std::string& rounding,
                   bool round_first) {
    const array::Function function = function_of(name);
    const Numbers given = numbers_of(x, "x");
    const FloatFormat format = wanted.is_none() ? given.format() : format_of(wanted);
    if (format.precision() > 24) {
        throw py::value_error("functions are of formats of up to 24 significant bits; give format='fp32', say");
    }
    const Context context{.rounding = rounding_by_name(rounding)};
    if (is_stochastic(context.rounding)) {
        throw py::value_error("functions are rounded in deterministic modes; ulplab.round rounds stochastically");
    }
    const Operand operand(given, format, round_first, "x");
    const ResultType type = result_type(given, format);
    const bool direct = type.format == format;
    py::array words = empty_like(given.keep, direct ? type.type : type_of_words(format));
    const auto* const from = static_cast<const char*>(operand.words.data());
    auto* const to = static_cast<char*>(words.mutable_data());
    in_pieces(words.size(), [&](std::int64_t first, std::int64_t size) {
        const std::int64_t at = first * word_bytes(format);
        array::evaluate_words(format, function, from + at, to + at, static_cast<std::size_t>(size), context,
                              simd_choice());
    });
    return direct ? words : numbers_of_words(words, format, type);
}

/// The operands' common format, or the one that is wanted; the operand whose type results have.
std::vector<Operand> operands_of(const std::vector<py::array>& given, const FloatFormat& format, bool round_first) {
    static constexpr const char* names[] = {"a", "b", "c"};
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < given.size(); ++i) {
        operands.emplace_back(numbers_of(py::array::ensure(given[i], py::array::c_style), names[i]), format,
                              round_first, names[i]);
    }
    return operands;
}

/// (result, flags or None) of arrays of one shape; `typed` is an array of the type that results have where it holds
/// them.
py::tuple operate_on_arrays(const std::string& name, const std::vector<py::array>& given, const py::array& typed,
                            const py::object& wanted, const Context& context, bool round_first, bool with_flags) {
    const NamedOperation& operation = operation_by_name(name);
    const Numbers kind = numbers_of(typed, "a");
    const FloatFormat format = wanted.is_none() ? kind.format() : format_of(wanted);
    const std::vector<Operand> operands = operands_of(given, format, round_first);
    const py::array& shape = operands.front().words;
    const ResultType type = result_type(kind, format);
    py::array words = empty_like(shape, type.format == format ? type.type : type_of_words(format));
    py::object flags = with_flags ? py::object(empty_like(shape, py::dtype("uint8"))) : py::none();
    auto* const of_each = with_flags ? static_cast<std::uint8_t*>(flags.cast<py::array>().mutable_data()) : nullptr;
    const auto data = [&](std::size_t i) { return i < operands.size() ? operands[i].words.data() : nullptr; };
    const std::array<const void*, 3> x{data(0), data(1), data(2)};
    void* const to = words.mutable_data();
    const std::int64_t bytes = word_bytes(format);
    in_pieces(words.size(), [&](std::int64_t first, std::int64_t size) {
        const auto at = [&](const void* from) -> const void* {
            return from == nullptr ? nullptr : static_cast<const char*>(from) + first * bytes;
        };
        Context part = context;
        part.first += static_cast<std::uint64_t>(first);
        operate(operation, format, {at(x[0]), at(x[1]), at(x[2])}, static_cast<char*>(to) + first * bytes, size, part,
                of_each == nullptr ? nullptr : of_each + first);
    });
    return py::make_tuple(type.format == format ? words : numbers_of_words(words, format, type), flags);
}

py::tuple compare_arrays(const std::vector<py::array>& given, const py::array& typed, const py::object& wanted,
                         bool round_first, bool signaling, bool with_flags) {
    const FloatFormat format = wanted.is_none() ? numbers_of(typed, "a").format() : format_of(wanted);
    const std::vector<Operand> operands = operands_of(given, format, round_first);
    const py::array& a = operands[0].words;
    py::array order = empty_like(a, py::dtype("int8"));
    py::object flags = with_flags ? py::object(empty_like(a, py::dtype("uint8"))) : py::none();
    auto* const of_each = with_flags ? static_cast<std::uint8_t*>(flags.cast<py::array>().mutable_data()) : nullptr;
    compare(format, a.data(), operands[1].words.data(), static_cast<std::int8_t*>(order.mutable_data()), a.size(),
            signaling, of_each);
    return py::make_tuple(order, flags);
}

py::array with_halves(const py::array& bytes, bool unpack) {
    const py::array from = py::array::ensure(bytes, py::array::c_style);
    std::vector<py::ssize_t> shape(from.shape(), from.shape() + from.ndim());
    if (from.dtype().kind() != 'u' || from.itemsize() != 1) {
        throw py::type_error(fmt::format("packed codes are uint8, not {}", py::str(from.dtype()).cast<std::string>()));
    }
    if (shape.empty() || (!unpack && shape.back() % 2 != 0)) {
        throw py::value_error("codes are packed in pairs along the last extent, which must be even");
    }
    shape.back() = unpack ? shape.back() * 2 : shape.back() / 2;
    py::array to(py::dtype("uint8"), shape);
    const auto* const x = static_cast<const std::uint8_t*>(from.data());
    auto* const y = static_cast<std::uint8_t*>(to.mutable_data());
    unpack ? unpack_pairs(x, from.size(), y) : pack_pairs(x, to.size(), y);
    return to;
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
                         const std::string& saturate) {
    const Context how{.rounding = rounding_by_name(rounding), .saturate = saturation_by_name(saturate)};
    if (is_stochastic(how.rounding)) throw py::value_error("show rounds in the deterministic modes only");
    const FloatFormat format = format_of(wanted);
    return description_of(describe({name_of(format), format, ""}, text, how));
}

/// The numbers as fp32, which carries those of an operand: those of fp64 and integers so that elements are rounded
/// once.
py::array numbers_for(const Quantization& how, const py::array& x) {
    const bool integers = x.dtype().kind() == 'i';
    if (!integers && format_of_array(x, formats::fp32, "x") != formats::fp64) return x;
    py::array from = packed(x);
    if (integers) {
        const Numbers given = numbers_of(x, "x");
        from = empty_like(given.keep, float_type(8));
        encode_words(given.words, formats::fp64, {Rounding::odd}, from.mutable_data());
    }
    py::array numbers = empty_like(from, float_type(4));
    const auto count = static_cast<std::size_t>(from.size());
    const std::span given(static_cast<const double*>(from.data()), count);
    const std::span carried(static_cast<float*>(numbers.mutable_data()), count);
    const py::gil_scoped_release unlocked;
    carry_in_fp32(how, given, carried);
    return numbers;
}

/// Numbers, rows x cols, as an array.
template <class Values>
auto matrix_of(const Values& values, std::int64_t rows, std::int64_t cols) {
    py::array_t<std::decay_t<decltype(*std::begin(values))>> array({rows, cols});
    std::copy(std::begin(values), std::end(values), array.mutable_data());
    return array;
}

py::array_t<float> elements_of(const Quantized& quantized) {
    const MatrixView view = quantized.elements();
    py::array_t<float> array({view.rows, view.cols});
    float* to = array.mutable_data();
    for (std::int64_t i = 0; i < view.rows; ++i, to += view.cols) {
        if (view.row_major()) {
            std::copy_n(&view(i, 0), view.cols, to);
        } else {
            for (std::int64_t j = 0; j < view.cols; ++j) to[j] = view(i, j);
        }
    }
    return array;
}

/// Numbers of a format of at most 8 bits as its codes.
py::array codes_of(const py::array_t<float>& numbers, const FloatFormat& format) {
    py::array codes = empty_like(numbers, py::dtype("uint8"));
    encode_numbers(numbers.data(), numbers.size(), format, codes.mutable_data());
    return codes;
}

/// What `quantize` gives: arrays, and what is needed to dequantise.
py::dict quantize_matrix(const py::array& x, const std::string& name, const py::object& element,
                         const std::optional<std::pair<int, int>>& block, const py::object& scale_format,
                         std::uint64_t seed, std::uint64_t stream) {
    QuantizationParts parts;
    if (!element.is_none()) parts.element = format_of(element);
    if (!scale_format.is_none()) parts.scale_format = format_of(scale_format);
    if (block) parts.block = {block->first, block->second};
    const Quantization how = with_parts(quantization_by_name(name), parts);
    const Matrices lines = load_matrices(numbers_for(how, x), formats::fp32, InputRounding{}, "x");
    Quantized quantized;
    {
        const py::gil_scoped_release unlocked;
        quantized = quantize(how, lines.view(), {.seed = seed, .stream = stream});
        check_signals();
    }
    const std::int64_t blocks = quantized.blocks_along_k;
    const std::int64_t lines_of_blocks = blocks == 0 ? 0 : static_cast<std::int64_t>(quantized.scales.size()) / blocks;
    const auto elements = elements_of(quantized);
    const auto scales = matrix_of(quantized.scales, lines_of_blocks, blocks);
    py::dict result;
    result["elements"] = elements;
    result["scales"] = scales;
    result["tensor_scale"] = quantized.tensor_scale;
    result["element"] = how.element;
    result["block"] = py::make_tuple(quantized.block_lines(), quantized.block_k());
    result["scale_format"] = how.scale.format;
    if (!quantized.zero_points.empty()) {
        result["codes"] = matrix_of(element_codes(quantized), quantized.lines, quantized.k);
        result["zero_points"] = matrix_of(quantized.zero_points, lines_of_blocks, blocks);
    } else if (how.element.storage_bits() <= 8) {
        result["codes"] = codes_of(elements, how.element);
    }
    if (how.scale.format.storage_bits() <= 8 && how.scale.format.code_bits() <= 8 &&
        how.scale.format != formats::power_of_two) {
        result["scale_codes"] = codes_of(scales, how.scale.format);
    }
    return result;
}

using FloatMatrix = py::array_t<float, py::array::c_style | py::array::forcecast>;

/// What elements and scales stand for.
py::array dequantize_matrix(const std::pair<int, int>& block, const FloatMatrix& elements, const FloatMatrix& scales,
                            float tensor_scale) {
    Quantized quantized{.how = {.block = {block.first, block.second}},
                        .lines = elements.shape(0),
                        .k = elements.shape(1),
                        .numbers = {elements.data(), elements.data() + elements.size()},
                        .scales = {scales.data(), scales.data() + scales.size()},
                        .blocks_along_k = scales.shape(1),
                        .tensor_scale = tensor_scale};
    std::vector<float> numbers;
    {
        const py::gil_scoped_release unlocked;
        numbers = dequantize(std::move(quantized));
        check_signals();
    }
    return matrix_of(numbers, elements.shape(0), elements.shape(1));
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
    return py::make_tuple(counts.overflows, counts.underflows, counts.not_finite, counts.largest, counts.first,
                          counts.before);
}

/// "<Format fp16: 16 bits (1 sign, 5 exponent, 10 fraction), 5.96e-08 to 65504, inf, NaN>"
std::string text_of(const FloatFormat& format) {
    const FormatDescription row = describe({"", format, ""});
    return fmt::format("<Format {}: {} bits ({}{} exponent, {} fraction), {:.3g} to {:.6g}, specials {}>",
                       name_of(format), format.code_bits(), format.has_sign ? "1 sign, " : "", format.exponent_bits,
                       format.fraction_bits, row.smallest_positive, row.largest, row.specials);
}

/// The same as a table, for notebooks.
std::string html_of(const FloatFormat& format) {
    const FormatDescription row = describe({"", format, ""});
    std::string cells;
    const auto add = [&](const char* what, const auto& value) {
        cells += fmt::format("<tr><th>{}</th><td>{}</td></tr>", what, value);
    };
    add("format", name_of(format));
    add("bits", format.code_bits());
    add("exponent bits", format.exponent_bits);
    add("fraction bits", format.fraction_bits);
    add("bias", format.bias);
    add("largest", row.largest);
    add("smallest normal", row.smallest_normal);
    add("smallest", row.smallest_positive);
    add("specials", row.specials);
    return "<table>" + cells + "</table>";
}

void add_format(py::module_& module) {
    const auto described = [](auto column) {
        return [column](const FloatFormat& f) { return describe({"", f, ""}).*column; };
    };
    py::class_<FloatFormat>(module, "Format",
                            "A number format. Functions take its name (\"fp16\") wherever they take a Format.")
        .def(py::init([](const py::object& name) { return format_of(name); }), py::arg("name"))
        .def(py::pickle(
            [](const FloatFormat& f) -> py::tuple {
                if (f.is_table()) return py::make_tuple(format_json(f).dump());
                return py::make_tuple(f.exponent_bits, f.fraction_bits, f.bias, static_cast<int>(f.specials),
                                      f.has_sign, f.has_subnormals, f.padding_bits, f.unused_exponents, f.even_codes,
                                      static_cast<int>(f.saturation.mode), f.largest_for_infinity);
            },
            [](const py::tuple& t) {
                if (t.size() == 1) return format_from_json(nlohmann::json::parse(t[0].cast<std::string>()));
                const auto at = [&](int i) { return t[static_cast<std::size_t>(i)].cast<int>(); };
                return FloatFormat{
                    at(0),      at(1), at(2), static_cast<Specials>(at(3)),         at(4) != 0, at(5) != 0,
                    at(8) != 0, at(6), at(7), static_cast<Saturation::Mode>(at(9)), at(10) != 0};
            }))
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
        .def_property_readonly("largest", described(&FormatDescription::largest))
        .def_property_readonly("smallest_normal", described(&FormatDescription::smallest_normal))
        .def_property_readonly("smallest_positive", described(&FormatDescription::smallest_positive))
        .def_property_readonly("epsilon", described(&FormatDescription::epsilon))
        .def("__eq__", [](const FloatFormat& x, const FloatFormat& y) { return x == y; })
        .def("__hash__", [](const FloatFormat& f) { return py::hash(py::str(name_of(f))); })
        .def("__repr__", [](const FloatFormat& f) { return text_of(f); })
        .def("_repr_html_", [](const FloatFormat& f) { return html_of(f); });
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
                           const py::object& seed, const std::string& saturate, bool subnormals, std::uint64_t stream,
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
    module.def("operate", [](const std::string& name, const std::vector<py::array>& given, const py::array& typed,
                             const py::object& format, const std::string& rounding, const py::object& seed,
                             const std::string& saturate, bool subnormals, bool round, bool flags) {
        Context context = context_of(rounding, seed, saturate, subnormals, 0, 0, 32);
        context.flush_inputs = !subnormals;
        return operate_on_arrays(name, given, typed, format, context, round, flags);
    });
    module.def("compare", &compare_arrays);
    module.def("with_halves", &with_halves);
    module.def("describe", &describe_number);
    module.def("quantize", &quantize_matrix);
    module.def("dequantize", &dequantize_matrix);
    module.def("quantizations", [] {
        std::vector<std::pair<std::string, std::string>> rows;
        for (const NamedQuantization& row : named_quantizations()) rows.emplace_back(row.name, row.what);
        return rows;
    });
}

}  // namespace ulp::python
