// SPDX-License-Identifier: Apache-2.0
// Model and Sequential: compile, fit, evaluate, predict, summary.
#pragma once
#include <pando/data/dataset.h>
#include <pando/frontends/ipu/pipelining.h>
#include <pando/frontends/keras/callbacks.h>
#include <pando/frontends/keras/checkpoint.h>
#include <pando/frontends/keras/layers.h>
#include <pando/frontends/keras/metrics.h>
#include <pando/frontends/keras/optimizers.h>

#include <cstdio>

namespace pando::keras {

// The same metrics for all outputs, or different ones by the name of the output.
class MetricList {
 public:
  MetricList() = default;
  MetricList(std::initializer_list<Metric> list) : list_(list) {}
  MetricList(const std::vector<Metric>& list) : list_(list) {}
  MetricList(const std::map<std::string, std::vector<Metric>>& by_name) : by_name_(by_name) {}

  const std::vector<Metric>& list() const { return list_; }
  const std::map<std::string, std::vector<Metric>>& by_name() const { return by_name_; }

 private:
  std::vector<Metric> list_ = {};
  std::map<std::string, std::vector<Metric>> by_name_ = {};
};

struct CompileOptions {
  Optimizer optimizer = "rmsprop";
  Losses loss = {};
  MetricList metrics = {};
  // One weight for each output. If empty, all are 1.
  std::vector<double> loss_weights = {};
  // The number of batches that the device runs before the host takes over again.
  std::int64_t steps_per_execution = 1;
  // "float32", "mixed_bfloat16" or "tf32". The latter two let matrix products and convolutions round their factors to
  // bfloat16, or to the tf32 of a GPU, where the device is then faster.
  std::string precision = "float32";
  // How the gradients of replicas and of accumulated micro-batches are combined.
  ipu::GradientReduction reduction = ipu::GradientReduction::Sum;
};

// The samples for validation: arrays, or a Dataset of (x, y) or (x, y, sample_weight) batches.
struct ValidationData {
  ValidationData() = default;
  ValidationData(const Arrays& inputs, const Arrays& targets) : x(inputs), y(targets), given(true) {}
  ValidationData(const Arrays& inputs, const Arrays& targets, const Array& weights)
      : x(inputs), y(targets), sample_weight(weights), given(true) {}
  ValidationData(const data::Dataset& batches) : dataset(batches), given(true) {}

  Arrays x = {}, y = {};
  std::optional<Array> sample_weight = {};
  std::optional<data::Dataset> dataset = {};
  bool given = false;
};

// verbose: 0 is silent, 1 shows a progress bar (or one line per epoch if the output is not a terminal), 2 shows one
// line per epoch. `output` is where it is shown: the standard output or the standard error stream.
struct FitOptions {
  // The batch size for arrays; a Dataset makes its own batches.
  std::int64_t batch_size = 32;
  std::int64_t epochs = 1;
  // With 0, an epoch lasts until the data ends. Otherwise the next epoch continues a Dataset where the last one
  // stopped.
  std::int64_t steps_per_epoch = 0;
  // Shuffles arrays, in a new order each epoch. validation_split is taken from the end before shuffling.
  bool shuffle = true;
  int verbose = 1;
  std::FILE* output = stdout;
  // One number per sample, which its loss is multiplied by. Metrics are not weighted.
  std::optional<Array> sample_weight = {};
  // The weights of classes; a class that is not listed has the weight 1.
  std::map<std::int64_t, double> class_weight = {};
  // The part of the arrays, from their end, that is used for validation instead of training.
  double validation_split = 0.0;
  ValidationData validation_data = {};
  // The number of validation batches. With 0, validation lasts until the data ends.
  std::int64_t validation_steps = 0;
  // The number of epochs that were trained before; `epochs` includes them.
  std::int64_t initial_epoch = 0;
  Callbacks callbacks = {};
  // Where the timeline of the run is written: a page (.html) or a Chrome trace (.json).
  std::string profile = {};
  CheckpointOptions checkpoint = {};
  // Whether the History keeps that timeline, for a report.
  bool record_timeline = false;
};

struct EvaluateOptions {
  std::int64_t batch_size = 32;
  // The number of batches. With 0, until the data ends.
  std::int64_t steps = 0;
  int verbose = 1;
  std::FILE* output = stdout;
  std::optional<Array> sample_weight = {};
};

struct BatchOptions {
  std::optional<Array> sample_weight = {};
  std::map<std::int64_t, double> class_weight = {};
  // Otherwise the means go on from those of the last call for a batch.
  bool reset_metrics = true;
};

struct PredictOptions {
  std::int64_t batch_size = 32;
  std::int64_t steps = 0;
  int verbose = 0;
  std::FILE* output = stdout;
};

struct ModelOptions {
  std::string name = {};
};

// A network of layers from inputs to outputs. Copying is shallow: copies share the layers, the weights and what
// compile() was given. A model made in the scope of an IPUStrategy runs on the strategy's device; other models run on
// the host.
//
// Any number of threads may use models at once, the same one or different ones, on one device or several; a model may
// also be called in the data pipeline of another. evaluate(), predict() and the weights can be used at any time and see
// the weights as they are between two training steps. Calls that train one model or change how it is trained (fit,
// train_on_batch, compile, add and set_...) take turns: the second waits until the first has returned. Such a call
// throws Error inside the data pipeline of the model's own fit(), because the two would wait for each other.
class PANDO_API Model : public Layer {
 public:
  // Takes all layers between the inputs and the outputs. Throws Error if an output depends on another input.
  Model(const Tensor& input, const Tensor& output, const ModelOptions& options = {});
  Model(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const ModelOptions& options = {});

  // May be called again at any time: the weights stay; the optimizer starts afresh unless it is the same object. Reads
  // which layers are trainable: a later set_trainable() takes effect at the next compile().
  void compile(const CompileOptions& options);

  // All throw Error before the first step if data, model and options do not match.
  History fit(const Arrays& x, const Arrays& y, const FitOptions& options = {});
  History fit(const data::Dataset& dataset, const FitOptions& options = {});
  Logs evaluate(const Arrays& x, const Arrays& y, const EvaluateOptions& options = {});
  Logs evaluate(const data::Dataset& dataset, const EvaluateOptions& options = {});
  // For a model with one output; predict_outputs() is for several.
  Array predict(const Arrays& x, const PredictOptions& options = {});
  Array predict(const data::Dataset& dataset, const PredictOptions& options = {});
  std::vector<Array> predict_outputs(const Arrays& x, const PredictOptions& options = {});
  std::vector<Array> predict_outputs(const data::Dataset& dataset, const PredictOptions& options = {});
  // Makes one update from all samples at once.
  Logs train_on_batch(const Arrays& x, const Arrays& y, const BatchOptions& options = {});
  // Evaluates all samples at once.
  Logs test_on_batch(const Arrays& x, const Arrays& y, const BatchOptions& options = {});
  // The next call for a batch begins the means afresh.
  void reset_metrics();

  // Pipelines: the stage of each layer call, for models built without PipelineStage scopes. Takes one number for each
  // entry of get_pipeline_stage_assignment(); for a Sequential model, that is one per layer.
  void set_pipeline_stage_assignment(const std::vector<int>& stages);
  struct PipelineStageAssignment {
    std::string layer;
    int stage = 0;
  };
  std::vector<PipelineStageAssignment> get_pipeline_stage_assignment() const;
  std::string pipeline_stage_assignment_summary_text(std::FILE* shown_on = nullptr) const;
  void print_pipeline_stage_assignment_summary() const;
  void set_pipelining_options(const ipu::keras::PipeliningOptions& options);
  // Accumulates gradients without a pipeline.
  void set_gradient_accumulation_options(const ipu::keras::GradientAccumulationOptions& options);

  // Divides the layers into that many stages of about equal work. The work is that of the training step, compiled for
  // such batches.
  void split_into_stages(int stages, std::int64_t batch_size = 32);

  // Says what training would do, before it does it: IPUs, batches, updates, executions, memory, the schedule, hints
  // and, if the times of a step and of messages are known, the predicted time of an update with several workers.
  struct ExplainOptions {
    std::int64_t samples = 0;
    std::int64_t batch_size = 32;
    // The numbers of workers to predict; empty: 1, 2, 4, ... 64.
    std::vector<int> workers = {};
    // The time of a step on one IPU, in seconds; 0: as `pando bench` has measured it on this machine.
    double step_seconds = 0;
    // What a message costs: seconds, and bytes a second; 0: as `pando bench network` has measured it.
    double network_latency = 0, network_bandwidth = 0;
  };
  [[nodiscard]] std::string explain(const ExplainOptions& options) const;
  // The same in a form for programs.
  [[nodiscard]] std::string explain_json(const ExplainOptions& options) const;

  // Makes fit() end after the current execution. Callbacks and other threads may call it.
  void stop_training();

  // The text that summary() prints. If it is shown on a terminal, it has colours and the terminal's width at most. Null
  // gives plain text.
  std::string summary_text(std::FILE* shown_on = nullptr) const;
  // Prints to standard output.
  void summary() const;

  // Throws Error if the model is not built: it has no weights yet.
  std::vector<Array> get_weights() const;

  // The inputs and outputs that it was made of. Both throw Error if the model is not built.
  std::vector<Tensor> inputs() const;
  std::vector<Tensor> outputs() const;

  // By these names losses and metrics are given to each of several outputs: those of the layers that make them. Throws
  // Error if the model is not built.
  std::vector<std::string> output_names() const;
  // The names of what evaluate() gives, in order; none before the model is compiled and built.
  std::vector<std::string> metrics_names() const;

  std::vector<Layer> layers() const;
  // Throws Error with the nearest name.
  Layer get_layer(const std::string& name) const;
  // The shapes of what one of its layers gives, in the order of its calls; axis 0, the batch, is -1. Throws Error if
  // the model is not built.
  std::vector<Shape> output_shapes(const Layer& layer) const;
  // Throws Error if the model was not compiled.
  Optimizer optimizer() const;

  // All weights by name ("dense/kernel"), in a .safetensors file if the path ends so, otherwise in an .npz file. Both
  // throw Error if the model is not built; loading throws Error, and changes nothing, unless the file has all of them.
  void save_weights(const std::string& path) const;
  void load_weights(const std::string& path);

  // The layers and how they are connected, as Keras 2 writes them; saving.h reads it. Throws Error naming a layer or a
  // function that a file cannot hold: user code. Pipeline stages and what compile() was given are not part of it.
  std::string to_json() const;
  // Writes a folder with model.json, which is to_json(), and weights.safetensors; load_model() of saving.h reads it. An
  // existing folder is replaced whole or not at all, and refused if it holds anything else. Neither what compile() was
  // given nor the state of the optimizer is part of it. Throws Error if the model is not built, and for a name such as
  // "m.h5", which is that of another format.
  void save(const std::string& directory) const;

 protected:
  struct Training;
  Model(std::shared_ptr<LayerBody> body, const std::string& name);
  std::shared_ptr<Training> training_;

 private:
  friend class Job;
};

// A stack of layers; it is built when it first sees data, or at once if it begins with an Input or if the first layer
// knows its input's shape.
class PANDO_API Sequential : public Model {
 public:
  // A layer, or what Input() returns, which becomes an InputLayer. Throws Error for another tensor.
  struct PANDO_API Item {
    Item(const Layer& added) : layer(added) {}
    Item(const Tensor& input);
    Layer layer;
  };
  Sequential(std::initializer_list<Item> items = {}, const ModelOptions& options = {});
  explicit Sequential(const std::vector<Layer>& layers, const ModelOptions& options = {});
  // Adds a layer at the end, also to a compiled model.
  void add(const Item& item);
};

namespace utils {

// One-hot rows, float32 [n, num_classes], of class numbers [n] or [n, 1]. With 0, the largest class number decides.
PANDO_API Array to_categorical(const Array& y, std::int64_t num_classes = 0);

}  // namespace utils
}  // namespace pando::keras
