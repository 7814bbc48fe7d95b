// SPDX-License-Identifier: Apache-2.0
// Callbacks: what happens alongside training.
#pragma once
#include <pando/base/function.h>
#include <pando/frontends/keras/history.h>

#include <memory>
#include <optional>

namespace pando::keras {

class Model;

// What a callback carries from one epoch to the next, as checkpoints keep it: any text, and arrays whose elements must
// not change any more.
struct CallbackState {
  std::string text = {};
  std::vector<Array> arrays = {};
};

// Derive from it to write a callback. Batches and epochs are numbered from 0.
class PANDO_API Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(Model& model);
  virtual void on_train_end(Model& model);
  virtual void on_epoch_begin(Model& model, std::int64_t epoch);
  // Values that it adds to the logs appear in the History.
  virtual void on_epoch_end(Model& model, std::int64_t epoch, Logs& logs);
  // Called for every batch, whatever steps_per_execution is, after the execution that the batch was part of. The logs
  // are the means of the epoch up to this batch. Called only if sees_batches().
  virtual void on_train_batch_end(Model& model, std::int64_t batch, const Logs& logs);
  virtual bool sees_batches() const { return false; }
  // Called around the validation of each epoch, before on_epoch_end(). The logs are those of evaluate().
  virtual void on_test_begin(Model& model);
  virtual void on_test_end(Model& model, const Logs& logs);
  // Called before training with the names of the logs that on_epoch_end() will be given, unless a callback before it
  // may add others. Throws Error if a log that it reads is not among them, so that a mistyped name does not cost an
  // epoch.
  virtual void check_logs(const std::vector<std::string>& names) const;
  // The names that on_epoch_end() adds to the logs; nothing if they are not known.
  virtual std::optional<std::vector<std::string>> added_logs() const;
  // For checkpoints; called between executions. A run that resumes from a checkpoint calls restore_state() after
  // on_train_begin(); if it resumes within an epoch, it does not call on_epoch_begin() again.
  virtual CallbackState save_state() const;
  virtual void restore_state(const CallbackState& state);
};

using Callbacks = std::vector<std::shared_ptr<Callback>>;

namespace callbacks {

// In all options: `monitor` names a log; `mode` is "min", "max", or "auto": decided by the name (accuracies grow);
// `verbose` of 1 says on standard output what the callback does, in the words of Keras.
struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  // Save only when the monitored value is better than ever before.
  bool save_best_only = false;
  std::string mode = "auto";
  int verbose = 0;
  // With save_best_only, what the monitored value must be better than at first.
  std::optional<double> initial_value_threshold = {};
};
// Writes the weights at the end of each epoch to a .safetensors file if the path ends so, otherwise to an .npz file.
// Fields in the path, the epoch (from 1) and logs, are replaced as Python does it: "w-{epoch:02d}-{val_loss:.3f}".
// Throws Error for a malformed field and for a name that ends in .keras or .h5; fit() throws Error, before it trains,
// for a field whose log will not exist.
PANDO_API std::shared_ptr<Callback> ModelCheckpoint(const std::string& filepath,
                                                    const ModelCheckpointOptions& options = {});

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  // A change that is smaller does not count as better.
  double min_delta = 0.0;
  // The number of epochs without a better value that end the training.
  int patience = 0;
  // 1 says when training ends.
  int verbose = 0;
  std::string mode = "auto";
  // The value that must be beaten first.
  std::optional<double> baseline = {};
  // Whether the model ends with the weights of its best epoch.
  bool restore_best_weights = false;
};
// Ends training when the monitored value has not become better by min_delta for `patience` epochs, or than `baseline`.
PANDO_API std::shared_ptr<Callback> EarlyStopping(const EarlyStoppingOptions& options = {});

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  // The new rate is the old one times this.
  double factor = 0.1;
  int patience = 10;
  int verbose = 0;
  std::string mode = "auto";
  double min_delta = 1e-4;
  // The number of epochs after a reduction that do not count.
  int cooldown = 0;
  double min_lr = 0.0;
};
// Multiplies the learning rate by `factor`, down to min_lr, when the monitored value has not become better by min_delta
// for `patience` epochs; then waits `cooldown` epochs.
PANDO_API std::shared_ptr<Callback> ReduceLROnPlateau(const ReduceLROnPlateauOptions& options = {});

struct LearningRateSchedulerOptions {
  int verbose = 0;
};
// From the epoch and the rate so far to the rate of the epoch.
PANDO_API std::shared_ptr<Callback> LearningRateScheduler(Function<double(std::int64_t epoch, double rate)> schedule,
                                                          const LearningRateSchedulerOptions& options = {});

struct CSVLoggerOptions {
  char separator = ',';
  // Adds to a file that exists instead of replacing it.
  bool append = false;
  // Called at the end of training with the reason if lines are missing.
  Function<void(const std::string& problem)> on_failure = {};
};
// Writes one line per epoch: its number and the logs, sorted by name as Keras does. Throws Error before the first step
// if the file cannot be opened. If a line cannot be written later, it says so on standard error, training goes on, and
// the line is tried again with the next one.
PANDO_API std::shared_ptr<Callback> CSVLogger(const std::string& filename, const CSVLoggerOptions& options = {});

// Ends training at the first batch whose loss is not a number.
PANDO_API std::shared_ptr<Callback> TerminateOnNaN();

struct LambdaCallbackOptions {
  Function<void(std::int64_t epoch)> on_epoch_begin = {};
  Function<void(std::int64_t epoch, const Logs& logs)> on_epoch_end = {};
  Function<void(std::int64_t batch, const Logs& logs)> on_train_batch_end = {};
  Function<void()> on_train_begin = {};
  Function<void()> on_train_end = {};
};
// Calls functions of the program, but no empty ones.
PANDO_API std::shared_ptr<Callback> LambdaCallback(const LambdaCallbackOptions& options);

}  // namespace callbacks
}  // namespace pando::keras
