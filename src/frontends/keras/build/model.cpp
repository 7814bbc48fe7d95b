// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/keras/model.h>

#include <pando/base/array_functions.h>
#include <pando/base/random.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/notice.h"
#include "frontends/keras/run/explain_model.h"
#include "frontends/keras/build/names.h"
#include "frontends/keras/build/optimizer_state.h"
#include "frontends/keras/run/fit.h"
#include "report/terminal/table.h"

namespace pando::keras {

namespace {

ModelBody& body_of(const Model& model) { return static_cast<ModelBody&>(model.body()); }

std::string name_or(const std::string& name, const std::string& base) {
  return name.empty() ? unique_name(base) : name;
}

// The stack called on an input, layer after layer.
Network stack_network(const std::vector<Layer>& stack, const Shape& input) {
  if (stack.empty()) throw Error("it has no layers; add() some");
  const bool begins_with_input = stack.front().kind() == "InputLayer";
  const Layer& first = stack[begins_with_input && stack.size() > 1 ? 1 : 0];
  const DType dtype =
      begins_with_input ? *stack.front().body().input_dtype() : first.body().input_dtype().value_or(DType::float32);
  const Tensor start = TensorRecorder::input("sequential_input", "InputLayer", {dtype, input});
  Tensor x = start;
  for (std::size_t i = begins_with_input ? 1 : 0; i < stack.size(); ++i) x = stack[i](x);
  return make_network({start}, {x});
}

std::optional<Shape> first_input_shape(const std::vector<Layer>& stack) {
  if (stack.empty() || !stack.front().body().input_shape) return std::nullopt;
  return joined({-1}, *stack.front().body().input_shape);
}

void check_numbers(const FitOptions& options) {
  const auto not_negative = [](const char* name, std::int64_t value) {
    if (value < 0) throw Error(fmt::format("fit: {} is {} but must not be negative", name, value));
  };
  not_negative("epochs", options.epochs);
  not_negative("steps_per_epoch", options.steps_per_epoch);
  not_negative("validation_steps", options.validation_steps);
  not_negative("initial_epoch", options.initial_epoch);
  if (!(options.validation_split >= 0 && options.validation_split < 1))
    throw Error(fmt::format("fit: validation_split is {} but must be in [0, 1)", options.validation_split));
  if (!options.profile.empty() && !options.profile.ends_with(".html") && !options.profile.ends_with(".json"))
    throw Error(fmt::format("fit: profile is '{}' but must end in .html, for a page, or in .json, for a Chrome trace",
                            options.profile));
  if (options.verbose < 0 || options.verbose > 2)
    throw Error(fmt::format("fit: verbose is {} but must be 0, 1 or 2", options.verbose));
}

Arrays sliced(const Arrays& arrays, std::int64_t first, std::int64_t last) {
  Arrays parts;
  for (const Array& array : arrays) parts.push_back(array.slice(first, last));
  return parts;
}

// The first part of the samples for training, the rest for validation.
struct Split {
  Arrays x, y;
  std::optional<Array> sample_weight;
  ValidationData validation;
};
Split split_samples(const Arrays& x, const Arrays& y, const FitOptions& options) {
  Split split{x, y, options.sample_weight, options.validation_data};
  if (options.validation_split == 0 || options.validation_data.given || x.empty() || x[0].shape().rank() == 0)
    return split;
  const std::int64_t count = x[0].shape()[0];
  const auto first = static_cast<std::int64_t>(std::floor(static_cast<double>(count) * (1 - options.validation_split)));
  if (first == 0 || first == count)
    throw Error(fmt::format("fit: validation_split {} of {} samples leaves none for {}", options.validation_split,
                            count, first == 0 ? "training" : "validation"));
  for (const Array& array : y)
    if (array.shape().rank() == 0 || array.shape()[0] != count) return split;
  split.validation = ValidationData(sliced(x, first, count), sliced(y, first, count));
  if (options.sample_weight && options.sample_weight->elements() == count) {
    split.sample_weight = options.sample_weight->slice(0, first);
    split.validation.sample_weight = options.sample_weight->slice(first, count);
  }
  split.x = sliced(x, 0, first);
  split.y = sliced(y, 0, first);
  return split;
}

// Checked against the model before training begins; nothing if there is no validation.
std::unique_ptr<Job> validation_job(Model& model, const ValidationData& data, const FitOptions& options) {
  if (!data.given) return nullptr;
  auto job = std::make_unique<Job>(model, "fit: validation_data", Mode::test);
  if (data.dataset) job->take(*data.dataset, options.validation_steps);
  else
    job->take(
        data.x, data.y,
        {.sample_weight = data.sample_weight, .batch_size = options.batch_size, .steps = options.validation_steps});
  return job;
}

Logs run_on_batch(Job job, const Arrays& x, const Arrays& y, const BatchOptions& options) {
  const std::int64_t count = x.empty() || x[0].shape().rank() == 0 ? 1 : std::max<std::int64_t>(1, x[0].shape()[0]);
  job.take(x, y, {.sample_weight = options.sample_weight, .batch_size = count});
  job.set_class_weight(options.class_weight);
  return job.run_on_batch(!options.reset_metrics);
}

Array only(const Model& model, std::vector<Array> outputs) {
  if (outputs.size() != 1)
    throw Error(
        fmt::format("predict: the model '{}' has {} outputs; use predict_outputs()", model.name(), outputs.size()));
  return std::move(outputs.front());
}

}  // namespace

void check_built(const std::string& who, const Model& model) {
  if (!model.built())
    throw Error(
        fmt::format("{}: the model '{}' is not built and has no weights yet; begin it with an Input, give its first "
                    "layer an input_shape, or fit it first",
                    who, model.name()));
}

void ModelBody::build(LayerBuild&, const std::vector<Shape>& inputs) {
  if (!network_) network_ = stack_network(stack_, inputs[0]);
}

void ModelBody::add(const Layer& layer) {
  if (network_) network_ = make_network(network_->inputs, {layer(network_->outputs[0])});
  stack_.push_back(layer);
}

std::vector<Value> ModelBody::call(LayerCall& call, const std::vector<Value>& inputs) const {
  return trace_network(*network_, call.trace(), inputs);
}

int ModelBody::input_count() const { return network_ ? static_cast<int>(network_->inputs.size()) : 1; }
std::vector<Layer> ModelBody::layers() const { return is_sequential_ ? stack_ : network_->layers; }

Model::Model(std::shared_ptr<LayerBody> body, const std::string& name)
    : Layer(std::move(body), name), training_(std::make_shared<Training>()) {
  training_->key = next_random_key();
}

Model::Model(const Tensor& input, const Tensor& output, const ModelOptions& options)
    : Model(std::vector{input}, std::vector{output}, options) {}

Model::Model(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const ModelOptions& options)
    : Model(std::make_shared<ModelBody>(make_network(inputs, outputs)), name_or(options.name, "model")) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  build(shapes);
}

void Model::compile(const CompileOptions& options) {
  const CallLock::Call turn = training_->take_turn("compile", name());
  const std::lock_guard lock(training_->mutex);
  if (options.steps_per_execution < 1)
    throw Error(fmt::format("compile: steps_per_execution is {} but must be at least 1", options.steps_per_execution));
  precision_named(options.precision);
  std::shared_ptr<const std::vector<OutputGoals>> goals;
  if (built()) goals = std::make_shared<const std::vector<OutputGoals>>(make_goals(*body_of(*this).network(), options));
  // The optimizer's count of updates continues, so the state that it keeps for each weight must too.
  const bool same_optimizer =
      training_->options && &training_->options->optimizer.state() == &options.optimizer.state();
  if (!same_optimizer) training_->variables = Variables();
  training_->options = options;
  training_->parallelism.reduction = options.reduction;
  training_->goals = std::move(goals);
  training_->sums_of_batches = {};
  training_->trainable = TrainableLayers();
  training_->trainable.note(*this);
  training_->told_about_trainable = false;
  training_->steps.clear();
}

History Model::fit(const Arrays& x, const Arrays& y, const FitOptions& options) {
  const CallLock::Call turn = training_->take_turn("fit", name());
  check_numbers(options);
  const Split split = split_samples(x, y, options);
  Job job(*this, "fit", Mode::train);
  job.take(split.x, split.y,
           {.sample_weight = split.sample_weight,
            .batch_size = options.batch_size,
            .shuffle = options.shuffle,
            .steps = options.steps_per_epoch});
  const std::unique_ptr<Job> validation = validation_job(*this, split.validation, options);
  return together(training_->target->workers.get(), [&] { return Fit(job, validation.get(), options).run(); });
}

History Model::fit(const data::Dataset& dataset, const FitOptions& options) {
  const CallLock::Call turn = training_->take_turn("fit", name());
  check_numbers(options);
  if (options.sample_weight)
    throw Error("fit: sample_weight is for arrays; put weights into the data set as a third column");
  if (options.validation_split != 0) throw Error("fit: validation_split is for arrays; use validation_data");
  Job job(*this, "fit", Mode::train);
  job.take(dataset, options.steps_per_epoch);
  const std::unique_ptr<Job> validation = validation_job(*this, options.validation_data, options);
  return together(training_->target->workers.get(), [&] { return Fit(job, validation.get(), options).run(); });
}

Logs Model::evaluate(const Arrays& x, const Arrays& y, const EvaluateOptions& options) {
  Job job(*this, "evaluate", Mode::test);
  job.take(x, y, {.sample_weight = options.sample_weight, .batch_size = options.batch_size, .steps = options.steps});
  return job.evaluate(options);
}

Logs Model::evaluate(const data::Dataset& dataset, const EvaluateOptions& options) {
  Job job(*this, "evaluate", Mode::test);
  job.take(dataset, options.steps);
  return job.evaluate(options);
}

std::vector<Array> Model::predict_outputs(const Arrays& x, const PredictOptions& options) {
  Job job(*this, "predict", Mode::predict);
  job.take(x, {}, {.batch_size = options.batch_size, .steps = options.steps});
  return job.predict(options);
}

std::vector<Array> Model::predict_outputs(const data::Dataset& dataset, const PredictOptions& options) {
  Job job(*this, "predict", Mode::predict);
  job.take(dataset, options.steps);
  return job.predict(options);
}

Array Model::predict(const Arrays& x, const PredictOptions& options) {
  return only(*this, predict_outputs(x, options));
}
Array Model::predict(const data::Dataset& dataset, const PredictOptions& options) {
  return only(*this, predict_outputs(dataset, options));
}

Logs Model::train_on_batch(const Arrays& x, const Arrays& y, const BatchOptions& options) {
  const CallLock::Call turn = training_->take_turn("train_on_batch", name());
  return run_on_batch(Job(*this, "train_on_batch", Mode::train), x, y, options);
}

Logs Model::test_on_batch(const Arrays& x, const Arrays& y, const BatchOptions& options) {
  return run_on_batch(Job(*this, "test_on_batch", Mode::test), x, y, options);
}

void Model::reset_metrics() {
  const std::lock_guard lock(training_->mutex);
  training_->sums_of_batches = {};
}

void Model::set_pipeline_stage_assignment(const std::vector<int>& stages) {
  const CallLock::Call turn = training_->take_turn("set_pipeline_stage_assignment", name());
  const std::lock_guard lock(training_->mutex);
  const std::size_t wanted =
      built() ? body_of(*this).network()->calls.size() - body_of(*this).network()->inputs.size() : layers().size();
  if (stages.size() != wanted)
    throw Error(fmt::format("set_pipeline_stage_assignment: the model '{}' has {} layers but {} stages were given",
                            name(), wanted, stages.size()));
  training_->parallelism.stages = stages;
  training_->steps.clear();
}

std::vector<Model::PipelineStageAssignment> Model::get_pipeline_stage_assignment() const {
  const std::lock_guard lock(training_->mutex);
  std::vector<PipelineStageAssignment> list;
  const std::vector<int>& given = training_->parallelism.stages;
  if (!built()) {
    for (std::size_t i = 0; i < layers().size(); ++i)
      list.push_back({layers()[i].name(), given.empty() ? 0 : given[i]});
    return list;
  }
  const Network& network = *body_of(*this).network();
  const StageAssignment assignment = assign_stages(network, given);
  for (std::size_t i = 0; i < network.calls.size(); ++i)
    if (network.calls[i]->function) list.push_back({network.calls[i]->name, assignment.of_call[i]});
  return list;
}

std::string Model::pipeline_stage_assignment_summary_text(std::FILE* shown_on) const {
  std::vector<std::pair<std::string, int>> rows;
  for (const auto& [layer, stage] : get_pipeline_stage_assignment()) rows.emplace_back(layer, stage);
  return stage_table_text(name(), rows, table_output(shown_on));
}

void Model::print_pipeline_stage_assignment_summary() const {
  draw(stdout, pipeline_stage_assignment_summary_text(stdout));
}

void Model::set_pipelining_options(const ipu::keras::PipeliningOptions& options) {
  const CallLock::Call turn = training_->take_turn("set_pipelining_options", name());
  const std::lock_guard lock(training_->mutex);
  check_accumulation_count("set_pipelining_options", options.gradient_accumulation_steps_per_replica);
  training_->parallelism.pipelining = options;
  training_->steps.clear();
}

void Model::set_gradient_accumulation_options(const ipu::keras::GradientAccumulationOptions& options) {
  const CallLock::Call turn = training_->take_turn("set_gradient_accumulation_options", name());
  const std::lock_guard lock(training_->mutex);
  check_accumulation_count("set_gradient_accumulation_options", options.gradient_accumulation_steps_per_replica);
  training_->parallelism.accumulation = options;
  training_->steps.clear();
}

void Model::split_into_stages(int stages, std::int64_t batch_size) {
  set_pipeline_stage_assignment(balanced_stages(*this, stages, batch_size));
}

std::string Model::explain(const ExplainOptions& options) const {
  Model self = *this;
  return to_text(explain_model(self, options));
}

std::string Model::explain_json(const ExplainOptions& options) const {
  Model self = *this;
  return pando::to_json(explain_model(self, options));
}

void Model::stop_training() { training_->stop = true; }

std::string Model::summary_text(std::FILE* shown_on) const {
  check_built("summary", *this);
  return summary_of(name(), *body_of(*this).network(), body_of(*this).is_sequential(), table_output(shown_on));
}

void Model::summary() const { draw(stdout, summary_text(stdout)); }

std::vector<Array> Model::get_weights() const {
  check_built("get_weights", *this);
  return Layer::get_weights();
}

std::vector<Tensor> Model::inputs() const {
  check_built("inputs", *this);
  return body_of(*this).network()->inputs;
}
std::vector<Tensor> Model::outputs() const {
  check_built("outputs", *this);
  return body_of(*this).network()->outputs;
}

std::vector<std::string> Model::output_names() const {
  check_built("output_names", *this);
  return pando::keras::output_names(*body_of(*this).network());
}
std::vector<std::string> Model::metrics_names() const {
  const std::lock_guard lock(training_->mutex);
  if (training_->options && !training_->goals && built())
    return log_names(make_goals(*body_of(*this).network(), *training_->options));
  return training_->goals ? log_names(*training_->goals) : std::vector<std::string>();
}

std::vector<Layer> Model::layers() const { return body().layers(); }

Layer Model::get_layer(const std::string& name) const {
  std::vector<std::string> known;
  for (const Layer& layer : layers()) {
    if (layer.name() == name) return layer;
    known.push_back(layer.name());
  }
  throw Error(unknown_name("layer", name, known));
}

std::vector<Shape> Model::output_shapes(const Layer& layer) const {
  check_built("output_shapes", *this);
  return pando::keras::output_shapes(*body_of(*this).network(), layer);
}

Optimizer Model::optimizer() const {
  if (!training_->options) throw Error(fmt::format("the model '{}' is not compiled and has no optimizer", name()));
  return training_->options->optimizer;
}

namespace {

std::vector<Layer> layers_of(std::initializer_list<Sequential::Item> items) {
  std::vector<Layer> layers;
  for (const Sequential::Item& item : items) layers.push_back(item.layer);
  return layers;
}

Layer input_layer(const Tensor& input) {
  const Tensor::State& state = input.state();
  if (!is_recorded(input) || state.recording->function)
    throw Error(fmt::format("Sequential: {} is not an Input; give the layer that makes it",
                            is_recorded(input) ? fmt::format("an output of '{}'", state.recording->name)
                                               : "a tensor of a traced computation"));
  return layers::InputLayer(input.shape().part(1, input.shape().rank()),
                            {.dtype = input.dtype(), .name = state.recording->name});
}

}  // namespace

Sequential::Item::Item(const Tensor& input) : layer(input_layer(input)) {}

Sequential::Sequential(std::initializer_list<Item> items, const ModelOptions& options)
    : Sequential(layers_of(items), options) {}

Sequential::Sequential(const std::vector<Layer>& layers, const ModelOptions& options)
    : Model(std::make_shared<ModelBody>(layers), name_or(options.name, "sequential")) {
  if (const std::optional<Shape> shape = first_input_shape(layers)) build({*shape});
}

void Sequential::add(const Item& item) {
  const CallLock::Call turn = training_->take_turn("add", name());
  const std::lock_guard lock(training_->mutex);
  body_of(*this).add(item.layer);
  if (training_->options) training_->trainable.note(item.layer);
  training_->goals.reset();
  training_->steps.clear();
  const std::optional<Shape> shape = first_input_shape(layers());
  if (!shape || built()) return;
  try {
    build({*shape});
  } catch (...) {
    body_of(*this).remove_last();
    throw;
  }
}

namespace utils {

Array to_categorical(const Array& y, std::int64_t num_classes) {
  const Array labels = y.astype(DType::int64).reshape({-1});
  const std::int64_t* label = labels.data<std::int64_t>();
  std::int64_t largest = -1;
  for (std::int64_t i = 0; i < labels.elements(); ++i) largest = std::max(largest, label[i]);
  if (num_classes == 0) num_classes = largest + 1;
  Array rows(DType::float32, {labels.elements(), num_classes});
  for (std::int64_t i = 0; i < labels.elements(); ++i) {
    if (label[i] < 0 || label[i] >= num_classes)
      throw Error(fmt::format("to_categorical: label {} is {} but there are {} classes, so labels must be 0 to {}", i,
                              label[i], num_classes, num_classes - 1));
    rows.mutable_data<float>()[i * num_classes + label[i]] = 1.0f;
  }
  return rows;
}

}  // namespace utils
}  // namespace pando::keras
