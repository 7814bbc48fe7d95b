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

// The same metrics for all outputs, or by the name of the output.
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
  // One for each output; empty: 1.
  std::vector<double> loss_weights = {};
  // Batches that the device runs before the host looks again.
  std::int64_t steps_per_execution = 1;
  // "float32", or "mixed_bfloat16": products round their factors to bfloat16 where the processor is faster with them.
  std::string precision = "float32";
  // Of the gradients of replicas and of accumulated micro-batches.
  ipu::GradientReduction reduction = ipu::GradientReduction::Sum;
};

// Samples to validate with: arrays, or a Dataset of (x, y) or (x, y, sample_weight) batches.
struct ValidationData {
  ValidationData() = default;
  ValidationData(const Arrays& x, const Arrays& y) : x(x), y(y), given(true) {}
  ValidationData(const Arrays& x, const Arrays& y, const Array& sample_weight)
      : x(x), y(y), sample_weight(sample_weight), given(true) {}
  ValidationData(const data::Dataset& dataset) : dataset(dataset), given(true) {}

  Arrays x = {}, y = {};
  std::optional<Array> sample_weight = {};
  std::optional<data::Dataset> dataset = {};
  bool given = false;
};

// verbose: 0 is silent, 1 a progress bar (one line an epoch where the output is no terminal), 2 one line an epoch;
// `output` is where it is shown, the standard output or the standard error stream.
struct FitOptions {
  // Of arrays; a Dataset has its own.
  std::int64_t batch_size = 32;
  std::int64_t epochs = 1;
  // 0: until the data ends. A Dataset goes on in the next epoch where it was.
  std::int64_t steps_per_epoch = 0;
  // Of arrays, in another order each epoch; validation_split is taken from the end before.
  bool shuffle = true;
  int verbose = 1;
  std::FILE* output = stdout;
  // One number a sample; a sample of weight 0 is left out of everything.
  std::optional<Array> sample_weight = {};
  // For each class that is not weighed 1.
  std::map<std::int64_t, double> class_weight = {};
  double validation_split = 0.0;
  ValidationData validation_data = {};
  // Of the validation; 0: until the data ends.
  std::int64_t validation_steps = 0;
  std::int64_t initial_epoch = 0;
  Callbacks callbacks = {};
  // Where the timeline of the first executions is written: a page (.html) or a Chrome trace (.json).
  std::string profile = {};
  CheckpointOptions checkpoint = {};
  // Whether the history keeps that timeline, for a report.
  bool record_timeline = false;
};

struct EvaluateOptions {
  std::int64_t batch_size = 32;
  std::int64_t steps = 0;
  int verbose = 1;
  std::FILE* output = stdout;
  std::optional<Array> sample_weight = {};
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

// What is fed where everything else is read from the layers. Copies are the same model. A model made in the scope of an
// IPUStrategy runs on its device, others on the host.
//
// Any number of threads may use models at once, the same one or different ones, on one device or several; a model may
// also be called in the data pipeline of another. evaluate(), predict() and the weights are there for all at any time
// and see the weights as they are between two training steps. Calls of one model that train it or change how it is
// trained (fit, train_on_batch, compile, add and set_...) take turns: the second waits until the first has returned.
// Inside the data pipeline of the model's own fit() such a call throws Error, because the two would wait for each
// other.
class PANDO_API Model : public Layer {
 public:
  // All layers between the inputs and the outputs. Throws Error if an output depends on another input.
  Model(const Tensor& input, const Tensor& output, const ModelOptions& options = {});
  Model(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const ModelOptions& options = {});

  // May be called again at any time: the weights stay; the optimizer starts afresh unless it is the same object. Takes
  // notice of which layers are trainable now: set_trainable() afterwards acts from the next compile() on.
  void compile(const CompileOptions& options);

  // All throw Error before the first step if data, model and options do not fit.
  History fit(const Arrays& x, const Arrays& y, const FitOptions& options = {});
  History fit(const data::Dataset& dataset, const FitOptions& options = {});
  Logs evaluate(const Arrays& x, const Arrays& y, const EvaluateOptions& options = {});
  Logs evaluate(const data::Dataset& dataset, const EvaluateOptions& options = {});
  // The model's only output; predict_outputs() for several.
  Array predict(const Arrays& x, const PredictOptions& options = {});
  Array predict(const data::Dataset& dataset, const PredictOptions& options = {});
  std::vector<Array> predict_outputs(const Arrays& x, const PredictOptions& options = {});
  std::vector<Array> predict_outputs(const data::Dataset& dataset, const PredictOptions& options = {});
  // One update, on all samples at once.
  Logs train_on_batch(const Arrays& x, const Arrays& y, const std::optional<Array>& sample_weight = {});

  // Pipelines: which stage each call of a layer belongs to, where no PipelineStage scopes said; one number for each of
  // get_pipeline_stage_assignment(), for a Sequential model one for each layer.
  void set_pipeline_stage_assignment(const std::vector<int>& stages);
  struct PipelineStageAssignment {
    std::string layer;
    int stage = 0;
  };
  std::vector<PipelineStageAssignment> get_pipeline_stage_assignment() const;
  std::string pipeline_stage_assignment_summary_text() const;
  void print_pipeline_stage_assignment_summary() const;
  void set_pipelining_options(const ipu::keras::PipeliningOptions& options);
  // Without a pipeline.
  void set_gradient_accumulation_options(const ipu::keras::GradientAccumulationOptions& options);

  // Divides the layers into so many stages of about equal work, as the compiled training step for such batches has it.
  void split_into_stages(int stages, std::int64_t batch_size = 32);

  // What training would do, before it does it: IPUs, batches, updates, executions, memory, the schedule, and hints.
  struct ExplainOptions {
    std::int64_t samples = 0;
    std::int64_t batch_size = 32;
  };
  std::string explain(const ExplainOptions& options) const;
  // The same for programs.
  std::string explain_json(const ExplainOptions& options) const;

  // fit() ends after the execution that is running. May be called by callbacks and other threads.
  void stop_training();

  std::string summary_text() const;
  // To standard output.
  void summary() const;

  // Throws Error if the model is not built: it has no weights yet.
  std::vector<Array> get_weights() const;

  std::vector<Layer> layers() const;
  // Throws Error with the nearest name.
  Layer get_layer(const std::string& name) const;
  // Throws Error if the model was not compiled.
  Optimizer optimizer() const;

  // All weights by name ("dense/kernel"), in a .safetensors file, or else in an .npz file. Both throw Error if the
  // model is not built; loading throws Error, and changes nothing, unless all are there.
  void save_weights(const std::string& path) const;
  void load_weights(const std::string& path);

  // The layers and how they are connected, as Keras 2 writes them; saving.h reads it. Throws Error naming a layer or a
  // function that no file can hold: one's own code. Pipeline stages and what compile() was given are not part of it.
  std::string to_json() const;
  // A folder of model.json, which is to_json(), and weights.safetensors; load_model() of saving.h reads it. It is
  // replaced whole or not at all, and refused if it holds anything else. Neither what compile() was given nor the state
  // of the optimizer is part of it. Throws Error if the model is not built.
  void save(const std::string& directory) const;

 protected:
  struct Training;
  Model(std::shared_ptr<LayerBody> body, const std::string& name);
  std::shared_ptr<Training> training_;

 private:
  friend class Trainer;
};

// A stack of layers; it is built when it first sees data, or at once if it begins with an Input or if the first layer
// knows its input's shape.
class PANDO_API Sequential : public Model {
 public:
  // A layer, or what Input() returns, which becomes an InputLayer. Throws Error for another tensor.
  struct PANDO_API Item {
    Item(const Layer& layer) : layer(layer) {}
    Item(const Tensor& input);
    Layer layer;
  };
  Sequential(std::initializer_list<Item> items = {}, const ModelOptions& options = {});
  explicit Sequential(const std::vector<Layer>& layers, const ModelOptions& options = {});
  // To the end; a compiled model notices.
  void add(const Item& item);
};

namespace utils {

// Class numbers [n] (or [n, 1]) as rows of zeros with a 1, float32 [n, num_classes]. 0: as many as the largest needs.
PANDO_API Array to_categorical(const Array& y, std::int64_t num_classes = 0);

}  // namespace utils
}  // namespace pando::keras
