// SPDX-License-Identifier: Apache-2.0
// What every file of the extension includes: pybind11, how Pando's types become Python's, and the parts of the module.
// The extension knows C++ types and no name of another framework; those are in the Python packages.
#pragma once
#include <pybind11/pybind11.h>
// The order matters: casters must be seen before they are used.
#include <pybind11/stl.h>

#include "array.h"
#include "held.h"

namespace pando::python {

namespace py = pybind11;

// For calls that compile, run, load, wait or copy much: other Python threads go on meanwhile.
using WithoutGil = py::call_guard<GilRelease>;

// Each adds its part to the module, in the order in which module.cpp calls them: a type before those that use it.
void bind_arrays(py::module_& module);
void bind_output(py::module_& module);
void bind_tensors(py::module_& module);
void bind_functions(py::module_& module);
void bind_datasets(py::module_& module);
void bind_layers(py::module_& module);
void bind_parts(py::module_& module);
void bind_callbacks(py::module_& module);
void bind_models(py::module_& module);
void bind_ipu(py::module_& module);
void bind_sessions(py::module_& module);
void bind_modules(py::module_& module);
void bind_update_rules(py::module_& module);
void bind_executors(py::module_& module);
void bind_steps(py::module_& module);
void bind_reports(py::module_& module);

}  // namespace pando::python
