// SPDX-License-Identifier: Apache-2.0
// torch: the parameters and the optimizers of models of PyTorch, as PopTorch's programs see them.
#include <pando/frontends/torch/optim.h>

#include "bind.h"

namespace pando::python {

void bind_modules(py::module_& module) {
  using torch::nn::Parameter;
  using torch::optim::Optimizer;
  py::module_ part = module.def_submodule("torch", "Parameters and optimizers of PyTorch's models.");
  py::class_<Parameter>(part, "Parameter", "A weight in PyTorch's layout; copies are the same parameter.")
      .def(py::init<const Array&, bool>(), py::arg("value"), py::arg("requires_grad") = true)
      .def_property_readonly("shape", &Parameter::shape)
      .def(
          "adopt",
          [](const Parameter& self, std::uintptr_t address, const py::object& owner) {
            self.adopt(reinterpret_cast<void*>(address), Held(owner).owner());
          },
          py::arg("address"), py::arg("owner"), "Keeps the value in this memory, which has it already.")
      .def_property("requires_grad", &Parameter::requires_grad,
                    [](const Parameter& self, bool needed) { self.requires_grad_(needed); })
      .def("symbol", [](const Parameter& self) { return Tensor(self); });
  py::class_<Optimizer>(part, "Optimizer")
      .def("set_lr", &Optimizer::set_lr, py::arg("lr"), py::arg("group"))
      .def("lr", &Optimizer::lr, py::arg("group"));
}

}  // namespace pando::python
