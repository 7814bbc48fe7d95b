// SPDX-License-Identifier: Apache-2.0
// Job: one call of fit, evaluate, predict or train_on_batch, with its samples and the step that it runs on them.
#pragma once
#include <pando/comm/workers.h>
#include <pando/program/profile.h>
#include <pando/report/progress.h>

#include "frontends/keras/run/running_means.h"
#include "frontends/keras/run/samples.h"
#include "frontends/keras/run/training.h"

namespace pando::keras {

// `verbose` is as in FitOptions; `steps` is negative if their number is not known. An earlier run did `done` of them.
ProgressBar make_bar(std::int64_t steps, int verbose, std::FILE* output, std::int64_t done = 0);
// The logs in the order in which a bar shows them: Keras 3 sorts them by name.
Metrics shown_metrics(const Logs& logs);

class Job {
 public:
  // `who` begins messages: "fit".
  Job(Model& model, const std::string& who, Mode mode);

  struct ArrayOptions {
    std::optional<Array> sample_weight = {};
    std::int64_t batch_size = 32;
    bool shuffle = false;
    // A pass has at most this many batches; 0 means all.
    std::int64_t steps = 0;
  };
  // Builds the model for these samples if it is not built, and checks that it can take them.
  void take(const Arrays& x, const Arrays& y, const ArrayOptions& options);
  void take(const data::Dataset& dataset, std::int64_t steps);
  // Hypothetical samples of a compiled model, for explain().
  void imagine(std::int64_t batch_size);
  void set_class_weight(const std::map<std::int64_t, double>& class_weight);

  Logs evaluate(const EvaluateOptions& options);
  std::vector<Array> predict(const PredictOptions& options);
  // The means over the samples that are one batch, and with `goes_on` over those of the calls before.
  Logs run_on_batch(bool goes_on);
  // The means over all samples. Returns nothing if `stopping` ended it early.
  std::optional<Logs> test(ProgressBar* bar, const Function<bool()>& stopping = {});

  Model& model() const { return model_; }
  const std::string& who() const { return use_.who; }
  const Samples& samples() const { return samples_; }
  const Network& network() const;
  Model::Training& training() const { return *model_.training_; }
  const CompileOptions& compiled() const { return *training().options; }
  // Sets the program's learning rate until the next call.
  void apply_learning_rate() const;
  // The loss and metrics of each output, and how the step is divided over IPUs: as they were when the job took its
  // samples and, once step() was called, as the step was made.
  const std::vector<OutputGoals>& goals() const { return *goals_; }
  const ModelDivision& division() const { return division_; }
  // Finds the division. Throws Error if there are too few IPUs.
  void divide();
  // Throws Error if a batch is short and can neither be filled up nor run by itself. Batches of a data set are checked
  // when they come.
  void check_full_batches();
  // For training, the number of micro-batches of an update must be known.
  void check_accumulation() const;
  // Tells the user if set_trainable() was called since the model was compiled.
  void tell_about_trainable() const;

  // No other call uses the step until this job ends.
  ModelStep& step();
  // Makes another step: the model has changed.
  void renew_step();
  // The work of each call of a layer in the step, in the order of the network.
  std::vector<double> work_of_layers();
  // Begins a pass over the samples, of which `done` batches are done already.
  void begin(std::int64_t done = 0);
  // After an execution of `count` batches, of which the first is number `first` since begin(). Ends the pass by
  // returning false.
  using AfterExecution = Function<bool(const RunLoop& loop, std::int64_t first, std::int64_t count)>;
  // Runs the pass, and returns the number of batches that were run. A batch that may not be filled up, because the
  // step mixes its samples, runs as a program of its size.
  std::int64_t run(const AfterExecution& after);
  // Attaches the profiler to all steps of the job.
  void watch(Profiler& profiler);

 private:
  std::unique_lock<std::recursive_mutex> lock() const { return std::unique_lock(training().mutex); }
  bool has_targets() const { return mode_ != Mode::predict; }
  bool is_weighted() const { return has_weights(use_, samples_) || !class_weight_.empty(); }
  std::int64_t steps_per_execution() const;
  // Before a Sequential model is built it has one input and one output.
  void find_use();
  void check_compiled() const;
  void find_goals();
  void check();
  bool runs_short_batches() const { return division_.runs_short_batches(mode_ == Mode::train); }
  StepRequest request(std::int64_t batch_size) const;
  StepContext context(const ModelDivision& division) const;
  ModelStep build(const StepRequest& request) const;
  // The step for batches of that many samples, which stays this job's.
  ModelStep& step_of(std::int64_t batch_size);
  std::shared_ptr<ModelStep> take_step(const StepRequest& request);

  Model& model_;
  Mode mode_;
  SampleUse use_;
  Samples samples_;
  std::map<std::int64_t, double> class_weight_;
  std::shared_ptr<const std::vector<OutputGoals>> goals_ = std::make_shared<const std::vector<OutputGoals>>();
  ModelDivision division_;
  // By their batch size.
  std::map<std::int64_t, std::shared_ptr<ModelStep>> steps_;
  // The pass that was begun, and how many batches of it are left; negative if that is not known.
  std::shared_ptr<BatchSource> source_;
  std::int64_t left_ = -1;
  Profiler* profiler_ = nullptr;
};

}  // namespace pando::keras
