// SPDX-License-Identifier: Apache-2.0
// Steps over the memory of another framework's tensors.
#include <pando/model/tensor_step.h>

#include "bind.h"

namespace pando::python {

namespace {

using Addresses = std::vector<std::uintptr_t>;
// What Python's function returns: the outputs, and the variables that are assigned, by their position.
using TracedStep = std::pair<std::vector<Tensor>, std::vector<std::pair<std::size_t, Tensor>>>;
using StepFunction = Function<TracedStep(const std::vector<Tensor>&, const std::vector<Tensor>&, const Tensor&)>;
// The name, type and role of a variable.
using VariableParts = std::tuple<std::string, Type, std::string>;

VariableRole role_from(const std::string& role) {
  if (role == "weight") return VariableRole::weight;
  if (role == "statistic") return VariableRole::statistic;
  if (role == "slot") return VariableRole::slot;
  throw py::value_error("the role of a variable is '" + role + "' but must be 'weight', 'statistic' or 'slot'");
}

EndsWithoutGil<TensorStep> make_tensor_step(const std::string& name, const std::vector<Type>& inputs,
                                            const std::vector<VariableParts>& variables, const StepFunction& function,
                                            const std::string& backend, const std::string& precision) {
  std::vector<TensorStepVariable> described;
  for (const auto& [variable, type, role] : variables) described.push_back({variable, type, role_from(role)});
  const auto body = [&](const auto&... given) -> TensorStep::Results {
    TracedStep traced = function(given...);
    return {std::move(traced.first), std::move(traced.second)};
  };
  const GilRelease unlocked;
  TensorStepOptions options{.precision = precision_named(precision)};
  if (!backend.empty()) options.device = Device({.backend = backend});
  return EndsWithoutGil<TensorStep>(new TensorStep(name, inputs, described, body, options));
}

void hold_memory(TensorStep& step, const std::vector<std::pair<std::uintptr_t, py::object>>& variables) {
  std::vector<HeldMemory> memory;
  for (const auto& [address, owner] : variables)
    memory.push_back({reinterpret_cast<void*>(address), Held(owner).owner()});
  const GilRelease unlocked;
  step.hold(memory);
}

void run_step(TensorStep& step, const Addresses& inputs, const Addresses& outputs, std::int64_t update) {
  const auto pointers = [](const Addresses& addresses) {
    return std::span(reinterpret_cast<void* const*>(addresses.data()), addresses.size());
  };
  step.run(pointers(inputs), pointers(outputs), update);
}

// Steps with the inputs and outputs of each row.
void run_rows(TensorStep& step, const std::vector<Addresses>& inputs, const std::vector<Addresses>& outputs,
              std::int64_t first_update) {
  if (inputs.size() != outputs.size()) throw py::value_error("each row needs inputs and outputs");
  const GilRelease unlocked;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    run_step(step, inputs[i], outputs[i], first_update + static_cast<std::int64_t>(i));
}

py::list kernels_of(const TensorStep& step) {
  py::list all;
  for (const KernelInfo& kernel : step.program().kernels())
    all.append(py::make_tuple(kernel.op, kernel.name, kernel.flops, kernel.bytes));
  return all;
}

}  // namespace

void bind_steps(py::module_& module) {
  py::module_ part = module.def_submodule("steps", "Compiled steps over the memory of another framework's tensors.");
  py::class_<TensorStep, EndsWithoutGil<TensorStep>>(
      part, "Step", "A function of inputs and variables as a program that changes the variables where they are.")
      .def(py::init(&make_tensor_step), py::arg("name"), py::arg("inputs"), py::arg("variables"), py::arg("function"),
           py::arg("backend") = "", py::arg("precision") = "float32",
           "Traces function(inputs, variables, counter) -> (outputs, [(variable, symbol)]).")
      .def("outputs", &TensorStep::outputs, "The types of the outputs.")
      .def("hold", &hold_memory, py::arg("variables"),
           "The address and the owner of each variable's memory from now on.")
      .def("run", &run_step, py::arg("inputs"), py::arg("outputs"), py::arg("update"), WithoutGil(),
           "Runs one step on memory at these addresses; an output at 0 is not wanted.")
      .def("run_rows", &run_rows, py::arg("inputs"), py::arg("outputs"), py::arg("first_update"),
           "Runs as many steps as there are rows of addresses.")
      .def("kernels", &kernels_of, "The op, name, operations and bytes of each kernel.")
      .def(
          "working_bytes", [](const TensorStep& step) { return step.program().working_bytes(); },
          "The bytes that the program works in.")
      .def(
          "tiles", [](const TensorStep& step) { return step.program().device_use().front().tiles; },
          "The tiles that the program runs on.");
}

}  // namespace pando::python
