// NumPy's arrays as the library takes them: which format their words have, matrices where they lie, errors as
// sentences.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/python/array_numbers.hpp"
#include "engine/tensor/storage.hpp"
#include "softfloat/matrix_view.hpp"

namespace ulp::python {

namespace py = pybind11;

/// A name ("fp16", "float16", ...), a Format, or a type of NumPy, ml_dtypes or PyTorch.
FloatFormat format_of(const py::object& format);

/// The format that an array's words are numbers of: float16, float32, float64, ml_dtypes' types, or unsigned integers
/// of the width of `codes`, which are its storage words. Throws TypeError that names the array otherwise.
FloatFormat format_of_array(const py::array& array, const std::optional<FloatFormat>& codes, const char* name);

/// The array, or a copy whose words lie without gaps in C or Fortran order, aligned and in the machine's byte order.
py::array packed(const py::array& array);

/// All words of a packed array, in the order of memory. Raises ValueError that names the array and the place of a word
/// that is above the format's codes, as two codes packed into one byte are.
Words words_of(const py::array& packed, const FloatFormat& format, const char* name);

/// The numbers of an array of any type that is a format's, or of signed integers, where they lie or packed.
struct Numbers {
    py::array keep;
    Words words;

    /// The format of the type; fp64 for integers, and for Python's numbers.
    [[nodiscard]] FloatFormat format() const { return words.integers ? formats::fp64 : words.format; }
};
Numbers numbers_of(const py::array& array, const char* name);

/// A new array of the shape; `like` decides the order where it is packed in Fortran's.
py::array empty_like(const py::array& like, const py::dtype& type);
py::dtype float_type(int bytes);
/// float16 for fp16, float64 for fp64, otherwise float32.
py::dtype type_of_format(const FloatFormat& format);
/// uint8 to uint64.
py::dtype type_of_words(const FloatFormat& format);

/// Raises ValueError: "a(0, 3) = 0.1 is not a number of fp16; ...".
[[noreturn]] void throw_off_grid(const char* name, const py::array& packed, const OffGrid& found,
                                 const FloatFormat& format);

/// Matrices of numbers in fp32, one for each of a batch: where they lie, or converted.
struct Matrices {
    py::array keep;         // what the numbers lie in,
    Storage<float> buffer;  // or their copy
    const float* data = nullptr;
    std::int64_t batches = 1, rows = 0, cols = 0;
    std::int64_t batch_stride = 0, row_stride = 0, col_stride = 1;

    [[nodiscard]] MatrixView view(std::int64_t batch = 0) const {
        return {data + (batches == 1 ? 0 : batch * batch_stride), rows, cols, row_stride, col_stride};
    }
};

/// An array of two extents, or of three (a batch first), on the grid of a format. Raises TypeError for other types and
/// ValueError, naming the element, for a number that the format does not have, unless `rounding` says how to round it.
Matrices load_matrices(const py::array& array, const FloatFormat& format, const std::optional<InputRounding>& rounding,
                       const char* name);

/// The same for fp64: float16, float32, float64 or codes as uint64, converted.
struct Fp64Matrices {
    std::vector<double> numbers;
    std::int64_t batches = 1, rows = 0, cols = 0;

    [[nodiscard]] BasicMatrixView<const double> view(std::int64_t batch = 0) const {
        return {numbers.data() + (batches == 1 ? 0 : batch * rows * cols), rows, cols};
    }
};
Fp64Matrices load_fp64_matrices(const py::array& array, const char* name);

/// Numbers of fp64 in an array of any shape: float16, float32 or float64, or codes as uint64.
py::array_t<double, py::array::c_style | py::array::forcecast> doubles_of(const py::array& array, const char* name);

/// Raises what a signal handler raised (KeyboardInterrupt). Call without the interpreter's lock.
void check_signals();

/// Looks for signals at most ten times a second.
class SignalWatch {
  public:
    /// As check_signals().
    void check() {
        if (due()) check_signals();
    }
    /// Whether a signal handler raised something, which is then the interpreter's error: throw py::error_already_set
    /// when it is safe to. Of several threads only the interpreter's main one sees signals.
    bool raised() {
        if (!due()) return false;
        const py::gil_scoped_acquire lock;
        return PyErr_CheckSignals() != 0;
    }

  private:
    bool due() {
        const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
        constexpr auto tenth = std::chrono::steady_clock::duration(std::chrono::milliseconds(100)).count();
        if (now - last_ < tenth) return false;
        last_ = now;
        return true;
    }
    std::atomic<std::chrono::steady_clock::rep> last_ = 0;
};

}  // namespace ulp::python
