// SPDX-License-Identifier: Apache-2.0
// Computations: what Python has recorded about tensors and modules, as one compiled program.
#include <pando/frontends/torch/computation.h>

#include "bind.h"

namespace pando::python {

namespace {

using torch::Computation;
using torch::nn::ModuleParts;

// What Python's function returns: the outputs, and the gradients of an optimizer's parameters.
using Results = std::pair<std::vector<Tensor>, std::vector<std::pair<torch::nn::Parameter, Tensor>>>;
using Traced = Function<Results(const std::vector<Tensor>&)>;

torch::ComputationFunction as_function(const Traced& traced) {
  return [traced](const std::vector<Tensor>& inputs) -> torch::ComputationResults {
    Results results = traced(inputs);
    return {std::move(results.first), std::move(results.second)};
  };
}

}  // namespace

void bind_computations(py::module_& module) {
  using States = std::shared_ptr<torch::OptimizerStates>;
  py::class_<torch::OptimizerStates, States>(module, "OptimizerStates", "What an optimizer keeps for its parameters.")
      .def(py::init<>())
      .def_readwrite("updates", &torch::OptimizerStates::updates)
      .def("names", [](const torch::OptimizerStates& self) { return self.variables.names(); })
      .def("get", [](const torch::OptimizerStates& self, const std::string& name) { return self.variables.get(name); })
      .def("set", [](torch::OptimizerStates& self, const std::string& name, const Array& value) {
        self.variables.set(name, value.clone());
      });
  py::class_<Computation>(module, "Computation", "A recorded step, compiled for the types of its inputs.")
      .def(py::init([](const std::vector<Type>& inputs, const ModuleParts& parts, const Traced& function,
                       const std::optional<torch::optim::Optimizer>& optimizer, const States& states) {
             const GilRelease unlocked;
             return std::make_unique<Computation>(inputs, parts, as_function(function), optimizer, states);
           }),
           py::arg("inputs"), py::arg("parts"), py::arg("function"), py::arg("optimizer"), py::arg("states"))
      .def("run", &Computation::run, py::arg("inputs"), WithoutGil());
  module.def(
      "output_types",
      [](const std::vector<Type>& inputs, const ModuleParts& parts, const Traced& function) {
        return Computation::output_types(inputs, parts, as_function(function));
      },
      py::arg("inputs"), py::arg("parts"), py::arg("function"));
  module.def("gradients", &torch::gradients, py::arg("loss"), py::arg("parameters"), py::arg("tensors"));
  module.def("keep_statistics", &torch::keep_statistics, py::arg("keep"));
}

}  // namespace pando::python
