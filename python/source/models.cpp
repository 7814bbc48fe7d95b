// SPDX-License-Identifier: Apache-2.0
// Keras models: compile, fit, evaluate, predict, files.
#include <pando/frontends/keras/report.h>
#include <pando/frontends/keras/saving.h>

#include "fields.h"
#include "logs.h"

namespace pando::python {

namespace {

using keras::Layer;
using keras::Model;
using keras::Sequential;

std::optional<Array> array_or_none(const py::object& value) {
  if (value.is_none()) return std::nullopt;
  return value.cast<Array>();
}

keras::Losses losses_from(const py::object& loss) {
  if (loss.is_none()) return {};
  if (py::isinstance<py::dict>(loss)) return loss.cast<std::map<std::string, keras::Loss>>();
  return loss.cast<std::vector<keras::Loss>>();
}

keras::MetricList metrics_from(const py::object& metrics) {
  if (metrics.is_none()) return {};
  if (py::isinstance<py::dict>(metrics)) return metrics.cast<std::map<std::string, std::vector<keras::Metric>>>();
  return metrics.cast<std::vector<keras::Metric>>();
}

void compile(Model& model, const py::dict& arguments) {
  keras::CompileOptions options;
  Fields fields("compile", arguments);
  options.loss = losses_from(fields.get<py::object>("loss", py::none()));
  options.metrics = metrics_from(fields.get<py::object>("metrics", py::none()));
  fields("optimizer", options.optimizer)("loss_weights", options.loss_weights);
  fields("steps_per_execution", options.steps_per_execution)("precision", options.precision);
  if (!fields.get<bool>("sums_gradients", true)) options.reduction = ipu::GradientReduction::Mean;
  fields.finish();
  const GilRelease release;
  model.compile(options);
}

// A Dataset, or a list of inputs, targets and perhaps weights.
keras::ValidationData validation_from(const py::object& data) {
  if (data.is_none()) return {};
  if (py::isinstance<data::Dataset>(data)) return data.cast<data::Dataset>();
  const auto parts = data.cast<std::vector<py::object>>();
  keras::ValidationData validation(parts.at(0).cast<Arrays>(), parts.at(1).cast<Arrays>());
  validation.sample_weight = array_or_none(parts.at(2));
  return validation;
}

keras::FitOptions fit_options(const py::dict& arguments) {
  keras::FitOptions o;
  Fields fields("fit", arguments);
  fields("batch_size", o.batch_size)("epochs", o.epochs)("steps_per_epoch", o.steps_per_epoch)("shuffle", o.shuffle);
  fields("verbose", o.verbose)("class_weight", o.class_weight)("validation_split", o.validation_split);
  fields("validation_steps", o.validation_steps)("initial_epoch", o.initial_epoch)("profile", o.profile);
  fields("callbacks", o.callbacks);
  o.sample_weight = array_or_none(fields.get<py::object>("sample_weight", py::none()));
  o.validation_data = validation_from(fields.get<py::object>("validation_data", py::none()));
  fields("checkpoint_directory", o.checkpoint.directory)("checkpoint_every", o.checkpoint.every_executions);
  fields("checkpoint_keep", o.checkpoint.keep)("checkpoint_resume", o.checkpoint.resume);
  fields.finish();
  return o;
}

struct Data {
  std::optional<data::Dataset> dataset;
  Arrays x, y;
};

Data data_from(const py::object& x, const py::object& y) {
  if (py::isinstance<data::Dataset>(x)) return {.dataset = x.cast<data::Dataset>(), .x = {}, .y = {}};
  return {.dataset = {}, .x = x.cast<Arrays>(), .y = y.is_none() ? Arrays() : y.cast<Arrays>()};
}

keras::History fit(Model& model, const py::object& x, const py::object& y, const py::dict& arguments) {
  const Data data = data_from(x, y);
  const keras::FitOptions options = fit_options(arguments);
  keras::History history;
  {
    const GilRelease release;
    history = data.dataset ? model.fit(*data.dataset, options) : model.fit(data.x, data.y, options);
  }
  // An interrupt that the run has remembered becomes KeyboardInterrupt.
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  return history;
}

py::dict evaluate(Model& model, const py::object& x, const py::object& y, const py::dict& arguments) {
  const Data data = data_from(x, y);
  keras::EvaluateOptions o;
  Fields fields("evaluate", arguments);
  fields("batch_size", o.batch_size)("steps", o.steps)("verbose", o.verbose);
  o.sample_weight = array_or_none(fields.get<py::object>("sample_weight", py::none()));
  fields.finish();
  keras::Logs logs;
  {
    const GilRelease release;
    logs = data.dataset ? model.evaluate(*data.dataset, o) : model.evaluate(data.x, data.y, o);
  }
  return logs_dict(logs);
}

std::vector<Array> predict(Model& model, const py::object& x, std::int64_t batch_size, std::int64_t steps,
                           int verbose) {
  const Data data = data_from(x, py::none());
  const keras::PredictOptions o{.batch_size = batch_size, .steps = steps, .verbose = verbose};
  const GilRelease release;
  return data.dataset ? model.predict_outputs(*data.dataset, o) : model.predict_outputs(data.x, o);
}

keras::BatchOptions batch_options(const py::dict& arguments) {
  keras::BatchOptions o;
  Fields fields("batch", arguments);
  o.sample_weight = array_or_none(fields.get<py::object>("sample_weight", py::none()));
  fields("class_weight", o.class_weight)("reset_metrics", o.reset_metrics);
  fields.finish();
  return o;
}

py::dict on_batch(Model& model, keras::Logs (Model::*run)(const Arrays&, const Arrays&, const keras::BatchOptions&),
                  const Arrays& x, const Arrays& y, const py::dict& arguments) {
  const keras::BatchOptions options = batch_options(arguments);
  keras::Logs logs;
  {
    const GilRelease release;
    logs = (model.*run)(x, y, options);
  }
  return logs_dict(logs);
}

py::dict train_on_batch(Model& model, const Arrays& x, const Arrays& y, const py::dict& arguments) {
  return on_batch(model, &Model::train_on_batch, x, y, arguments);
}

py::dict test_on_batch(Model& model, const Arrays& x, const Arrays& y, const py::dict& arguments) {
  return on_batch(model, &Model::test_on_batch, x, y, arguments);
}

void bind_history(py::module_& module) {
  py::class_<keras::History>(module, "History")
      .def_property_readonly("epochs", &keras::History::epochs)
      .def_property_readonly("training_seconds", &keras::History::training_seconds)
      .def("curves", [](const keras::History& history) {
        py::dict curves;
        for (const auto& [name, values] : history) curves[py::str(name)] = py::cast(values);
        return curves;
      });
}

void bind_stages(py::class_<Model, Layer>& model) {
  model.def("set_pipeline_stage_assignment", &Model::set_pipeline_stage_assignment, WithoutGil())
      .def("get_pipeline_stage_assignment",
           [](const Model& self) {
             std::vector<std::pair<std::string, int>> list;
             for (const auto& [layer, stage] : self.get_pipeline_stage_assignment()) list.emplace_back(layer, stage);
             return list;
           })
      .def("pipeline_stage_summary", [](const Model& self) { return self.pipeline_stage_assignment_summary_text(); })
      .def("split_into_stages", &Model::split_into_stages, py::arg("stages"), py::arg("batch_size") = 32, WithoutGil())
      .def(
          "set_gradient_accumulation",
          [](Model& self, std::int64_t count) {
            self.set_gradient_accumulation_options({.gradient_accumulation_steps_per_replica = count});
          },
          WithoutGil())
      .def(
          "set_pipelining",
          [](Model& self, std::int64_t count, ipu::pipelining_ops::PipelineSchedule schedule,
             const std::vector<int>& device_mapping, bool recomputation) {
            self.set_pipelining_options({.gradient_accumulation_steps_per_replica = count,
                                         .pipeline_schedule = schedule,
                                         .device_mapping = device_mapping,
                                         .recomputation = recomputation});
          },
          WithoutGil());
}

void bind_files(py::module_& module, py::class_<Model, Layer>& model) {
  model.def("save_weights", &Model::save_weights, WithoutGil())
      .def("load_weights", &Model::load_weights, WithoutGil())
      .def("to_json", &Model::to_json, WithoutGil())
      .def("save", &Model::save, WithoutGil());
  module.def("model_from_json", &keras::model_from_json, WithoutGil());
  module.def("layer_config", [](const Layer& layer, bool leave_out_functions) {
    return keras::layer_config(layer, {.leave_out_functions = leave_out_functions});
  });
  module.def("clone_model", [](const Model& original, const py::function& clone) {
    return keras::clone_model(original, [&](const Layer& layer) { return clone(layer).cast<Layer>(); });
  });
  module.def("load_model", &keras::load_model, WithoutGil());
}

}  // namespace

void bind_models(py::module_& module) {
  py::enum_<ipu::pipelining_ops::PipelineSchedule>(module, "PipelineSchedule")
      .value("Grouped", ipu::pipelining_ops::PipelineSchedule::Grouped)
      .value("Interleaved", ipu::pipelining_ops::PipelineSchedule::Interleaved)
      .value("Sequential", ipu::pipelining_ops::PipelineSchedule::Sequential);
  bind_history(module);
  py::class_<Model, Layer> model(module, "Model", "A network of layers that can be trained.");
  model
      .def(py::init([](const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const std::string& name) {
             return Model(inputs, outputs, {.name = name});
           }),
           py::arg("inputs"), py::arg("outputs"), py::arg("name") = "")
      .def("compile", &compile)
      .def("fit", &fit)
      .def("evaluate", &evaluate)
      .def("predict", &predict)
      .def("train_on_batch", &train_on_batch)
      .def("test_on_batch", &test_on_batch)
      .def("reset_metrics", &Model::reset_metrics)
      .def("stop_training", &Model::stop_training)
      .def("summary_text", [](const Model& self) { return self.summary_text(); })
      .def("inputs", &Model::inputs)
      .def("outputs", &Model::outputs)
      .def("output_names", &Model::output_names)
      .def("metrics_names", &Model::metrics_names)
      .def("layers", &Model::layers)
      .def("output_shapes", &Model::output_shapes)
      .def(
          "explain",
          [](const Model& self, std::int64_t samples, std::int64_t batch_size) {
            return self.explain({.samples = samples, .batch_size = batch_size});
          },
          WithoutGil());
  bind_stages(model);
  bind_files(module, model);
  py::class_<Sequential, Model>(module, "Sequential", "A stack of layers.")
      .def(py::init([](const std::vector<Layer>& layers, const std::string& name) {
             return Sequential(layers, {.name = name});
           }),
           py::arg("layers"), py::arg("name") = "")
      .def(
          "add", [](Sequential& self, const Layer& layer) { self.add(layer); }, WithoutGil());
  // The layer that stands for what input() returned.
  module.def("input_layer", [](const Tensor& input) { return Sequential::Item(input).layer; });
}

}  // namespace pando::python
