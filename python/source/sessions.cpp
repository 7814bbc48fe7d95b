// SPDX-License-Identifier: Apache-2.0
// Graphs and sessions as in TensorFlow 1: sources, variables, runs, compiled computations, loops, queues, pipelines.
#include <pando/frontends/tf1/compile.h>
#include <pando/frontends/tf1/functions.h>
#include <pando/frontends/tf1/saver.h>

#include "fields.h"

namespace pando::python {

namespace {

using ipu::IPUInfeedQueue;
using ipu::IPUOutfeedQueue;
using tf1::Compiled;
using tf1::Fetch;
using tf1::Operation;
using tf1::Outputs;
using tf1::Session;
using tf1::TracedFunction;
using tf1::Variable;
namespace train = tf1::train;

// A list of symbols and operations.
Outputs outputs_from(py::handle list) {
  std::vector<Outputs::Output> outputs;
  for (py::handle output : list) {
    if (py::isinstance<Operation>(output)) outputs.emplace_back(output.cast<Operation>());
    else outputs.emplace_back(output.cast<Tensor>());
  }
  return Outputs(outputs);
}

// A Python function of a list of symbols, which returns a list of symbols and operations.
TracedFunction traced(std::size_t arguments, const py::object& function) {
  return TracedFunction(arguments, [held = Held(function)](const std::vector<Tensor>& inputs) {
    const WithGil gil;
    return outputs_from(held.get()(inputs));
  });
}

Fetch fetch_of(const py::object& value) {
  if (py::isinstance<Operation>(value)) return value.cast<Operation>();
  if (py::isinstance<Compiled>(value)) return value.cast<Compiled>();
  if (py::isinstance<Variable>(value)) return value.cast<Variable>();
  if (py::isinstance<Fetch>(value)) return value.cast<Fetch>();
  return value.cast<Tensor>();
}

// What a run is asked for, made once for fetches that are run again and again.
struct Fetches {
  std::vector<Fetch> list;
  // For each fetch, which of its results are of operations, which have no value; empty if all have one.
  std::vector<std::vector<bool>> are_operations;

  explicit Fetches(const std::vector<std::pair<Fetch, std::vector<bool>>>& fetches) {
    for (const auto& [fetch, operations] : fetches) {
      list.push_back(fetch);
      are_operations.push_back(operations);
    }
  }
};

// A list of results for each fetch: arrays, scalars, None for an operation.
py::list run(Session& session, const Fetches& fetches, const tf1::Feeds& feeds) {
  std::vector<Arrays> results;
  {
    const GilRelease release;
    results = session.run(fetches.list, feeds);
  }
  py::list lists(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::vector<bool>& are_operations = fetches.are_operations[i];
    const std::size_t count = are_operations.empty() ? results[i].size() : are_operations.size();
    py::list list(count);
    auto array = results[i].begin();
    for (std::size_t j = 0; j < count; ++j) {
      const bool is_operation = !are_operations.empty() && are_operations[j];
      list[j] = is_operation ? py::object(py::none()) : value_to(*array++);
    }
    lists[i] = std::move(list);
  }
  return lists;
}

void bind_graph(py::module_& module) {
  py::class_<Operation>(module, "Operation").def(py::init<>());
  py::class_<Variable>(module, "Variable")
      .def(py::init([](const Array& value, const std::string& name, bool trainable) {
             return Variable(value, {.name = name, .trainable = trainable});
           }),
           py::arg("value"), py::arg("name") = "", py::arg("trainable") = true)
      .def_property_readonly("name", &Variable::name)
      .def_property_readonly("shape", &Variable::shape)
      .def_property_readonly("dtype", [](const Variable& variable) { return variable.parameter().type().dtype; })
      .def_property_readonly("trainable", [](const Variable& variable) { return variable.parameter().trainable(); })
      .def_property_readonly("parameter", &Variable::parameter)
      .def_property_readonly("exists", &Variable::exists)
      .def("symbol", [](const Variable& variable) { return Tensor(variable); })
      .def("assign", &Variable::assign);
  module.def("placeholder", &tf1::placeholder);
  module.def("tf_constant", [](const Array& value) { return tf1::constant(value); });
  module.def("get_variable", &tf1::get_variable);
  module.def("global_variables_initializer", &tf1::global_variables_initializer);
  module.def("reset_default_graph", &tf1::reset_default_graph, WithoutGil());
  module.def("tf_gradients", &tf1::gradients);
}

void bind_session(py::module_& module) {
  py::class_<tf1::Iterator, EndsWithoutGil<tf1::Iterator>>(module, "SessionIterator")
      .def("get_next", [](const tf1::Iterator& iterator) { return iterator.get_next(); })
      .def("initializer", &tf1::Iterator::initializer);
  module.def("make_initializable_iterator", &tf1::make_initializable_iterator, WithoutGil());
  module.def("make_one_shot_iterator", &tf1::make_one_shot_iterator, WithoutGil());
  py::class_<Compiled, EndsWithoutGil<Compiled>>(module, "Compiled").def("explain", &Compiled::explain);
  py::class_<Fetch>(module, "Fetch");
  module.def("fetch", &fetch_of, "What a run is asked for: of a symbol, a variable, an operation or a computation.");
  py::class_<Fetches>(module, "Fetches").def(py::init<const std::vector<std::pair<Fetch, std::vector<bool>>>&>());
  py::class_<Session, EndsWithoutGil<Session>>(module, "Session").def(py::init<>()).def("run", &run);
  py::class_<train::Saver>(module, "Saver")
      .def(py::init<>())
      .def("save", &train::Saver::save, WithoutGil())
      .def("restore", &train::Saver::restore, WithoutGil());
}

train::Optimizer make_tf1_optimizer(const std::string& kind, const py::dict& arguments) {
  Fields fields(kind, arguments);
  if (kind == "GradientDescentOptimizer") {
    train::GradientDescentOptions o;
    fields("learning_rate", o.learning_rate).finish();
    return train::GradientDescentOptimizer(o);
  }
  if (kind == "MomentumOptimizer") {
    train::MomentumOptions o;
    fields("learning_rate", o.learning_rate)("momentum", o.momentum)("use_nesterov", o.use_nesterov).finish();
    return train::MomentumOptimizer(o);
  }
  if (kind == "AdamOptimizer") {
    train::AdamOptions o;
    fields("learning_rate", o.learning_rate)("beta1", o.beta1)("beta2", o.beta2)("epsilon", o.epsilon).finish();
    return train::AdamOptimizer(o);
  }
  train::RMSPropOptions o;
  fields("learning_rate", o.learning_rate)("decay", o.decay)("momentum", o.momentum)("epsilon", o.epsilon);
  fields("centered", o.centered).finish();
  return train::RMSPropOptimizer(o);
}

void bind_training(py::module_& module) {
  py::class_<train::Optimizer>(module, "TrainOptimizer")
      .def("compute_gradients",
           [](const train::Optimizer& optimizer, const Tensor& loss, const std::vector<Variable>& variables) {
             std::vector<std::pair<Tensor, Parameter>> list;
             for (const auto& [gradient, variable] : optimizer.compute_gradients(loss, {.var_list = variables}))
               list.emplace_back(gradient, variable);
             return list;
           })
      .def("apply_gradients",
           [](const train::Optimizer& optimizer, const std::vector<std::pair<Tensor, Parameter>>& gradients) {
             std::vector<train::GradientAndVariable> list;
             for (const auto& [gradient, variable] : gradients) list.push_back({gradient, variable});
             return optimizer.apply_gradients(list);
           });
  module.def("make_train_optimizer", &make_tf1_optimizer);
}

void bind_queues(py::module_& module) {
  py::class_<IPUInfeedQueue, EndsWithoutGil<IPUInfeedQueue>>(module, "IPUInfeedQueue")
      .def(py::init<const data::Dataset&>(), WithoutGil())
      .def("initializer", &IPUInfeedQueue::initializer);
  py::class_<IPUOutfeedQueue>(module, "IPUOutfeedQueue")
      .def(py::init([](bool last) {
        return IPUOutfeedQueue({.outfeed_mode = last ? ipu::IPUOutfeedMode::LAST : ipu::IPUOutfeedMode::ALL});
      }))
      .def("enqueue", &IPUOutfeedQueue::enqueue)
      .def("dequeue", &IPUOutfeedQueue::dequeue);
}

Operation pipeline(const std::vector<std::pair<std::size_t, py::object>>& stages, const py::dict& arguments) {
  ipu::pipelining_ops::PipelineOptions o;
  Fields fields("pipeline", arguments);
  fields("gradient_accumulation_count", o.gradient_accumulation_count)("repeat_count", o.repeat_count);
  fields("infeed_queue", o.infeed_queue)("outfeed_queue", o.outfeed_queue)("device_mapping", o.device_mapping);
  fields("pipeline_schedule", o.pipeline_schedule)("recomputation", o.recomputation);
  if (!fields.get<bool>("sums_gradients", true)) o.reduction_method = ipu::GradientReduction::Mean;
  const auto optimizer = fields.get<py::object>("optimizer_function", py::none());
  if (!optimizer.is_none())
    o.optimizer_function = [held = Held(optimizer)](const Outputs& outputs) {
      const WithGil gil;
      const auto result = held.get()(outputs.tensors()).cast<std::pair<train::Optimizer, Tensor>>();
      return ipu::pipelining_ops::OptimizerFunctionOutput{result.first, result.second};
    };
  fields.finish();
  std::vector<TracedFunction> functions;
  for (const auto& [count, function] : stages) functions.push_back(traced(count, function));
  return ipu::pipelining_ops::pipeline(functions, o);
}

void bind_computations(py::module_& module) {
  module.def("compile_computation",
             [](std::size_t arguments, const py::object& function, const std::vector<Tensor>& inputs) {
               return ipu::ipu_compiler::compile(traced(arguments, function), inputs);
             });
  module.def("repeat", [](std::int64_t count, std::size_t arguments, const py::object& body,
                          const std::vector<Tensor>& inputs, const std::optional<IPUInfeedQueue>& queue) {
    return ipu::loops::repeat(count, traced(arguments, body), inputs, queue).tensors();
  });
  module.def("while_loop", [](const py::object& condition, std::size_t arguments, const py::object& body,
                              const std::vector<Tensor>& inputs, const std::optional<IPUInfeedQueue>& queue) {
    return ipu::loops::while_loop(traced(inputs.size(), condition), traced(arguments, body), inputs, queue).tensors();
  });
  module.def("pipeline", &pipeline);
}

}  // namespace

void bind_sessions(py::module_& module) {
  bind_graph(module);
  bind_session(module);
  bind_training(module);
  bind_queues(module);
  bind_computations(module);
}

}  // namespace pando::python
