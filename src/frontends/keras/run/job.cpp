// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/run/job.h"

#include <pando/base/array_functions.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/notice.h"
#include "frontends/keras/build/optimizer_state.h"
#include "frontends/keras/run/full_batches.h"
#include "frontends/keras/run/held_types.h"
#include "model/balance_stages.h"

namespace pando::keras {

namespace {

const Network* network_of(const Model& model) { return static_cast<ModelBody&>(model.body()).network(); }

}  // namespace

ProgressBar make_bar(std::int64_t steps, int verbose, std::FILE* output, std::int64_t done) {
  const ProgressStyle style = verbose == 0 || !is_first_worker() ? ProgressStyle::silent
                              : verbose == 1                     ? ProgressStyle::bar
                                                                 : ProgressStyle::lines;
  return ProgressBar(std::max<std::int64_t>(0, steps), {.stream = output, .style = style, .initial = done});
}

Metrics shown_metrics(const Logs& logs) {
  Metrics metrics = logs.entries();
  if (look() == Look::keras_3) std::sort(metrics.begin(), metrics.end());
  return metrics;
}

Job::Job(Model& model, const std::string& who, Mode mode) : model_(model), mode_(mode), use_{.who = who} { find_use(); }

const Network& Job::network() const { return *network_of(model_); }

void Job::find_use() {
  const auto guard = lock();
  const Network* built = network_of(model_);
  use_.inputs = built == nullptr ? 1 : built->inputs.size();
  use_.targets = !has_targets() ? 0 : built == nullptr ? 1 : built->outputs.size();
}

void Job::take(const Arrays& x, const Arrays& y, const ArrayOptions& options) {
  samples_ = samples_of(use_, x, y, options.sample_weight, options.batch_size, options.shuffle);
  check();
  const HeldTypes held(use_, samples_.columns, network(), goals());
  for (std::size_t i = 0; i < x.size(); ++i) held.check(i, x[i].raw(), x[i].shape()[0]);
  for (std::size_t i = 0; i < y.size(); ++i) held.check(x.size() + i, y[i].raw(), y[i].shape()[0]);
  if (has_targets()) check_labels(use_, y, network(), goals());
  if (options.steps > 0) samples_.steps = std::min(samples_.steps, options.steps);
}

void Job::take(const data::Dataset& dataset, std::int64_t steps) {
  samples_ = samples_of(use_, dataset, steps);
  check();
}

void Job::check_compiled() const {
  if (!training().options)
    throw Error(fmt::format("{}: the model '{}' is not compiled; call compile() first", who(), model_.name()));
}

void Job::find_goals() {
  // A model may have been built after it was compiled.
  if (training().options && !training().goals)
    training().goals = std::make_shared<const std::vector<OutputGoals>>(make_goals(network(), compiled()));
  if (training().goals) goals_ = training().goals;
}

void Job::divide() {
  const auto guard = lock();
  division_ = make_division(who(), training().parallelism, *training().target, network());
}

void Job::check() {
  const auto guard = lock();
  if (has_targets()) check_compiled();
  if (!model_.built()) {
    model_.build({joined({-1}, samples_.columns[0].shape)});
    find_use();
  }
  find_goals();
  divide();
  check_samples(use_, samples_, network(), goals());
}

void Job::imagine(std::int64_t batch_size) {
  const auto guard = lock();
  check_compiled();
  check_built(who(), model_);
  find_goals();
  if (batch_size < 1) throw Error(fmt::format("{}: batch_size is {} but must be at least 1", who(), batch_size));
  for (const Tensor& input : network().inputs)
    samples_.columns.push_back({input.dtype(), input.shape().part(1, input.shape().rank())});
  for (std::size_t i = 0; i < network().outputs.size(); ++i) {
    const Shape& shape = network().outputs[i].shape();
    const std::optional<Loss>& loss = goals()[i].loss;
    const bool labels = loss && loss->takes_labels();
    samples_.columns.push_back(
        {labels ? DType::int32 : DType::float32, shape.part(1, shape.rank() - (labels ? 1 : 0))});
  }
  samples_.batch_size = batch_size;
}

void Job::set_class_weight(const std::map<std::int64_t, double>& class_weight) {
  check_class_weight(use_, class_weight, network(), goals());
  class_weight_ = class_weight;
}

void Job::check_accumulation() const { keras::check_accumulation(who(), training().parallelism, division_); }

void Job::tell_about_trainable() const {
  if (training().told_about_trainable || training().trainable.are_those_of(model_)) return;
  training().told_about_trainable = true;
  notify(
      "keras",
      fmt::format("Notice: set_trainable() was called after compile(), and the model '{}' trains as it was compiled; "
                  "call compile() again to change that.",
                  model_.name()));
}

StepRequest Job::request(std::int64_t batch_size) const {
  const auto first = samples_.columns.begin();
  const auto inputs = first + static_cast<std::ptrdiff_t>(use_.inputs);
  return {
      mode_, batch_size, {first, inputs}, {inputs, inputs + static_cast<std::ptrdiff_t>(use_.targets)}, is_weighted()};
}

StepContext Job::context(const ModelDivision& division) const {
  if (has_targets() &&
      std::none_of(goals().begin(), goals().end(), [](const auto& goal) { return goal.loss.has_value(); }))
    throw Error(
        fmt::format("{}: the model '{}' was compiled without a loss; give one to compile()", who(), model_.name()));
  StepContext context{.model = model_,
                      .network = network(),
                      .goals = goals(),
                      .optimizer = training().options ? &compiled().optimizer : nullptr,
                      .trainable = training().trainable,
                      .variables = training().variables,
                      .division = division,
                      .devices = {},
                      .options = {.check_numerics = training().target->check_numerics}};
  // Steps that are only looked at are those of this process.
  if (division.replicas > 1) context.options.workers = training().target->workers;
  if (training().options) context.options.precision = precision_named(compiled().precision);
  return context;
}

ModelStep Job::build(const StepRequest& request) const {
  StepContext context = this->context(division_);
  context.devices = devices_of(division_, training().parallelism, *training().target);
  return build_step(request, context);
}

std::shared_ptr<ModelStep> Job::take_step(const StepRequest& request) {
  auto& steps = training().steps;
  const auto found = std::find_if(steps.begin(), steps.end(),
                                  [&](const auto& kept) { return !kept->in_use && kept->request == request; });
  const auto kept = found != steps.end() ? *found : steps.emplace_back(std::make_shared<ModelStep>(build(request)));
  kept->in_use = true;
  return {kept.get(), [kept, training = model_.training_](ModelStep*) {
            const std::lock_guard guard(training->mutex);
            kept->in_use = false;
          }};
}

ModelStep& Job::step() {
  const auto guard = lock();
  if (!steps_.empty()) return step_of(samples_.batch_size);
  // Another thread may have compiled the model again; the steps that it keeps are of its last options.
  find_goals();
  divide();
  ModelStep& step = step_of(samples_.batch_size);
  // Before the first batch changes the model; those of a data set are checked when they are fed.
  if (samples_.count >= 0) step.check_indices(samples_.batches->sources());
  return step;
}

ModelStep& Job::step_of(std::int64_t batch_size) {
  const auto guard = lock();
  if (const auto known = steps_.find(batch_size); known != steps_.end()) return *known->second;
  ModelStep& step = *(steps_[batch_size] = take_step(request(batch_size)));
  if (profiler_ != nullptr) profiler_->attach(step.program);
  return step;
}

void Job::watch(Profiler& profiler) {
  profiler_ = &profiler;
  for (const auto& [batch_size, step] : steps_) profiler.attach(step->program);
}

void Job::renew_step() {
  training().steps.clear();
  steps_.clear();
}

std::vector<double> Job::work_of_layers() {
  const auto guard = lock();
  ModelDivision division;
  int layers = 0;
  // Inputs are not layers.
  for (const auto& call : network().calls) division.stages.of_call.push_back(call->function ? layers++ : 0);
  division.stages.stages = layers;
  StepContext context = this->context(division);
  std::vector<double> work = work_of_stages(trace_step(request(samples_.batch_size), context));
  // The last layers may do nothing.
  work.resize(static_cast<std::size_t>(layers));
  return work;
}

std::int64_t Job::steps_per_execution() const {
  const auto guard = lock();
  return training().options ? compiled().steps_per_execution : 1;
}

void Job::begin(std::int64_t done) {
  step();
  check_full_batches();
  const auto guard = lock();
  // Only training depends on the counts of epochs and updates, and only the thread that trains may read them.
  const bool trains = mode_ == Mode::train;
  const std::uint64_t key = training().key + (trains ? static_cast<std::uint64_t>(training().epochs_begun) : 0);
  left_ = samples_.steps < 0 ? -1 : std::max<std::int64_t>(0, samples_.steps - done);
  samples_.batches->begin(key);
  source_ = checked_batches(use_, samples_, network(), goals(), class_weight_);
}

void Job::check_full_batches() {
  const std::int64_t size = samples_.batch_size, last = samples_.count % size;
  const bool is_short = samples_.count >= 0 && last > 0 && samples_.steps * size > samples_.count;
  if (is_short && !runs_short_batches() && !step().mixture.empty())
    refuse_short_batch(who(), last, size, step().mixture);
}

std::int64_t Job::run(const AfterExecution& after) {
  const bool trains = mode_ == Mode::train;
  std::int64_t done = 0;
  bool goes_on = true;
  const auto run_on = [&](ModelStep& step, const std::shared_ptr<BatchSource>& source) {
    const std::int64_t before = done, left = left_ < 0 ? -1 : left_ - done;
    RunLoop loop(step, source, trains ? compiled().optimizer.iterations() : 0,
                 {.most_batches = left, .scale_by_samples = !division_.divides_updates()});
    done += loop.run_all(
        left, steps_per_execution(),
        [&](std::int64_t first, std::int64_t count) { return goes_on = after(loop, before + first, count); },
        [&] {
          // A callback may have changed it.
          if (trains) apply_learning_rate();
        });
  };
  const std::string& mixture = step().mixture;
  if (mixture.empty() || !runs_short_batches()) {
    run_on(step(), mixture.empty() ? source_ : full_batches(source_, who(), mixture));
    return done;
  }
  while (goes_on && (left_ < 0 || done < left_)) {
    const std::int64_t size = source_->upcoming(samples_.batch_size);
    if (size == 0) break;
    run_on(step_of(size), batches_of_size(source_, size));
  }
  return done;
}

void Job::apply_learning_rate() const {
  const Optimizer& optimizer = compiled().optimizer;
  if (optimizer.state().learning_rate.schedule()) return;
  training().variables.set(rate_variable, Array::scalar(static_cast<float>(optimizer.learning_rate())));
}

std::optional<Logs> Job::test(ProgressBar* bar, const Function<bool()>& stopping) {
  RunningMeans means(step().names);
  bool stopped = false;
  begin();
  const std::int64_t done = run([&](const RunLoop& loop, std::int64_t first, std::int64_t count) {
    means.add(loop);
    if (bar != nullptr) bar->update(first + count, shown_metrics(means.logs()));
    stopped = stopping && stopping();
    return !stopped;
  });
  // Other calls may use them until the next test.
  steps_.clear();
  if (stopped) return std::nullopt;
  samples_.batches->end(done);
  return means.logs();
}

Logs Job::evaluate(const EvaluateOptions& options) {
  ProgressBar bar = make_bar(samples_.steps, options.verbose, options.output);
  const std::optional<Logs> logs = test(&bar);
  bar.finish();
  return *logs;
}

std::vector<Array> Job::predict(const PredictOptions& options) {
  const std::vector<std::string>& names = step().names;
  ProgressBar bar = make_bar(samples_.steps, options.verbose, options.output);
  std::vector<Arrays> pieces(names.size());
  begin();
  run([&](const RunLoop& loop, std::int64_t first, std::int64_t count) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Array rows = loop.output(names[i]);
      for (std::int64_t j = 0; j < count; ++j) {
        const Array batch = rows.slice(j, j + 1).reshape(rows.shape().part(1, rows.shape().rank()));
        pieces[i].push_back(batch.slice(0, loop.samples_of(j)));
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

Logs Job::run_on_batch(bool goes_on) {
  const bool trains = mode_ == Mode::train;
  if (trains) {
    check_accumulation();
    tell_about_trainable();
  }
  begin();
  RunningSums before;
  if (const auto guard = lock(); goes_on) before = training().sums_of_batches;
  RunningMeans means(step().names, std::move(before));
  run([&](const RunLoop& loop, std::int64_t, std::int64_t) {
    if (trains) compiled().optimizer.state().iterations += loop.updates();
    means.add(loop);
    return true;
  });
  const auto guard = lock();
  training().sums_of_batches = means.sums();
  return means.logs();
}

}  // namespace pando::keras
