// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/run/fit.h"

#include <pando/program/profile.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/notice.h"
#include "base/random_seed.h"
#include "comm/last_checkpoint.h"
#include "frontends/keras/build/layer.h"
#include "frontends/keras/build/optimizer_state.h"
#include "io/fingerprint.h"
#include "io/probe.h"

namespace pando::keras {

namespace {

std::vector<std::uint64_t> layer_keys(const Model& model) {
  std::vector<std::uint64_t> keys;
  for_each_layer(model, [&](const Layer& layer) { keys.push_back(LayerAccess::key(layer)); });
  return keys;
}

void set_layer_keys(const Model& model, const std::vector<std::uint64_t>& keys) {
  auto key = keys.begin();
  for_each_layer(model, [&](const Layer& layer) { LayerAccess::key(layer) = *key++; });
}

}  // namespace

Fit::Fit(Job& job, Job* validation, const FitOptions& options)
    : job_(job), validation_(validation), model_(job.model()), samples_(job.samples()), options_(options) {
  job_.check_accumulation();
  job_.set_class_weight(options.class_weight);
  check_callbacks();
  job_.check_full_batches();
  if (validation_ != nullptr) {
    validation_->check_full_batches();
    // Checks its samples before the first batch changes the model.
    validation_->step();
  }
  job_.tell_about_trainable();
  if (!options.profile.empty() && is_first_worker()) probe_file(options.profile);
  position_.epoch = options.initial_epoch;
  position_.epochs_begun = job_.training().epochs_begun;
  if (options.checkpoint.directory.empty()) return;
  if (is_first_worker()) checkpoints_.emplace(job_.who(), options.checkpoint);
  else note_checkpoint_folder(options.checkpoint.directory);
  subject_ = subject_of(model_, job_.goals(), samples_, validation_ != nullptr ? &validation_->samples() : nullptr,
                        options_.class_weight);
  settings_ = settings_here();
  if (const std::optional<RunCheckpoints::Resumed> resumed = find_resumed()) resume(*resumed);
  checkpoint_at_ = {position_.epoch, position_.batches};
}

void Fit::check_callbacks() {
  std::vector<std::string> names = job_.step().names;
  if (validation_ != nullptr)
    for (const std::string& name : job_.step().names) names.push_back("val_" + name);
  for (const auto& callback : options_.callbacks) {
    callback->check_logs(names);
    const std::optional<std::vector<std::string>> added = callback->added_logs();
    if (!added) return;
    names.insert(names.end(), added->begin(), added->end());
  }
}

std::optional<RunCheckpoints::Resumed> Fit::find_resumed() {
  Workers* workers = job_.training().target->workers.get();
  std::optional<RunCheckpoints::Resumed> found;
  if (checkpoints_) found = checkpoints_->resumed();
  if (workers == nullptr) return found;
  std::vector<std::byte> bytes;
  if (found) bytes = data::checkpoint_bytes(to_safetensors(found->state));
  bytes = from_first_worker(*workers, agreement_channel, std::move(bytes));
  if (bytes.empty() || found) return found;
  const std::string name = "the checkpoint of worker 0";
  return RunCheckpoints::Resumed{name, run_state_of(data::parse_checkpoint(bytes, name), name)};
}

void Fit::check_workers() const {
  Workers* workers = job_.training().target->workers.get();
  if (workers == nullptr) return;
  const RunState state = describe();
  Fingerprint sum;
  for (const auto* arrays : {&state.weights, &state.optimizer_states})
    for (const auto& [name, array] : *arrays) sum.add({array.raw(), array.bytes()});
  sum.add(std::as_bytes(std::span(&state.model_key, 1)));
  sum.add(std::as_bytes(std::span(state.layer_keys)));
  const std::string own = sum.digits();
  const std::vector<std::byte> all = gather_from_workers(*workers, agreement_channel, std::as_bytes(std::span(own)));
  for (int other = 0; other < workers->count(); ++other)
    if (!std::equal(own.begin(), own.end(),
                    reinterpret_cast<const char*>(all.data()) + static_cast<std::size_t>(other) * own.size()))
      throw Error(
          fmt::format("{}: worker {} starts from other weights or random numbers than worker {}; make the model in the "
                      "same way on all workers, with the same seed or the same file of weights",
                      job_.who(), other, workers->rank()));
}

bool Fit::agree_to_stop(bool stop) {
  constexpr std::uint8_t interrupt_bit = 1, stop_bit = 2;
  std::uint8_t bits = (interrupt_->requested() ? interrupt_bit : 0) | (stop ? stop_bit : 0);
  if (Workers* workers = job_.training().target->workers.get())
    bits = bits_of_any_worker(*workers, agreement_channel, bits);
  interrupted_ = interrupted_ || (bits & interrupt_bit) != 0;
  return bits != 0;
}

void Fit::resume(const RunCheckpoints::Resumed& resumed) {
  const RunState& state = resumed.state;
  std::vector<std::string> found = differences(state, describe());
  if (found.empty()) {
    try {
      restore_data(state.position);
    } catch (const Error& error) {
      found.emplace_back(error.what());
    }
  }
  if (!found.empty())
    throw Error(
        fmt::format("{}: {} is of another run: {}. Go on with the same model, optimizer, data and callbacks, or give "
                    "another directory",
                    job_.who(), resumed.path, fmt::join(found, "; ")));
  auto& training = job_.training();
  training.key = state.model_key;
  training.epochs_begun = state.position.epochs_begun;
  if (state.layer_keys != layer_keys(model_)) {
    // Programs contain the seeds in their random ops.
    set_layer_keys(model_, state.layer_keys);
    job_.renew_step();
  }
  position_ = state.position;
  batches_before_ = position_.batches;
  steps_before_ = position_.epoch * std::max<std::int64_t>(0, samples_.steps) + position_.batches;
  // If more epochs are asked for than before, the run goes on.
  over_ = position_.finished_of && options_.epochs <= *position_.finished_of;
  position_.finished_of.reset();
  resumed_ = state;
  const std::vector<std::string> kept = kept_settings(state, settings_);
  settings_ = state.settings;
  if (!tells()) return;
  if (over_) tell(options_.output, fmt::format("{} is the end of the run; nothing is left to do.\n", resumed.path));
  else
    tell(options_.output, fmt::format("Resuming from {}: epoch {}, batch {}, update {}.\n", resumed.path,
                                      position_.epoch + 1, position_.batches, state.updates));
  if (!over_ && !kept.empty()) tell(options_.output, fmt::format("It keeps {}.\n", fmt::join(kept, " and ")));
}

RunSettings Fit::settings_here() const {
  const auto& rate = job_.compiled().optimizer.state().learning_rate;
  return {.seed = random_seed(), .learning_rate = rate.is_number() ? std::optional(rate.rate()) : std::nullopt};
}

void Fit::restore_data(const RunPosition& position) {
  const bool validates = validation_ != nullptr && position.validation;
  samples_.batches->restore(position.data);
  if (validates) validation_->samples().batches->restore(*position.validation);
  samples_.batches->restore_now(position.data);
  if (validates) validation_->samples().batches->restore_now(*position.validation);
}

void Fit::restore_state() {
  std::vector<Parameter> weights = model_.weights();
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i].set_value(resumed_->weights[i].array);
  for (const auto& [name, array] : resumed_->optimizer_states) job_.training().variables.set(name, array);
  Optimizer::State& optimizer = job_.compiled().optimizer.state();
  optimizer.iterations = resumed_->updates;
  if (resumed_->learning_rate) optimizer.learning_rate = *resumed_->learning_rate;
  for (std::size_t i = 0; i < options_.callbacks.size(); ++i)
    options_.callbacks[i]->restore_state(resumed_->callbacks[i]);
  resumed_.reset();
}

bool Fit::is_over() { return over_ || position_.epoch >= options_.epochs || agree_to_stop(job_.training().stop); }

void Fit::for_callbacks(const Function<void(Callback&)>& tell) const {
  for (const auto& callback : options_.callbacks) tell(*callback);
}

History Fit::run() {
  if (tells()) tell_about_steps_per_execution();
  tell_about_learning_rate();
  job_.training().stop = false;
  std::optional<Profiler> profiler;
  if (!options_.profile.empty() || options_.record_timeline) {
    profiler.emplace(model_.name());
    job_.step();
    job_.watch(*profiler);
  }
  interrupt_.emplace();
  for_callbacks([&](Callback& callback) { callback.on_train_begin(model_); });
  if (resumed_) restore_state();
  check_workers();
  while (!is_over()) run_epoch();
  for_callbacks([&](Callback& callback) { callback.on_train_end(model_); });
  if (profiler) {
    profiler->detach();
    if (options_.record_timeline) position_.history.set_timeline(profiler->timeline());
    if (!options_.profile.empty() && is_first_worker()) save_profile(profiler->timeline());
  }
  tell_of_the_end();
  interrupt_->deliver();
  return std::move(position_.history);
}

// The model is worth more than the page about it.
void Fit::save_profile(const report::Timeline& timeline) const {
  try {
    timeline.save(options_.profile);
  } catch (const std::exception& error) {
    warn("keras", fmt::format("{}.", error.what()));
  }
}

void Fit::run_epoch() {
  if (position_.batches == 0)
    for_callbacks([&](Callback& callback) { callback.on_epoch_begin(model_, position_.epoch); });
  if (tells()) tell(options_.output, fmt::format("Epoch {}/{}\n", position_.epoch + 1, options_.epochs));
  ProgressBar bar = make_bar(samples_.steps, options_.verbose, options_.output, batches_before_);
  const auto begun = std::chrono::steady_clock::now();
  over_ = train(bar) || stopped_inside_;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  if (agree_to_stop(false) || position_.batches == 0) {
    over_ = true;
    return;
  }
  Logs logs = RunningMeans(job_.step().names, position_.sums).logs();
  if (!validate(logs)) return checkpoint();
  if (validation_ != nullptr) bar.update(position_.batches, shown_metrics(logs));
  bar.finish();
  end_epoch(logs, taken.count());
}

bool Fit::train(ProgressBar& bar) {
  auto& training = job_.training();
  position_.epochs_begun = training.epochs_begun;
  job_.begin(batches_before_);
  ++training.epochs_begun;
  RunningMeans means(job_.step().names, position_.sums);
  const std::int64_t left = samples_.steps < 0 ? -1 : std::max<std::int64_t>(0, samples_.steps - batches_before_);
  auto begun = std::chrono::steady_clock::now();
  const std::int64_t done = job_.run([&](const RunLoop& loop, std::int64_t first, std::int64_t count) {
    interrupt_->allow_for(std::chrono::steady_clock::now() - begun);
    after_execution(loop, means, first + count);
    bar.update(position_.batches, shown_metrics(means.logs()));
    begun = std::chrono::steady_clock::now();
    return !stopped_inside_;
  });
  // For an interrupt during validation.
  if (checkpoints_) locate(done);
  const bool ran_out = !stopped_inside_ && done < left;
  if (ran_out && is_first_worker())
    warn("keras",
         fmt::format("the data set ended after {} of {} batches, and training with it; make sure that it has "
                     "steps_per_epoch * epochs batches, or use repeat().",
                     position_.batches, samples_.steps),
         Line::below_bar);
  return ran_out;
}

void Fit::after_execution(const RunLoop& loop, RunningMeans& means, std::int64_t batches) {
  job_.compiled().optimizer.state().iterations += loop.updates();
  const bool batches_seen = std::any_of(options_.callbacks.begin(), options_.callbacks.end(),
                                        [](const auto& callback) { return callback->sees_batches(); });
  std::int64_t batch = position_.batches;
  const Function<void()> after_batch = [&] {
    position_.history.add_step(means.last_loss(), steps_before_);
    if (!batches_seen) return;
    for_callbacks([&](Callback& callback) {
      if (callback.sees_batches()) callback.on_train_batch_end(model_, batch, means.logs());
    });
    ++batch;
  };
  means.add(loop, after_batch);
  position_.batches = batches_before_ + batches;
  position_.sums = means.sums();
  stopped_inside_ = agree_to_stop(job_.training().stop);
  if (checkpoints_ && (checkpoints_->is_due() || stopped_inside_)) {
    locate(batches);
    checkpoint();
  }
}

bool Fit::validate(Logs& logs) {
  if (validation_ == nullptr) return true;
  for_callbacks([&](Callback& callback) { callback.on_test_begin(model_); });
  const std::optional<Logs> tested = validation_->test(nullptr, [&] { return agree_to_stop(false); });
  if (!tested) return false;
  for_callbacks([&](Callback& callback) { callback.on_test_end(model_, *tested); });
  for (const auto& [name, value] : *tested) logs.set("val_" + name, value);
  return true;
}

void Fit::end_epoch(Logs& logs, double seconds) {
  for_callbacks([&](Callback& callback) { callback.on_epoch_end(model_, position_.epoch, logs); });
  position_.history.add(position_.epoch, logs, seconds);
  samples_.batches->end(position_.batches - batches_before_);
  batches_before_ = 0;
  if (!stopped_inside_ && (over_ || job_.training().stop || position_.epoch + 1 >= options_.epochs))
    position_.finished_of = options_.epochs;
  const auto& training = job_.training();
  position_ = {.epoch = position_.epoch + 1,
               .epochs_begun = training.epochs_begun,
               .finished_of = position_.finished_of,
               .history = std::move(position_.history)};
  // A run that was stopped within the epoch resumes there.
  if (!checkpoints_ || stopped_inside_) return;
  locate(0);
  checkpoint();
}

void Fit::locate(std::int64_t batches) {
  position_.data = samples_.batches->position(batches);
  if (validation_ != nullptr) position_.validation = validation_->samples().batches->position();
}

RunState Fit::describe() const {
  const auto& training = job_.training();
  const Optimizer::State& optimizer = job_.compiled().optimizer.state();
  RunState state{.position = position_,
                 .subject = subject_,
                 .settings = settings_,
                 .metrics = job_.step().names,
                 .model_key = training.key,
                 .layer_keys = layer_keys(model_),
                 .optimizer = optimizer.rule.name,
                 .updates = optimizer.iterations,
                 .learning_rate = {},
                 .weights = {},
                 .optimizer_states = {},
                 .callbacks = std::vector<CallbackState>(options_.callbacks.size())};
  if (optimizer.learning_rate.is_number()) state.learning_rate = optimizer.learning_rate.rate();
  for (const Parameter& weight : model_.weights()) state.weights.push_back({weight.name(), weight.value()});
  for (const VariableInfo& variable : job_.step().program.variables())
    if (variable.role == VariableRole::slot)
      state.optimizer_states.push_back({variable.name, training.variables.get(variable.name)});
  return state;
}

RunState Fit::capture() const {
  RunState state = describe();
  for (std::size_t i = 0; i < state.callbacks.size(); ++i) state.callbacks[i] = options_.callbacks[i]->save_state();
  return state;
}

void Fit::checkpoint() {
  const std::pair at(position_.epoch, position_.batches);
  if (!checkpoints_ || at == checkpoint_at_) return;
  checkpoint_at_ = at;
  checkpoints_->write(capture());
}

void Fit::tell_about_steps_per_execution() const {
  static std::atomic<bool> told = false;
  if (job_.training().target->is_host || job_.compiled().steps_per_execution > 1 || samples_.steps == 1 ||
      told.exchange(true))
    return;
  notify("keras",
         fmt::format("The model '{}' has been configured with only 1 step per execution. Consider increasing the value "
                     "of `steps_per_execution` passed to `compile()` to improve performance.",
                     model_.name()));
}

void Fit::tell_about_learning_rate() const {
  static std::atomic<bool> told = false;
  const auto& rate = job_.compiled().optimizer.state().learning_rate;
  const std::int64_t steps = job_.compiled().steps_per_execution;
  if (rate.is_number() || rate.schedule() || steps == 1 || told.exchange(true)) return;
  notify(
      "keras",
      fmt::format("The learning rate is a function, which is called before each execution of {} steps: their updates "
                  "have the same rate. A schedule changes it with every update.",
                  steps));
}

void Fit::tell_of_the_end() {
  const RunCheckpoints::Outcome outcome = checkpoints_ ? checkpoints_->wait() : RunCheckpoints::Outcome();
  const std::int64_t update = job_.compiled().optimizer.iterations();
  const std::string last = outcome.path.empty() ? "there is none" : "the last is " + outcome.path;
  if (!interrupted_) {
    if (!outcome.failure.empty())
      warn("keras", fmt::format("the end of the run is in no checkpoint, and {}: {}.", last, outcome.failure));
    return;
  }
  if (!outcome.failure.empty())
    notify("keras", fmt::format("Interrupted: training ended after update {}, which is in no checkpoint, and {}: {}.",
                                update, last, outcome.failure));
  else if (tells())
    notify("keras",
           fmt::format("Interrupted: training ended after update {}{}.", update,
                       outcome.path.empty()
                           ? ""
                           : fmt::format("; {} holds everything, run again with resume to go on", outcome.path)));
}

}  // namespace pando::keras
