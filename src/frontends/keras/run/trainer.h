// Trainer: runs the programs of a model over samples.
#pragma once
#include <pando/report/progress.h>

#include "frontends/keras/run/running_means.h"
#include "frontends/keras/run/step_run.h"
#include "frontends/keras/run/training.h"

namespace pando::keras {

// `verbose` is as in FitOptions; negative steps are not known.
ProgressBar make_bar(std::int64_t steps, int verbose, std::FILE* output);

// A step that one call uses; no other call uses it until all copies of this are gone.
using StepLease = std::shared_ptr<Step>;

class Trainer {
 public:
  // `who` begins messages: "fit".
  Trainer(Model& model, const std::string& who) : model_(model), who_(who) {}

  // What samples must have; before a Sequential model is built it has one input and one output.
  SampleUse use(bool with_targets) const;
  // Builds the model for these samples if it is not built, and checks that it can take them.
  void check(const Samples& samples, bool with_targets);
  void check_labels_of(const Arrays& y);

  // The training step for hypothetical samples, for explain(), and what its kernels would cost if it were not divided.
  StepLease imagined_step(std::int64_t batch_size);
  std::vector<KernelInfo> imagined_whole_step_kernels(std::int64_t batch_size);
  const Network& network() const;
  Model::Training& training() const { return *model_.training_; }

  // `validation` may be null.
  History fit(const Samples& samples, const Samples* validation, const FitOptions& options);
  Logs evaluate(const Samples& samples, const EvaluateOptions& options);
  std::vector<Array> predict(const Samples& samples, const PredictOptions& options);
  Logs train_on_batch(const Samples& samples);

 private:
  friend class FitRun;

  std::unique_lock<std::recursive_mutex> lock() const { return std::unique_lock(training().mutex); }
  std::int64_t steps_per_execution() const;
  const CompileOptions& compiled() const { return *training().options; }
  void check_built_and_compiled();
  Samples imagined_samples(std::int64_t batch_size) const;
  StepRequest request_for(Mode mode, const Samples& samples, bool weighted) const;
  Step build(const StepRequest& request, const ModelDivision& division);
  StepLease step_for(Mode mode, const Samples& samples, bool weighted);
  StepLease lease(const std::shared_ptr<Model::Training::KeptStep>& kept) const;
  // Builds the model for samples of this type if it is not built.
  void build_for(const Samples& samples);
  // `done` batches of the epoch are done already.
  StepRun begin(Step& step, const Samples& samples, const std::map<std::int64_t, double>& class_weight = {},
                std::int64_t done = 0);
  void apply_learning_rate();
  // Returns nothing if it was stopped before its end.
  std::optional<Logs> test(const Samples& samples, const std::string& prefix, ProgressBar* bar,
                           const std::function<bool()>& stopping = {});
  // Shown once per process.
  void tell_about_steps_per_execution(std::int64_t steps) const;
  void tell_about_trainable();
  // Throws Error if a callback needs a log that no epoch will have.
  void check_callbacks(const Step& step, bool validates, const Callbacks& callbacks) const;

  Model& model_;
  std::string who_;
};

}  // namespace pando::keras
