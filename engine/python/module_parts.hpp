// The parts of the extension module ulplab._core, one source each.
#pragma once

#include <pybind11/pybind11.h>

namespace ulp::python {

void add_numbers(pybind11::module_& module);
void add_products(pybind11::module_& module);
void add_analysis(pybind11::module_& module);
void add_laboratory(pybind11::module_& module);
void add_recordings(pybind11::module_& module);  // gpu/devices/recordings_for_python.cpp
void add_emulation(pybind11::module_& module);
void add_nets(pybind11::module_& module);

}  // namespace ulp::python
