// The extension module ulplab._core. The package around it (ulplab/) has the documented functions.
#include <pybind11/pybind11.h>

#include "engine/python/module_parts.hpp"
#include "softfloat/errors.hpp"

// NOLINTNEXTLINE: pybind11's macro
PYBIND11_MODULE(_core, module) {
    module.doc() = "Formats, rounding and matrix units, bit for bit: what the package ulplab is made of.";
    module.attr("__version__") = ULPLAB_VERSION;
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
