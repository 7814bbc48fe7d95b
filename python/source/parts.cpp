// SPDX-License-Identifier: Apache-2.0
// The parts of a Keras model: parameters, initializers, regularizers, losses, metrics, optimizers, schedules.
#include <pando/base/random.h>
#include <pando/frontends/keras/model.h>

#include "fields.h"

namespace pando::python {

namespace {

namespace schedules = keras::optimizers::schedules;
using keras::Initializer;
using keras::Regularizer;
using keras::losses::Loss;
using keras::metrics::Metric;
using keras::optimizers::LearningRate;
using keras::optimizers::Optimizer;

void bind_parameters(py::module_& module) {
  py::class_<Parameter>(module, "Parameter", "A weight: a name, and a value that everything that uses it shares.")
      .def(py::init<const std::string&, const Array&, bool>(), py::arg("name"), py::arg("value"),
           py::arg("trainable") = true)
      .def_property_readonly("name", &Parameter::name)
      .def_property_readonly("shape", &Parameter::shape)
      .def_property_readonly("dtype", [](const Parameter& parameter) { return parameter.type().dtype; })
      .def_property_readonly("trainable", &Parameter::trainable)
      .def("value", &Parameter::value)
      .def("set_value", &Parameter::set_value)
      .def("__eq__", [](const Parameter& a, const Parameter& b) { return a == b; })
      .def("__hash__", [](const Parameter& parameter) { return reinterpret_cast<std::size_t>(&parameter.type()); });
}

void bind_initializers(py::module_& module) {
  py::class_<Initializer>(module, "Initializer", "How a weight begins.")
      .def(py::init<const std::string&>())
      .def_property_readonly("name", &Initializer::name)
      // Without a seed, the next random numbers of the process.
      .def("draw", [](const Initializer& initializer, const Shape& shape, std::optional<std::uint64_t> seed) {
        return initializer(shape, seed ? *seed : next_random_key());
      });
  module.def("make_initializer", [](const std::string& kind, const py::dict& arguments) -> Initializer {
    namespace initializers = keras::initializers;
    Fields fields(kind, arguments);
    if (kind == "Constant") return initializers::Constant(fields.get<double>("value", 0.0));
    if (kind == "Identity") return initializers::Identity(fields.get<double>("gain", 1.0));
    if (kind == "Orthogonal") return initializers::Orthogonal(fields.get<double>("gain", 1.0));
    if (kind == "RandomNormal" || kind == "TruncatedNormal") {
      initializers::RandomNormalOptions options;
      fields("mean", options.mean)("stddev", options.stddev).finish();
      return kind == "RandomNormal" ? initializers::RandomNormal(options) : initializers::TruncatedNormal(options);
    }
    if (kind == "RandomUniform") {
      initializers::RandomUniformOptions options;
      fields("minval", options.minval)("maxval", options.maxval).finish();
      return initializers::RandomUniform(options);
    }
    if (kind == "VarianceScaling") {
      initializers::VarianceScalingOptions options;
      fields("scale", options.scale)("mode", options.mode)("distribution", options.distribution).finish();
      return initializers::VarianceScaling(options);
    }
    return Initializer(kind);
  });
  // A drawing with the same numbers each time.
  module.def("seeded_initializer", [](const Initializer& initializer, std::uint64_t seed) {
    return Initializer(initializer.name(),
                       [initializer, seed](const Shape& shape, std::uint64_t) { return initializer(shape, seed); });
  });
  py::class_<Regularizer>(module, "Regularizer", "A penalty on the size of weights.")
      .def(py::init<double, double>(), py::arg("l1") = 0.0, py::arg("l2") = 0.0)
      .def(py::init<const std::string&>())
      .def_property_readonly("l1", &Regularizer::l1)
      .def_property_readonly("l2", &Regularizer::l2);
}

keras::losses::SampleFunction sample_function(const Held& function) {
  return [function](Value prediction, Value target) { return call_on_values(function, {prediction, target}).at(0); };
}

void bind_losses(py::module_& module) {
  namespace losses = keras::losses;
  py::class_<Loss>(module, "Loss", "A loss: one number for each sample, or for a batch.")
      .def(py::init<const std::string&>())
      // The function takes the symbols of predictions and targets, and returns a list of one symbol.
      .def(py::init([](const std::string& name, const py::object& function, bool labels) {
             return Loss(name, sample_function(Held(function)),
                         labels ? losses::Targets::labels : losses::Targets::any);
           }),
           py::arg("name"), py::arg("function"), py::arg("labels") = false)
      .def_property_readonly("name", &Loss::name)
      .def_property_readonly("takes_labels", &Loss::takes_labels)
      .def("summed", &Loss::summed)
      .def("call", [](const Loss& loss, const Tensor& prediction, const Tensor& target) {
        return apply(loss.name(), {prediction, target},
                     [loss](const std::vector<Value>& values) { return loss(values[0], values[1]); });
      });
  module.def("make_loss", [](const std::string& kind, const py::dict& arguments) -> Loss {
    Fields fields(kind, arguments);
    losses::CrossentropyOptions options;
    fields("from_logits", options.from_logits)("label_smoothing", options.label_smoothing);
    const auto delta = fields.get<double>("delta", 1.0);
    fields.finish();
    if (kind == "CategoricalCrossentropy") return losses::CategoricalCrossentropy(options);
    if (kind == "BinaryCrossentropy") return losses::BinaryCrossentropy(options);
    if (kind == "SparseCategoricalCrossentropy")
      return losses::SparseCategoricalCrossentropy({.from_logits = options.from_logits});
    if (kind == "Huber") return losses::Huber(delta);
    return Loss(kind);
  });
}

void bind_metrics(py::module_& module) {
  namespace metrics = keras::metrics;
  py::class_<Metric>(module, "Metric", "A metric: the mean over the samples of an epoch.")
      .def(py::init<const std::string&>())
      .def(py::init([](const std::string& name, const py::object& function) {
        return Metric(name, sample_function(Held(function)));
      }))
      .def(py::init<const Loss&>())
      .def_property_readonly("name", &Metric::name)
      .def("renamed",
           [](const Metric& metric, const std::string& name) {
             return Metric(name, [metric](Value prediction, Value target) { return metric(prediction, target); });
           })
      .def("call", [](const Metric& metric, const Tensor& prediction, const Tensor& target) {
        return apply(metric.name(), {prediction, target},
                     [metric](const std::vector<Value>& values) { return metric(values[0], values[1]); });
      });
  module.def("make_metric", [](const std::string& kind, const py::dict& arguments) -> Metric {
    Fields fields(kind, arguments);
    const auto threshold = fields.get<double>("threshold", 0.5);
    const auto k = fields.get<std::int64_t>("k", 5);
    fields.finish();
    if (kind == "BinaryAccuracy") return metrics::BinaryAccuracy(threshold);
    if (kind == "TopKCategoricalAccuracy") return metrics::TopKCategoricalAccuracy(k);
    if (kind == "SparseTopKCategoricalAccuracy") return metrics::SparseTopKCategoricalAccuracy(k);
    return Metric(kind);
  });
}

template <class Options>
void read_rate(Fields& fields, Options& o) {
  fields("learning_rate", o.learning_rate)("clipnorm", o.clipnorm)("clipvalue", o.clipvalue);
  fields("global_clipnorm", o.global_clipnorm);
}

template <class Options>
void read_adam(Fields& fields, Options& o) {
  read_rate(fields, o);
  fields("beta_1", o.beta_1)("beta_2", o.beta_2)("epsilon", o.epsilon);
}

Optimizer make_optimizer(const std::string& kind, const py::dict& arguments) {
  namespace optimizers = keras::optimizers;
  Fields fields(kind, arguments);
  if (kind == "SGD") {
    optimizers::SGDOptions o;
    read_rate(fields, o);
    fields("momentum", o.momentum)("nesterov", o.nesterov).finish();
    return optimizers::SGD(o);
  }
  if (kind == "Adam" || kind == "Nadam") {
    optimizers::AdamOptions o;
    read_adam(fields, o);
    fields.finish();
    if (kind == "Adam") return optimizers::Adam(o);
    return optimizers::Nadam(o);
  }
  if (kind == "AdamW") {
    optimizers::AdamWOptions o;
    read_adam(fields, o);
    fields("weight_decay", o.weight_decay).finish();
    return optimizers::AdamW(o);
  }
  if (kind == "RMSprop") {
    optimizers::RMSpropOptions o;
    read_rate(fields, o);
    fields("rho", o.rho)("momentum", o.momentum)("epsilon", o.epsilon)("centered", o.centered).finish();
    return optimizers::RMSprop(o);
  }
  if (kind == "Adagrad") {
    optimizers::AdagradOptions o;
    read_rate(fields, o);
    fields("initial_accumulator_value", o.initial_accumulator_value)("epsilon", o.epsilon).finish();
    return optimizers::Adagrad(o);
  }
  return Optimizer(kind);
}

LearningRate make_schedule(const std::string& kind, const py::dict& arguments) {
  Fields fields(kind, arguments);
  if (kind == "ExponentialDecay") {
    schedules::ExponentialDecayOptions o;
    fields("initial_learning_rate", o.initial_learning_rate)("decay_steps", o.decay_steps);
    fields("decay_rate", o.decay_rate)("staircase", o.staircase).finish();
    return schedules::ExponentialDecay(o);
  }
  if (kind == "CosineDecay") {
    schedules::CosineDecayOptions o;
    fields("initial_learning_rate", o.initial_learning_rate)("decay_steps", o.decay_steps)("alpha", o.alpha).finish();
    return schedules::CosineDecay(o);
  }
  if (kind == "PolynomialDecay") {
    schedules::PolynomialDecayOptions o;
    fields("initial_learning_rate", o.initial_learning_rate)("decay_steps", o.decay_steps);
    fields("end_learning_rate", o.end_learning_rate)("power", o.power).finish();
    return schedules::PolynomialDecay(o);
  }
  if (kind == "PiecewiseConstantDecay") {
    const auto boundaries = fields.get<std::vector<double>>("boundaries", {});
    const auto values = fields.get<std::vector<double>>("values", {});
    fields.finish();
    return schedules::PiecewiseConstantDecay(boundaries, values);
  }
  throw InternalError("there is no schedule '" + kind + "'");
}

void bind_optimizers(py::module_& module) {
  py::class_<LearningRate>(module, "LearningRate", "A learning rate: a number, or a function of the updates done.");
  py::class_<Optimizer>(module, "Optimizer", "An optimizer with its state.")
      .def(py::init<const std::string&>())
      .def_property_readonly("name", &Optimizer::name)
      .def_property("learning_rate", &Optimizer::learning_rate, &Optimizer::set_learning_rate)
      .def_property_readonly("iterations", &Optimizer::iterations);
  // Calls a function that takes nothing and returns a number before each execution.
  module.def("called_rate", [](const py::object& function) {
    const Held held(function);
    return LearningRate(Function<double()>([held] {
      const WithGil gil;
      return held.get()().cast<double>();
    }));
  });
  module.def("make_optimizer", &make_optimizer);
  module.def("make_schedule", &make_schedule);
}

}  // namespace

void bind_parts(py::module_& module) {
  bind_parameters(module);
  bind_initializers(module);
  bind_losses(module);
  bind_metrics(module);
  bind_optimizers(module);
}

}  // namespace pando::python
