// SPDX-License-Identifier: Apache-2.0
#include <pando/comm/workers.h>
#include <pando/frontends/keras/callbacks.h>

#include <pando/frontends/keras/model.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/notice.h"
#include "base/text.h"
#include "frontends/keras/files/log_path.h"
#include "frontends/keras/files/saving.h"
#include "frontends/keras/build/names.h"
#include "io/json.h"
#include "io/probe.h"

namespace pando::keras {

void Callback::on_train_begin(Model&) {}
void Callback::on_train_end(Model&) {}
void Callback::on_epoch_begin(Model&, std::int64_t) {}
void Callback::on_epoch_end(Model&, std::int64_t, Logs&) {}
void Callback::on_train_batch_end(Model&, std::int64_t, const Logs&) {}
void Callback::on_test_begin(Model&) {}
void Callback::on_test_end(Model&, const Logs&) {}
void Callback::check_logs(const std::vector<std::string>&) const {}
std::optional<std::vector<std::string>> Callback::added_logs() const { return std::nullopt; }
CallbackState Callback::save_state() const { return {}; }
void Callback::restore_state(const CallbackState&) {}

namespace callbacks {

namespace {

using Names = std::vector<std::string>;

// Its logs are known in advance.
class KnownCallback : public Callback {
 public:
  std::optional<Names> added_logs() const override { return Names(); }
};

Names names_of(const Logs& logs) {
  Names names;
  for (const auto& [name, value] : logs) names.push_back(name);
  return names;
}

void check_log(const std::string& who, const std::string& name, const Names& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const bool is_validated =
      std::any_of(known.begin(), known.end(), [](const std::string& log) { return log.starts_with("val_"); });
  throw Error(
      fmt::format("{}: {}{}", who, unknown_name("log", name, known),
                  name.starts_with("val_") && !is_validated ? "; give fit() validation_data or validation_split" : ""));
}

// Follows a log and knows which values are better.
class Monitor {
 public:
  Monitor(const std::string& who, const std::string& name, const std::string& mode, double min_delta)
      : who_(who), name_(name), min_delta_(std::abs(min_delta)) {
    check_choice(who, "mode", mode, {"auto", "min", "max"});
    grows_ = mode == "max" || (mode == "auto" && name.find("acc") != std::string::npos);
  }
  const std::string& name() const { return name_; }
  void check(const Names& known) const { check_log(who_, name_, known); }
  double read(const Logs& logs) const {
    check(names_of(logs));
    return logs[name_];
  }
  double worst() const {
    return grows_ ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  bool is_better(double value, double than) const {
    return grows_ ? value - min_delta_ > than : value + min_delta_ < than;
  }

 private:
  std::string who_, name_;
  double min_delta_;
  bool grows_ = false;
};

// A number of a callback's state. Throws Error if it is missing.
double number_in(const Json& state, const char* name) {
  const Json* value = state.find(name);
  if (value == nullptr) throw Error(fmt::format("the state of a callback has no '{}'; give the same callbacks", name));
  return value->number(name);
}
Json parsed(const CallbackState& state) { return Json::parse(state.text, "the state of a callback"); }

void say(int verbose, const std::string& text) {
  if (verbose > 0 && is_first_worker()) tell(stdout, text + "\n");
}

class Checkpoint : public KnownCallback {
 public:
  Checkpoint(const std::string& path, const ModelCheckpointOptions& options)
      : text_(path), path_(who, path), options_(options), monitor_(who, options.monitor, options.mode, 0) {
    check_weights_path(who, path);
  }
  void check_logs(const Names& names) const override {
    for (const std::string& name : path_.logs()) check_log(who, name, names);
    if (options_.save_best_only) monitor_.check(names);
  }
  void on_train_begin(Model&) override {
    best_ = options_.initial_value_threshold.value_or(monitor_.worst());
    // The name may have fields that are not known yet; its folder decides.
    if (is_first_worker() && folder_of(text_).find('{') == std::string::npos) probe_file(text_);
  }
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override {
    std::string improvement;
    if (options_.save_best_only) {
      const double value = monitor_.read(logs);
      if (!monitor_.is_better(value, best_)) {
        say(options_.verbose,
            fmt::format("Epoch {}: {} did not improve from {:.5f}", epoch + 1, monitor_.name(), best_));
        return;
      }
      improvement = fmt::format("{} improved from {:.5f} to {:.5f}, ", monitor_.name(), best_, value);
      best_ = value;
    }
    for (const std::string& name : path_.logs()) check_log(who, name, names_of(logs));
    const std::string path = path_.filled(epoch + 1, logs);
    if (!is_first_worker()) return;
    try {
      model.save_weights(path);
    } catch (const Error& error) {
      // A disk that is full for a while does not end the training.
      warn("keras", fmt::format("{}: epoch {} is not saved: {}. Training goes on.", who, epoch + 1, error.what()));
      return;
    }
    say(options_.verbose, fmt::format("Epoch {}: {}saving model to {}", epoch + 1, improvement, path));
  }
  CallbackState save_state() const override { return {Json(Json::Object{{"best", Json::exact(best_)}}).text()}; }
  void restore_state(const CallbackState& state) override { best_ = number_in(parsed(state), "best"); }

 private:
  static constexpr const char* who = "ModelCheckpoint";

  std::string text_;
  LogPath path_;
  ModelCheckpointOptions options_;
  Monitor monitor_;
  double best_ = 0;
};

class Stopping : public KnownCallback {
 public:
  explicit Stopping(const EarlyStoppingOptions& options)
      : options_(options), monitor_("EarlyStopping", options.monitor, options.mode, options.min_delta) {}
  void check_logs(const Names& names) const override { monitor_.check(names); }
  void on_train_begin(Model&) override {
    waited_ = 0;
    best_ = monitor_.worst();
    best_epoch_ = 0;
    best_weights_.clear();
  }
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override {
    const double value = monitor_.read(logs);
    const bool is_best = monitor_.is_better(value, best_);
    ++waited_;
    if (is_best || (options_.restore_best_weights && best_weights_.empty())) {
      best_epoch_ = epoch;
      if (options_.restore_best_weights) best_weights_ = model.get_weights();
    }
    if (is_best) {
      best_ = value;
      if (!options_.baseline || monitor_.is_better(value, *options_.baseline)) waited_ = 0;
      return;
    }
    if (waited_ < options_.patience || epoch == 0) return;
    model.stop_training();
    say(options_.verbose, fmt::format("Epoch {}: early stopping", epoch + 1));
  }
  void on_train_end(Model& model) override {
    if (best_weights_.empty()) return;
    say(options_.verbose, fmt::format("Restoring model weights from the end of the best epoch: {}.", best_epoch_ + 1));
    model.set_weights(best_weights_);
  }
  CallbackState save_state() const override {
    const Json::Object state = {{"best", Json::exact(best_)}, {"best_epoch", best_epoch_}, {"waited", waited_}};
    return {Json(state).text(), best_weights_};
  }
  void restore_state(const CallbackState& state) override {
    best_ = number_in(parsed(state), "best");
    best_epoch_ = static_cast<std::int64_t>(number_in(parsed(state), "best_epoch"));
    waited_ = static_cast<int>(number_in(parsed(state), "waited"));
    best_weights_ = state.arrays;
  }

 private:
  EarlyStoppingOptions options_;
  Monitor monitor_;
  double best_ = 0;
  std::int64_t best_epoch_ = 0;
  int waited_ = 0;
  std::vector<Array> best_weights_;
};

class Plateau : public KnownCallback {
 public:
  explicit Plateau(const ReduceLROnPlateauOptions& options)
      : options_(options), monitor_("ReduceLROnPlateau", options.monitor, options.mode, options.min_delta) {
    if (!(options.factor > 0 && options.factor < 1))
      throw Error(fmt::format("ReduceLROnPlateau: factor is {} but must be between 0 and 1", options.factor));
  }
  void check_logs(const Names& names) const override { monitor_.check(names); }
  std::optional<Names> added_logs() const override { return Names{"lr"}; }
  void on_train_begin(Model&) override {
    best_ = monitor_.worst();
    waited_ = cooling_ = 0;
  }
  void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs) override {
    const double value = monitor_.read(logs), rate = model.optimizer().learning_rate();
    logs.set("lr", rate);
    if (cooling_ > 0) {
      --cooling_;
      waited_ = 0;
    }
    if (monitor_.is_better(value, best_)) {
      best_ = value;
      waited_ = 0;
    } else if (cooling_ == 0 && ++waited_ >= options_.patience && rate > options_.min_lr) {
      const double reduced = std::max(rate * options_.factor, options_.min_lr);
      model.optimizer().set_learning_rate(reduced);
      say(options_.verbose,
          fmt::format("Epoch {}: ReduceLROnPlateau reducing learning rate to {}.", epoch + 1, float_text(reduced)));
      cooling_ = options_.cooldown;
      waited_ = 0;
    }
  }
  CallbackState save_state() const override {
    return {Json(Json::Object{{"best", Json::exact(best_)}, {"waited", waited_}, {"cooling", cooling_}}).text()};
  }
  void restore_state(const CallbackState& state) override {
    best_ = number_in(parsed(state), "best");
    waited_ = static_cast<int>(number_in(parsed(state), "waited"));
    cooling_ = static_cast<int>(number_in(parsed(state), "cooling"));
  }

 private:
  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  double best_ = 0;
  int waited_ = 0, cooling_ = 0;
};

class RateScheduler : public KnownCallback {
 public:
  RateScheduler(Function<double(std::int64_t, double)> schedule, const LearningRateSchedulerOptions& options)
      : schedule_(std::move(schedule)), options_(options) {}
  std::optional<Names> added_logs() const override { return Names{"lr"}; }
  void on_epoch_begin(Model& model, std::int64_t epoch) override {
    const double rate = schedule_(epoch, model.optimizer().learning_rate());
    model.optimizer().set_learning_rate(rate);
    say(options_.verbose,
        fmt::format("Epoch {}: LearningRateScheduler setting learning rate to {}.", epoch + 1, float_text(rate)));
  }
  void on_epoch_end(Model& model, std::int64_t, Logs& logs) override {
    logs.set("lr", model.optimizer().learning_rate());
  }

 private:
  Function<double(std::int64_t, double)> schedule_;
  LearningRateSchedulerOptions options_;
};

class NanGuard : public KnownCallback {
 public:
  void on_train_begin(Model&) override { ended_ = false; }
  void on_train_batch_end(Model& model, std::int64_t batch, const Logs& logs) override {
    if (ended_ || std::isfinite(logs["loss"])) return;
    ended_ = true;
    notify("keras",
           fmt::format("Batch {}: Invalid loss, terminating training. The loss is {}; try a smaller learning rate.",
                       batch, logs["loss"]),
           Line::below_bar);
    model.stop_training();
  }
  bool sees_batches() const override { return true; }

 private:
  bool ended_ = false;
};

class Lambdas : public KnownCallback {
 public:
  explicit Lambdas(const LambdaCallbackOptions& options) : options_(options) {}
  void on_train_begin(Model&) override {
    if (options_.on_train_begin) options_.on_train_begin();
  }
  void on_train_end(Model&) override {
    if (options_.on_train_end) options_.on_train_end();
  }
  void on_epoch_begin(Model&, std::int64_t epoch) override {
    if (options_.on_epoch_begin) options_.on_epoch_begin(epoch);
  }
  void on_epoch_end(Model&, std::int64_t epoch, Logs& logs) override {
    if (options_.on_epoch_end) options_.on_epoch_end(epoch, logs);
  }
  void on_train_batch_end(Model&, std::int64_t batch, const Logs& logs) override {
    options_.on_train_batch_end(batch, logs);
  }
  bool sees_batches() const override { return options_.on_train_batch_end != nullptr; }

 private:
  LambdaCallbackOptions options_;
};

}  // namespace

std::shared_ptr<Callback> ModelCheckpoint(const std::string& filepath, const ModelCheckpointOptions& options) {
  return std::make_shared<Checkpoint>(filepath, options);
}
std::shared_ptr<Callback> EarlyStopping(const EarlyStoppingOptions& options) {
  return std::make_shared<Stopping>(options);
}
std::shared_ptr<Callback> ReduceLROnPlateau(const ReduceLROnPlateauOptions& options) {
  return std::make_shared<Plateau>(options);
}
std::shared_ptr<Callback> LearningRateScheduler(Function<double(std::int64_t epoch, double rate)> schedule,
                                                const LearningRateSchedulerOptions& options) {
  return std::make_shared<RateScheduler>(std::move(schedule), options);
}
std::shared_ptr<Callback> TerminateOnNaN() { return std::make_shared<NanGuard>(); }
std::shared_ptr<Callback> LambdaCallback(const LambdaCallbackOptions& options) {
  return std::make_shared<Lambdas>(options);
}

}  // namespace callbacks
}  // namespace pando::keras
