// SPDX-License-Identifier: Apache-2.0
// Python functions traced to programs, which then run without Python.
#include <pando/model/tensor_program.h>

#include "bind.h"

namespace pando::python {

void bind_functions(py::module_& module) {
  py::class_<TensorProgram>(module, "TensorProgram",
                            "A function from a list of symbols to a list of symbols, as a program that takes and "
                            "returns arrays. It is traced once for each list of types.")
      .def(py::init([](const std::string& name, const py::object& function) {
             return TensorProgram(name, [held = Held(function)](const std::vector<Tensor>& inputs) {
               const WithGil gil;
               return held.get()(inputs).cast<std::vector<Tensor>>();
             });
           }),
           py::arg("name"), py::arg("function"))
      .def("types", &TensorProgram::types, py::arg("inputs"),
           "The types of the results for inputs of these types, each a pair of a type's name and a shape.")
      .def("__call__", &TensorProgram::operator(), py::arg("inputs"), WithoutGil());
}

}  // namespace pando::python
