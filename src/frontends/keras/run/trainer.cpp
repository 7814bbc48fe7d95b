#include "frontends/keras/run/trainer.h"

#include <pando/base/array_functions.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/notice.h"
#include "frontends/keras/run/fit_run.h"
#include "frontends/keras/build/optimizer_state.h"
#include "model/execution.h"

namespace pando::keras {

namespace {

const Network* network_of(const Model& model) { return static_cast<ModelBody&>(model.body()).network(); }

}  // namespace

ProgressBar make_bar(std::int64_t steps, int verbose, std::FILE* output) {
  const ProgressStyle style = verbose == 0   ? ProgressStyle::silent
                              : verbose == 1 ? ProgressStyle::bar
                                             : ProgressStyle::lines;
  return ProgressBar(std::max<std::int64_t>(0, steps), {.stream = output, .style = style});
}

const Network& Trainer::network() const { return *network_of(model_); }

SampleUse Trainer::use(bool with_targets) const {
  const auto guard = lock();
  const Network* built = network_of(model_);
  const std::size_t inputs = built == nullptr ? 1 : built->inputs.size();
  const std::size_t outputs = built == nullptr ? 1 : built->outputs.size();
  return {who_, inputs, with_targets ? outputs : 0};
}

void Trainer::check(const Samples& samples, bool with_targets) {
  const auto guard = lock();
  if (with_targets && !training().options)
    throw Error(fmt::format("{}: the model '{}' is not compiled; call compile() first", who_, model_.name()));
  build_for(samples);
  if (training().options && training().goals.empty()) training().goals = make_goals(network(), compiled());
  training().division = make_division(who_, training().parallelism, *training().target, network());
  check_samples(use(with_targets), samples, network(), training().goals);
}

void Trainer::build_for(const Samples& samples) {
  if (model_.built()) return;
  Shape shape = {-1};
  for (std::int64_t size : samples.columns[0].shape) shape.append(size);
  model_.build({shape});
}

void Trainer::check_labels_of(const Arrays& y) {
  const auto guard = lock();
  check_labels(use(true), y, network(), training().goals);
}

StepRequest Trainer::request_for(Mode mode, const Samples& samples, bool weighted) const {
  const auto inputs = static_cast<std::ptrdiff_t>(network().inputs.size());
  const auto targets = mode == Mode::predict ? 0 : static_cast<std::ptrdiff_t>(network().outputs.size());
  const auto first = samples.columns.begin();
  return {mode, samples.batch_size, {first, first + inputs}, {first + inputs, first + inputs + targets}, weighted};
}

Step Trainer::build(const StepRequest& request, const ModelDivision& division) {
  const std::vector<OutputGoals>& goals = training().goals;
  if (request.mode != Mode::predict &&
      std::none_of(goals.begin(), goals.end(), [](const auto& goal) { return goal.loss.has_value(); }))
    throw Error(
        fmt::format("{}: the model '{}' was compiled without a loss; give one to compile()", who_, model_.name()));
  StepContext context{.model = model_,
                      .network = network(),
                      .goals = goals,
                      .optimizer = training().options ? &compiled().optimizer : nullptr,
                      .trainable = training().trainable,
                      .variables = training().variables,
                      .division = division,
                      .devices = devices_of(division, training().parallelism, *training().target),
                      .options = {.check_numerics = training().target->check_numerics}};
  if (training().options) context.options.precision = precision_named(compiled().precision);
  return build_step(request, context);
}

StepLease Trainer::step_for(Mode mode, const Samples& samples, bool weighted) {
  const auto guard = lock();
  const StepRequest request = request_for(mode, samples, weighted);
  for (const auto& kept : training().steps)
    if (!kept->in_use && kept->step.request == request) return lease(kept);
  using KeptStep = Model::Training::KeptStep;
  std::shared_ptr<KeptStep> kept(new KeptStep{build(request, training().division)});
  return lease(training().steps.emplace_back(std::move(kept)));
}

StepLease Trainer::lease(const std::shared_ptr<Model::Training::KeptStep>& kept) const {
  kept->in_use = true;
  return {&kept->step, [kept, training = model_.training_](Step*) {
            const std::lock_guard guard(training->mutex);
            kept->in_use = false;
          }};
}

std::int64_t Trainer::steps_per_execution() const {
  const auto guard = lock();
  return training().options ? compiled().steps_per_execution : 1;
}

void Trainer::check_built_and_compiled() {
  if (!training().options)
    throw Error(fmt::format("{}: the model '{}' is not compiled; call compile() first", who_, model_.name()));
  check_built(who_, model_);
  // A model may have been built after it was compiled.
  if (training().goals.empty()) training().goals = make_goals(network(), compiled());
}

Samples Trainer::imagined_samples(std::int64_t batch_size) const {
  if (batch_size < 1) throw Error(fmt::format("{}: batch_size is {} but must be at least 1", who_, batch_size));
  Samples samples;
  for (const Tensor& input : network().inputs)
    samples.columns.push_back({input.dtype(), input.shape().part(1, input.shape().rank())});
  for (std::size_t i = 0; i < network().outputs.size(); ++i) {
    const Shape& shape = network().outputs[i].shape();
    const std::optional<Loss>& loss = training().goals[i].loss;
    const bool labels = loss && loss->takes_labels();
    samples.columns.push_back({labels ? DType::int32 : DType::float32, shape.part(1, shape.rank() - (labels ? 1 : 0))});
  }
  samples.batch_size = batch_size;
  return samples;
}

StepLease Trainer::imagined_step(std::int64_t batch_size) {
  const auto guard = lock();
  check_built_and_compiled();
  training().division = make_division(who_, training().parallelism, *training().target, network());
  check_accumulation(who_, training().parallelism, training().division);
  return step_for(Mode::train, imagined_samples(batch_size), false);
}

std::vector<KernelInfo> Trainer::imagined_whole_step_kernels(std::int64_t batch_size) {
  const auto guard = lock();
  check_built_and_compiled();
  ModelDivision whole;
  whole.stages.of_call.resize(network().calls.size(), 0);
  return build(request_for(Mode::train, imagined_samples(batch_size), false), whole).program.kernels();
}

StepRun Trainer::begin(Step& step, const Samples& samples, const std::map<std::int64_t, double>& class_weight,
                       std::int64_t done) {
  const auto guard = lock();
  const bool trains = step.request.mode == Mode::train;
  const SampleUse sample_use = use(step.request.mode != Mode::predict);
  // Only training depends on the counts of epochs and updates, and only the thread that trains may read them.
  const std::uint64_t key = training().key + (trains ? static_cast<std::uint64_t>(training().epochs_begun) : 0);
  const ModelDivision& division = training().division;
  const std::int64_t first_update = trains ? compiled().optimizer.iterations() : 0;
  StepFeeder feeder(step, network(), training().goals,
                    {.use = sample_use,
                     .source = samples.passes->begin(key),
                     .steps = samples.steps < 0 ? samples.steps : std::max<std::int64_t>(0, samples.steps - done),
                     .replicas = division.replicas,
                     .scale_by_samples = !division.divides_updates(),
                     .weighted = has_weights(sample_use, samples),
                     .class_weight = class_weight});
  return StepRun(step, division, std::move(feeder), first_update);
}

void Trainer::apply_learning_rate() {
  const auto& rate = compiled().optimizer.state().learning_rate;
  if (!rate.schedule()) training().variables.set(rate_variable, Array::scalar(static_cast<float>(rate.rate())));
}

void Trainer::tell_about_steps_per_execution(std::int64_t steps) const {
  static std::atomic<bool> told = false;
  if (training().target->is_host || compiled().steps_per_execution > 1 || steps == 1 || told.exchange(true)) return;
  tell(
      fmt::format("The model '{}' has been configured with only 1 step per execution. Consider increasing the value of "
                  "`steps_per_execution` passed to `compile()` to improve performance.\n",
                  model_.name()));
}

void Trainer::tell_about_trainable() {
  if (training().told_about_trainable || training().trainable.are_those_of(model_)) return;
  training().told_about_trainable = true;
  tell(
      fmt::format("Notice: set_trainable() was called after compile(), and the model '{}' trains as it was compiled; "
                  "call compile() "
                  "again to change that.\n",
                  model_.name()));
}

void Trainer::check_callbacks(const Step& step, bool validates, const Callbacks& callbacks) const {
  std::vector<std::string> names = step.names;
  if (validates)
    for (const std::string& name : step.names) names.push_back("val_" + name);
  for (const auto& callback : callbacks) {
    callback->check_logs(names);
    const std::optional<std::vector<std::string>> added = callback->added_logs();
    if (!added) return;
    names.insert(names.end(), added->begin(), added->end());
  }
}

History Trainer::fit(const Samples& samples, const Samples* validation, const FitOptions& options) {
  check_accumulation(who_, training().parallelism, training().division);
  check_class_weight(use(true), options.class_weight, network(), training().goals);
  const bool weighted = has_weights(use(true), samples) || !options.class_weight.empty();
  check_callbacks(*step_for(Mode::train, samples, weighted), validation != nullptr, options.callbacks);
  tell_about_trainable();
  return FitRun(*this, samples, validation, options).run();
}

std::optional<Logs> Trainer::test(const Samples& samples, const std::string& prefix, ProgressBar* bar,
                                  const std::function<bool()>& stopping) {
  const StepLease lease = step_for(Mode::test, samples, has_weights(use(true), samples));
  Step& step = *lease;
  StepRun run = begin(step, samples);
  RunningMeans means(step.names);
  bool stopped = false;
  const std::int64_t done = run_executions(
      samples.steps, steps_per_execution(), [&](std::int64_t batches) { return run.run(batches); },
      [&](std::int64_t first, std::int64_t count) {
        means.add(run);
        if (bar != nullptr) bar->update(first + count, means.logs().entries());
        stopped = stopping && stopping();
        return !stopped;
      });
  if (stopped) return std::nullopt;
  samples.passes->end(done);
  return means.logs(prefix);
}

Logs Trainer::evaluate(const Samples& samples, const EvaluateOptions& options) {
  ProgressBar bar = make_bar(samples.steps, options.verbose, options.output);
  const std::optional<Logs> logs = test(samples, "", &bar);
  bar.finish();
  return *logs;
}

std::vector<Array> Trainer::predict(const Samples& samples, const PredictOptions& options) {
  const StepLease lease = step_for(Mode::predict, samples, false);
  Step& step = *lease;
  StepRun run = begin(step, samples);
  ProgressBar bar = make_bar(samples.steps, options.verbose, options.output);
  std::vector<Arrays> pieces(step.names.size());
  const auto execute = [&](std::int64_t batches) { return run.run(batches); };
  run_executions(samples.steps, steps_per_execution(), execute, [&](std::int64_t first, std::int64_t count) {
    for (std::size_t i = 0; i < step.names.size(); ++i) {
      const Array rows = run.output(step.names[i]);
      for (std::int64_t j = 0; j < count; ++j) {
        const Array batch = rows.slice(j, j + 1).reshape(rows.shape().part(1, rows.shape().rank()));
        pieces[i].push_back(batch.slice(0, run.samples_of(first + j)));
      }
    }
    bar.update(first + count);
    return true;
  });
  bar.finish();
  std::vector<Array> outputs;
  for (const Arrays& list : pieces) outputs.push_back(concatenate(list));
  return outputs;
}

Logs Trainer::train_on_batch(const Samples& samples) {
  check_accumulation(who_, training().parallelism, training().division);
  tell_about_trainable();
  const StepLease lease = step_for(Mode::train, samples, has_weights(use(true), samples));
  Step& step = *lease;
  apply_learning_rate();
  StepRun run = begin(step, samples);
  run.run(1);
  compiled().optimizer.state().iterations += run.updates();
  RunningMeans means(step.names);
  means.add(run);
  return means.logs();
}

}  // namespace pando::keras
