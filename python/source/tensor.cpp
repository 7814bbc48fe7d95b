// SPDX-License-Identifier: Apache-2.0
// Symbol, a tensor of a model that is recorded or traced, and calls of ops on symbols.
#include <pando/autodiff/gradients.h>
#include <pando/base/random.h>

#include "op_table.h"

namespace pando::python {

namespace {

Tensor call_op(const std::string& name, const std::vector<Tensor>& inputs, const std::string& title,
               const py::kwargs& attributes) {
  const auto found = op_table().find(name);
  if (found == op_table().end()) throw py::value_error("there is no op named '" + name + "'");
  const Op& op = found->second;
  if (op.inputs >= 0 && static_cast<std::size_t>(op.inputs) != inputs.size())
    throw py::type_error(name + ": it takes " + std::to_string(op.inputs) + " tensors but got " +
                         std::to_string(inputs.size()));
  Reader reader(name, attributes);
  const Build build = op.make(reader);
  reader.finish();
  return apply(title.empty() ? name : title, inputs, build);
}

// Vector-Jacobian products of values of the graph that is being traced.
std::vector<Tensor> vjp(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents,
                        const std::vector<Tensor>& inputs) {
  if (outputs.size() != cotangents.size())
    throw py::value_error("vjp: there are " + std::to_string(outputs.size()) + " outputs but " +
                          std::to_string(cotangents.size()) + " cotangents; give one for each output");
  std::vector<Tensor> all = outputs;
  all.insert(all.end(), cotangents.begin(), cotangents.end());
  all.insert(all.end(), inputs.begin(), inputs.end());
  return apply("vjp", all, [count = static_cast<std::ptrdiff_t>(outputs.size())](Trace&, const Values& v) {
    const auto cotangent = v.begin() + count, input = cotangent + count;
    return gradients(Values(v.begin(), cotangent), Values(cotangent, input), Values(input, v.end()));
  });
}

}  // namespace

void bind_tensors(py::module_& module) {
  py::class_<Tensor>(module, "Symbol",
                     "A tensor of a model that is recorded or traced: its value is known when it runs.")
      .def_property_readonly("shape", &Tensor::shape, "The sizes; None for the batch of a recorded model.")
      .def_property_readonly("dtype", &Tensor::dtype, "The name of the type.")
      .def("is_same", [](const Tensor& a, const Tensor& b) { return a == b; });
  module.def("op", &call_op, py::arg("name"), py::arg("inputs"), py::arg("title") = "",
             "What the op of this name makes of the symbols; see docs/ops.md for its attributes.");
  module.def("vjp", &vjp, py::arg("outputs"), py::arg("cotangents"), py::arg("inputs"),
             "The gradients, with respect to each input, of the sum of all outputs times their cotangents.");
  module.def(
      "constant",
      [](const Tensor& like, const Array& value) {
        return apply("constant", {like},
                     [value = value.clone()](const Values& v) { return ops::constant(v[0].graph(), value); });
      },
      py::arg("like"), py::arg("value"), "The array as a symbol of the model that `like` belongs to.");
  module.def(
      "scalar",
      [](const Tensor& like, double value) {
        return apply("constant", {like}, [value](const Values& v) { return ops::scalar(v[0], value); });
      },
      py::arg("like"), py::arg("value"), "The number, of the type of `like`, as a symbol of its model.");
  module.def("set_random_seed", &set_random_seed, py::arg("seed"),
             "Everything that the library draws after it, weights and drop-outs, depends on this seed alone.");
  module.def("op_names", [] {
    std::vector<std::string> names;
    for (const auto& [name, op] : op_table()) names.push_back(name);
    return names;
  });
}

}  // namespace pando::python
