// SPDX-License-Identifier: Apache-2.0
// The module pando._core: its parts, its exceptions, and what happens when Python ends.
#include <pando/base/error.h>
#include <pando/version.h>

#include "bind.h"
#include "spelling.h"

namespace pando::python {

namespace {

PyObject* new_exception(py::module_& module, const char* name, const char* doc, py::tuple bases) {
  const std::string full = std::string("pando.") + name;
  PyObject* type = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr);
  if (type == nullptr) throw py::error_already_set();
  module.add_object(name, type);
  return type;
}

// Upstream raises ValueError in one framework for what is a RuntimeError in another, so Error is both.
void bind_errors(py::module_& module) {
  static PyObject* error = new_exception(module, "Error", "Something that the caller can fix; the text says how.",
                                         py::make_tuple(py::handle(PyExc_ValueError), py::handle(PyExc_RuntimeError)));
  static PyObject* out_of_range =
      new_exception(module, "OutOfRangeError", "The data has ended.", py::make_tuple(py::handle(error)));
  static PyObject* internal = new_exception(module, "InternalError", "A defect of Pando; please report it.",
                                            py::make_tuple(py::handle(PyExc_RuntimeError)));
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const OutOfRange& e) {
      PyErr_SetString(out_of_range, in_python(e.what()).c_str());
    } catch (const Error& e) {
      PyErr_SetString(error, in_python(e.what()).c_str());
    } catch (const InternalError& e) {
      PyErr_SetString(internal, (in_python(e.what()) + "; please report it, with version " + version()).c_str());
    } catch (const py::cast_error&) {
      // Its own text names C++ types.
      PyErr_SetString(PyExc_TypeError,
                      "an argument, or what a function of the program returned, is of a type that cannot be used here");
    }
  });
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ library of Pando, by its own names; use the packages of pando instead.";
  module.attr("__version__") = version();
  bind_errors(module);
  module.def("in_python", in_python, py::arg("text"), "A text of the library with names as Python spells them.");
  bind_arrays(module);
  bind_output(module);
  bind_tensors(module);
  bind_functions(module);
  bind_datasets(module);
  bind_layers(module);
  bind_parts(module);
  bind_callbacks(module);
  bind_models(module);
  bind_ipu(module);
  bind_sessions(module);
  bind_modules(module);
  bind_update_rules(module);
  bind_executors(module);
  bind_steps(module);
  bind_reports(module);
  py::module_::import("atexit").attr("register")(py::cpp_function(end_python));
}

}  // namespace pando::python
