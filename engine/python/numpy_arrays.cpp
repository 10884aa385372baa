#include "engine/python/numpy_arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/files/format_file.hpp"
#include "engine/products/matmul.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp::python {
namespace {

bool is_packed(const py::array& array) {
    const int either = py::array::c_style | py::array::f_style;
    return (array.flags() & either) != 0 && (array.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0 &&
           array.dtype().byteorder() != '>';
}

bool is_fortran(const py::array& array) { return (array.flags() & py::array::c_style) == 0; }

/// The place of a word of a packed array: "(0, 3)"; nothing for a single number.
std::string place_of(const py::array& packed, std::int64_t at) {
    std::vector<py::ssize_t> place(static_cast<std::size_t>(packed.ndim()));
    for (std::size_t i = 0; i < place.size(); ++i) {
        const std::size_t extent = is_fortran(packed) ? i : place.size() - 1 - i;
        place[extent] = at % packed.shape(static_cast<py::ssize_t>(extent));
        at /= packed.shape(static_cast<py::ssize_t>(extent));
    }
    return place.empty() ? "" : fmt::format("({})", fmt::join(place, ", "));
}

/// Dictionaries, lists, texts and numbers, as a description of a format has them.
nlohmann::json description_json(const py::handle& value) {
    if (py::isinstance<py::dict>(value)) {
        auto json = nlohmann::json::object();
        for (const auto& [key, each] : value.cast<py::dict>())
            json[py::str(key).cast<std::string>()] = description_json(each);
        return json;
    }
    if (py::isinstance<py::list>(value)) {
        auto json = nlohmann::json::array();
        for (const py::handle each : value.cast<py::list>()) json.push_back(description_json(each));
        return json;
    }
    if (py::isinstance<py::str>(value)) return value.cast<std::string>();
    if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
    if (py::isinstance<py::int_>(value)) return value.cast<std::int64_t>();
    const auto number = value.cast<double>();
    if (std::isfinite(number)) return number;
    return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

}  // namespace

FloatFormat format_of(const py::object& format) {
    if (py::isinstance<py::str>(format)) return format_by_name(format.cast<std::string>());
    if (py::isinstance<FloatFormat>(format)) return format.cast<FloatFormat>();
    if (py::isinstance<py::dict>(format) || py::isinstance<py::list>(format)) {
        return format_from_json(description_json(format));
    }
    // Types: numpy.dtype("float16"), ml_dtypes.bfloat16, and torch.float16, whose text is that.
    const auto text = py::str(format).cast<std::string>();
    if (text.starts_with("torch.")) return format_by_name(text.substr(6));
    if (py::isinstance<py::dtype>(format)) return format_by_name(format.attr("name").cast<std::string>());
    if (py::isinstance<py::type>(format)) return format_by_name(format.attr("__name__").cast<std::string>());
    throw py::type_error(
        fmt::format("a format is {}; give its name, such as \"fp16\", a type, a description, or an "
                    "ulplab.Format",
                    py::repr(format).cast<std::string>()));
}

FloatFormat format_of_array(const py::array& array, const std::optional<FloatFormat>& codes, const char* name) {
    const char kind = array.dtype().kind();
    const auto bytes = static_cast<int>(array.itemsize());
    if (kind == 'f' && bytes == 4) return formats::fp32;
    if (kind == 'f' && bytes == 2 && array.dtype().num() == 23) return formats::fp16;
    if (kind == 'f' && bytes == 8) return formats::fp64;
    if (kind == 'u' && codes && bytes == word_bytes(*codes)) return *codes;
    const auto type = array.dtype().attr("name").cast<std::string>();
    try {  // ml_dtypes' types
        const FloatFormat format = format_by_name(type);
        if (bytes == word_bytes(format) && !format.is_table()) return format;
    } catch (const std::invalid_argument&) {
    }
    std::string wanted = "float16, float32 or float64";
    if (codes) {
        wanted =
            fmt::format("float16, float32, float64, or codes of {} as uint{}", name_of(*codes), 8 * word_bytes(*codes));
    } else if (kind == 'u') {
        wanted += "; ulplab.decode reads codes, and x.astype('i8') makes these numbers";
    }
    throw py::type_error(fmt::format("{} has type {}; give {}", name, type, wanted));
}

Numbers numbers_of(const py::array& array, const char* name) {
    if (array.dtype().kind() != 'i') {
        const FloatFormat format = format_of_array(array, std::nullopt, name);
        const py::array keep = packed(array);
        return {keep, words_of(keep, format, name)};
    }
    const py::array keep = packed(array.attr("astype")("i8"));
    return {keep, {keep.data(), formats::fp64, keep.size(), true}};
}

py::array packed(const py::array& array) {
    if (is_packed(array)) return array;
    const py::dtype native =
        array.dtype().byteorder() == '>' ? array.dtype().attr("newbyteorder")("=").cast<py::dtype>() : array.dtype();
    static const py::handle ascontiguousarray =
        py::object(py::module_::import("numpy").attr("ascontiguousarray")).release();  // while the process lives
    py::array copy = py::reinterpret_borrow<py::object>(ascontiguousarray)(array, native);
    return copy.attr("reshape")(array.attr("shape"));
}

py::dtype float_type(int bytes) {
    static const py::handle types[] = {py::dtype("float16").release(), py::dtype("float32").release(),
                                       py::dtype("float64").release()};
    return py::reinterpret_borrow<py::dtype>(types[bytes == 2 ? 0 : bytes == 4 ? 1 : 2]);
}

py::dtype type_of_format(const FloatFormat& format) {
    return float_type(format == formats::fp16 ? 2 : format == formats::fp64 ? 8 : 4);
}

py::dtype type_of_words(const FloatFormat& format) { return py::dtype(fmt::format("uint{}", 8 * word_bytes(format))); }

py::array empty_like(const py::array& like, const py::dtype& type) {
    const std::vector<py::ssize_t> shape(like.shape(), like.shape() + like.ndim());
    if (!is_fortran(like)) return py::array(type, shape);
    std::vector<py::ssize_t> strides;
    py::ssize_t stride = type.itemsize();
    for (const py::ssize_t extent : shape) {
        strides.push_back(stride);
        stride *= extent;
    }
    return py::array(type, shape, strides);
}

Words words_of(const py::array& packed, const FloatFormat& format, const char* name) {
    const Words words{packed.data(), format, packed.size()};
    const std::optional<std::int64_t> beyond = first_beyond(words);
    if (!beyond) return words;
    std::uint64_t word = 0;
    const auto bytes = static_cast<std::size_t>(word_bytes(format));
    std::memcpy(&word, static_cast<const char*>(words.data) + static_cast<std::size_t>(*beyond) * bytes, bytes);
    throw py::value_error(fmt::format("{}{} = {}", name, place_of(packed, *beyond), beyond_codes_text(format, word)));
}

void throw_off_grid(const char* name, const py::array& packed, const OffGrid& found, const FloatFormat& format) {
    throw py::value_error(fmt::format("{}{} = {} is not a number of {}; round it first, or give round=True", name,
                                      place_of(packed, found.at), found.value, name_of(format)));
}

namespace {

/// Extents and strides (in numbers of fp32) of a packed array, whose copy has the same order.
void set_packed(Matrices& matrices, const py::array& array) {
    const bool batched = array.ndim() == 3;
    const auto extent = [&](int i) { return static_cast<std::int64_t>(array.shape(i)); };
    matrices.batches = batched ? extent(0) : 1;
    matrices.rows = extent(batched ? 1 : 0);
    matrices.cols = extent(batched ? 2 : 1);
    if (is_fortran(array)) {
        matrices.batch_stride = 1;
        matrices.row_stride = matrices.batches;
        matrices.col_stride = matrices.batches * matrices.rows;
    } else {
        matrices.batch_stride = matrices.rows * matrices.cols;
        matrices.row_stride = matrices.cols;
        matrices.col_stride = 1;
    }
}

/// Whether fp32 numbers can be read where they lie; sets the strides.
bool lies_well(Matrices& matrices, const py::array& array) {
    constexpr auto bytes = static_cast<py::ssize_t>(sizeof(float));
    if ((array.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) == 0 || array.dtype().byteorder() == '>')
        return false;
    for (py::ssize_t i = 0; i < array.ndim(); ++i) {
        if (array.strides(i) % bytes != 0) return false;
        if (array.shape(i) > 1 && array.strides(i) <= 0) return false;
    }
    const int first = array.ndim() == 3 ? 1 : 0;
    set_packed(matrices, array);
    matrices.row_stride = array.shape(first) > 1 ? array.strides(first) / bytes : matrices.cols;
    matrices.col_stride = array.shape(first + 1) > 1 ? array.strides(first + 1) / bytes : 1;
    if (first == 1) matrices.batch_stride = array.strides(0) / bytes;
    return true;
}

bool all_on_grid(const Matrices& matrices, const FloatFormat& format) {
    if (format == formats::fp32) return true;
    for (std::int64_t batch = 0; batch < matrices.batches; ++batch) {
        const MatrixView view = matrices.view(batch);
        const bool rows = view.row_major();
        const MatrixView lines = rows ? view : view.transposed();
        if (!lines.row_major()) return false;
        if (lines.row_stride == lines.cols || lines.rows == 1) {
            if (!are_on_grid(lines.data, lines.rows * lines.cols, format)) return false;
            continue;
        }
        for (std::int64_t i = 0; i < lines.rows; ++i) {
            if (!are_on_grid(&lines(i, 0), lines.cols, format)) return false;
        }
    }
    return true;
}

void require_matrices(const py::array& array, const char* name) {
    if (array.ndim() == 2 || array.ndim() == 3) return;
    throw py::value_error(fmt::format("{} has {} extents; a matrix has 2", name, array.ndim()));
}

}  // namespace

Matrices load_matrices(const py::array& array, const FloatFormat& format, const std::optional<InputRounding>& rounding,
                       const char* name) {
    require_matrices(array, name);
    const FloatFormat source = format_of_array(array, format, name);
    Matrices matrices;
    if (source == formats::fp32 && lies_well(matrices, array)) {
        matrices.data = static_cast<const float*>(array.data());
        matrices.keep = array;
        if (array.size() == 0 || all_on_grid(matrices, format)) return matrices;
    }
    matrices.keep = packed(array);
    set_packed(matrices, matrices.keep);
    matrices.buffer = Storage<float>(static_cast<std::size_t>(array.size()));
    matrices.data = matrices.buffer.data();
    const Words words = words_of(matrices.keep, source, name);
    const auto found = numbers_on_grid(words, format, rounding, matrices.buffer.data());
    if (found) throw_off_grid(name, matrices.keep, *found, format);
    return matrices;
}

py::array_t<double, py::array::c_style | py::array::forcecast> doubles_of(const py::array& array, const char* name) {
    const FloatFormat source = format_of_array(array, formats::fp64, name);
    return source == formats::fp64 && array.dtype().kind() == 'u' ? py::array(array.attr("view")("f8")) : array;
}

Fp64Matrices load_fp64_matrices(const py::array& array, const char* name) {
    require_matrices(array, name);
    const auto numbers = doubles_of(array, name);
    const bool batched = array.ndim() == 3;
    return {{numbers.data(), numbers.data() + numbers.size()},
            batched ? array.shape(0) : 1,
            array.shape(batched ? 1 : 0),
            array.shape(batched ? 2 : 1)};
}

void check_signals() {
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace ulp::python
