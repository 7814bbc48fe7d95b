// SPDX-License-Identifier: Apache-2.0
// What the optimizers of torch.optim do to a parameter, for steps that keep parameters and states in PyTorch's memory.
#include <pando/frontends/torch/update.h>

#include "fields.h"

namespace pando::python {

namespace {

namespace optim = torch::optim;

void read_fields(Fields& fields, optim::SGDOptions& into) {
  fields("momentum", into.momentum)("dampening", into.dampening)("weight_decay", into.weight_decay);
  fields("nesterov", into.nesterov)("maximize", into.maximize);
}
template <class Options>
requires(std::is_same_v<Options, optim::AdamOptions> ||
         std::is_same_v<Options, optim::AdamWOptions>) void read_fields(Fields& fields, Options& into) {
  fields("betas", into.betas)("eps", into.eps)("weight_decay", into.weight_decay);
  fields("amsgrad", into.amsgrad)("maximize", into.maximize);
}
void read_fields(Fields& fields, optim::RMSpropOptions& into) {
  fields("alpha", into.alpha)("eps", into.eps)("weight_decay", into.weight_decay);
  fields("momentum", into.momentum)("centered", into.centered)("maximize", into.maximize);
}
void read_fields(Fields& fields, optim::AdadeltaOptions& into) {
  fields("rho", into.rho)("eps", into.eps)("weight_decay", into.weight_decay)("maximize", into.maximize);
}
void read_fields(Fields& fields, optim::AdagradOptions& into) {
  fields("lr_decay", into.lr_decay)("weight_decay", into.weight_decay);
  fields("initial_accumulator_value", into.initial_accumulator_value)("eps", into.eps)("maximize", into.maximize);
}
void read_fields(Fields& fields, optim::NAdamOptions& into) {
  fields("betas", into.betas)("eps", into.eps)("weight_decay", into.weight_decay);
  fields("momentum_decay", into.momentum_decay)("decoupled_weight_decay", into.decoupled_weight_decay);
  fields("maximize", into.maximize);
}
void read_fields(Fields& fields, optim::RAdamOptions& into) {
  fields("betas", into.betas)("eps", into.eps)("weight_decay", into.weight_decay);
  fields("decoupled_weight_decay", into.decoupled_weight_decay)("maximize", into.maximize);
}

template <class Options>
Options read_options(const std::string& kind, const py::dict& given) {
  Options options;
  Fields fields(kind, given);
  read_fields(fields, options);
  fields.finish();
  return options;
}

// The parameters of a group, its rate and its options.
using Group = std::tuple<optim::Parameters, double, py::dict>;

// The classes of torch.optim: what each does with a parameter, and an optimizer for C++.
struct Kind {
  optim::Update (*update)(const std::string& kind, const py::dict& options);
  optim::Optimizer (*optimizer)(const std::string& kind, const std::vector<Group>& groups);
};

template <class Options>
optim::Update make_update(const std::string& kind, const py::dict& given) {
  return optim::Update(read_options<Options>(kind, given));
}

template <class Rule, class Options>
optim::Optimizer make_torch_optimizer(const std::string& kind, const std::vector<Group>& groups) {
  std::optional<Rule> made;
  for (const auto& [parameters, rate, given] : groups) {
    Options options = read_options<Options>(kind, given);
    options.lr = rate;
    if (!made) made.emplace(parameters, options);
    else made->add_param_group(parameters, options);
  }
  if (!made) throw py::value_error("optimizer got an empty parameter list");
  return *made;
}

template <class Rule, class Options>
constexpr Kind kind_of = {make_update<Options>, make_torch_optimizer<Rule, Options>};

const Kind& find_kind(const std::string& name) {
  static const std::map<std::string, Kind> kinds = {{"sgd", kind_of<optim::SGD, optim::SGDOptions>},
                                                    {"adam", kind_of<optim::Adam, optim::AdamOptions>},
                                                    {"adamw", kind_of<optim::AdamW, optim::AdamWOptions>},
                                                    {"rmsprop", kind_of<optim::RMSprop, optim::RMSpropOptions>},
                                                    {"adadelta", kind_of<optim::Adadelta, optim::AdadeltaOptions>},
                                                    {"adagrad", kind_of<optim::Adagrad, optim::AdagradOptions>},
                                                    {"nadam", kind_of<optim::NAdam, optim::NAdamOptions>},
                                                    {"radam", kind_of<optim::RAdam, optim::RAdamOptions>}};
  const auto found = kinds.find(name);
  if (found == kinds.end()) throw py::value_error("there is no optimizer named '" + name + "'");
  return found->second;
}

optim::Update find_update(const std::string& kind, const py::dict& options) {
  return find_kind(kind).update(kind, options);
}

// The numbers of updates that torch.optim keeps as a tensor for each parameter. PyTorch takes microseconds to read one
// or to add to it; a step must read and change all of them at each call.
class UpdateCounts {
 public:
  // Where the numbers are. Their owner keeps the memory.
  explicit UpdateCounts(const std::vector<std::pair<std::uintptr_t, DType>>& places) {
    for (const auto& [address, dtype] : places) {
      if (!is_floating(dtype)) throw py::type_error("a number of updates is of the type " + std::string(name(dtype)));
      places_.emplace_back(reinterpret_cast<void*>(address), dtype == DType::float64);
    }
  }
  std::vector<double> read() const {
    std::vector<double> numbers;
    for (const auto& [place, is_double] : places_)
      numbers.push_back(is_double ? *static_cast<const double*>(place) : *static_cast<const float*>(place));
    return numbers;
  }
  // Rounds as PyTorch does, which adds in the type of the tensor.
  void add(double updates) {
    for (const auto& [place, is_double] : places_)
      if (is_double) *static_cast<double*>(place) += updates;
      else *static_cast<float*>(place) += static_cast<float>(updates);
  }

 private:
  std::vector<std::pair<void*, bool>> places_;
};

}  // namespace

void bind_update_rules(py::module_& module) {
  py::module_ part = module.def_submodule("steps", "What compiled steps of torch's models are made of.");
  part.def(
      "update_states",
      [](const std::string& kind, const py::dict& options) {
        std::vector<std::tuple<std::string, double, bool>> states;
        const optim::Update update = find_update(kind, options);
        for (const optim::UpdateState& state : update.states())
          states.emplace_back(state.name, state.initial, state.scalar);
        return states;
      },
      py::arg("kind"), py::arg("options"),
      "What an optimizer keeps for each parameter: a name, the first value, and whether it is one number.");
  part.def(
      "update",
      [](const std::string& kind, const py::dict& options, const Tensor& rate, const Tensor& step,
         const Tensor& parameter, const Tensor& gradient, const std::vector<Tensor>& states) {
        return find_update(kind, options)(rate, step, parameter, gradient, states);
      },
      py::arg("kind"), py::arg("options"), py::arg("rate"), py::arg("step"), py::arg("parameter"), py::arg("gradient"),
      py::arg("states"), "The parameter and its states after the update; `step` is the number of updates before it.");
  module.def_submodule("poptorch")
      .def(
          "optimizer",
          [](const std::string& kind, const std::vector<Group>& groups) {
            return find_kind(kind).optimizer(kind, groups);
          },
          py::arg("kind"), py::arg("groups"),
          "An optimizer of torch.optim; each group is a list of parameters, its rate and its options.");
  py::class_<UpdateCounts>(part, "UpdateCounts", "Numbers of updates in the memory of torch's tensors.")
      .def(py::init<const std::vector<std::pair<std::uintptr_t, DType>>&>(), py::arg("places"),
           "Each place is an address and the name of a type; its owner must keep it.")
      .def("read", &UpdateCounts::read)
      .def("add", &UpdateCounts::add, py::arg("updates"));
}

}  // namespace pando::python
