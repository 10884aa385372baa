// The extension module ulplab._core. The package around it (ulplab/) has the documented functions.
#include <pybind11/pybind11.h>

#include <string>

#include "engine/files/format_file.hpp"
#include "engine/python/module_parts.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"

namespace {

/// An older pybind11 reads the arrays of NumPy 1 alone. Raises ImportError.
void refuse_numpy_2() {
#if PYBIND11_VERSION_MAJOR == 2 && PYBIND11_VERSION_MINOR < 12
    const auto version = pybind11::module_::import("numpy").attr("__version__").cast<std::string>();
    if (version.starts_with("1.")) return;
    throw pybind11::import_error("this build of ulplab reads arrays of NumPy 1, not of NumPy " + version +
                                 "; build it with pybind11 2.13 or newer (pip install pybind11), which reads both");
#endif
}

}  // namespace

// NOLINTNEXTLINE: pybind11's macro
PYBIND11_MODULE(_core, module) {
    module.doc() = "Formats, rounding and matrix units, bit for bit: what the package ulplab is made of.";
    module.attr("__version__") = ULPLAB_VERSION;
    refuse_numpy_2();
    ulp::set_format_reader(&ulp::format_of_file);
    pybind11::register_exception<ulp::DataError>(module, "DataError", PyExc_ValueError);
    pybind11::register_exception<ulp::BitsDiffer>(module, "BitsDiffer", PyExc_ArithmeticError);
    pybind11::register_exception_translator([](std::exception_ptr thrown) {
        try {
            if (thrown) std::rethrow_exception(thrown);
        } catch (const pybind11::cast_error&) {
            PyErr_SetString(PyExc_TypeError, "an argument has another type than the function takes; help() says which");
        }
    });
    ulp::python::add_numbers(module);
    ulp::python::add_products(module);
    ulp::python::add_analysis(module);
    ulp::python::add_laboratory(module);
    ulp::python::add_recordings(module);
    ulp::python::add_emulation(module);
    ulp::python::add_nets(module);
}
