// SPDX-License-Identifier: Apache-2.0
// Steps over the memory of another framework's tensors.
#include <pando/model/tensor_step.h>

#include <array>

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

// Steps with the inputs and outputs of each row. Returns how many ran: where one throws, the caller notes those before
// it, and runs it again by itself, which throws the same.
std::size_t run_rows(TensorStep& step, const std::vector<Addresses>& inputs, const std::vector<Addresses>& outputs,
                     std::int64_t first_update) {
  if (inputs.size() != outputs.size()) throw py::value_error("each row needs inputs and outputs");
  const GilRelease unlocked;
  std::size_t done = 0;
  try {
    for (; done < inputs.size(); ++done)
      run_step(step, inputs[done], outputs[done], first_update + static_cast<std::int64_t>(done));
  } catch (const Error&) {
    if (done == 0) throw;
  }
  return done;
}

// What a program depends on in Python: entries of dicts, sizes of dicts, attributes, and where tensors are. Reading
// them in Python would take longer than a small step.
class Watch {
 public:
  using Entry = std::tuple<py::dict, py::object, py::object>;
  using Attribute = std::tuple<py::object, py::str, py::object>;

  Watch(std::vector<Entry> entries, const std::vector<py::dict>& whole, std::vector<Attribute> attributes,
        std::vector<py::object> tensors)
      : entries_(std::move(entries)), attributes_(std::move(attributes)), tensors_(std::move(tensors)) {
    for (const py::dict& dict : whole) sizes_.emplace_back(dict, dict.size());
    for (const py::object& tensor : tensors_) layouts_.push_back(layout_of(tensor));
  }

  // Whether everything is what it was: the same objects, and tensors that are laid out as they were.
  bool is_same() const {
    for (const auto& [dict, size] : sizes_)
      if (dict.size() != size) return false;
    for (const auto& [dict, key, value] : entries_)
      if (PyDict_GetItemWithError(dict.ptr(), key.ptr()) != value.ptr()) return false;
    for (const auto& [object, name, value] : attributes_)
      if (!value.is(object.attr(name))) return false;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (layout_of(tensors_[i]) != layouts_[i]) return false;
    return true;
  }

 private:
  // Where the elements of a tensor are.
  struct Layout {
    std::uintptr_t address;
    py::object shape, strides;

    bool operator==(const Layout& other) const {
      return address == other.address && shape.equal(other.shape) && strides.equal(other.strides);
    }
  };
  static py::object call(const py::object& tensor, const py::str& method) {
    PyObject* found = PyObject_CallMethodNoArgs(tensor.ptr(), method.ptr());
    if (found == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(found);
  }
  static Layout layout_of(const py::object& tensor) {
    static const auto& names = *new std::array{py::str("data_ptr"), py::str("size"), py::str("stride")};
    return {call(tensor, names[0]).cast<std::uintptr_t>(), call(tensor, names[1]), call(tensor, names[2])};
  }

  std::vector<Entry> entries_;
  std::vector<std::pair<py::dict, std::size_t>> sizes_;
  std::vector<Attribute> attributes_;
  std::vector<py::object> tensors_;
  std::vector<Layout> layouts_;
};

py::list kernels_of(const TensorStep& step) {
  py::list all;
  for (const KernelInfo& kernel : step.program().kernels())
    all.append(py::make_tuple(kernel.op, kernel.name, kernel.flops, kernel.bytes));
  return all;
}

}  // namespace

void bind_steps(py::module_& module) {
  py::module_ part = module.def_submodule("steps", "Compiled steps over the memory of another framework's tensors.");
  py::class_<Watch>(part, "Watch", "What a program depends on, to ask at each call whether it is the same.")
      .def(py::init<std::vector<Watch::Entry>, const std::vector<py::dict>&, std::vector<Watch::Attribute>,
                    std::vector<py::object>>(),
           py::arg("entries"), py::arg("whole"), py::arg("attributes"), py::arg("tensors"),
           "Entries are (dict, key, value), whole are dicts that get no other key, attributes are (object, name, "
           "value).")
      .def("is_same", &Watch::is_same, "Whether values are the same objects, and tensors laid out as they were.");
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
           "Runs a step for each row of addresses, until one raises, and returns how many ran.")
      .def("kernels", &kernels_of, "The op, name, operations and bytes of each kernel.")
      .def(
          "working_bytes", [](const TensorStep& step) { return step.program().working_bytes(); },
          "The bytes that the program works in.")
      .def(
          "tiles", [](const TensorStep& step) { return step.program().device_use().front().tiles; },
          "The tiles that the program runs on.");
}

}  // namespace pando::python
