// RunState: where a run of fit stands between two executions, and what it takes to go on from there.
#pragma once
#include <pando/frontends/keras/callbacks.h>

#include <optional>

#include "data/formats/safetensors.h"
#include "frontends/keras/run/run_subject.h"
#include "frontends/keras/run/running_means.h"
#include "frontends/keras/run/sample_passes.h"

namespace pando::keras {

struct RunPosition {
  // The epoch that goes on, or the next one.
  std::int64_t epoch = 0;
  // Of the model, before that one: they choose the order of its samples.
  std::int64_t epochs_begun = 0;
  // Done in the epoch.
  std::int64_t batches = 0;
  // The run ended by itself, having been asked for so many epochs.
  std::optional<std::int64_t> finished_of = {};
  RunningSums sums = {};
  History history = {};
  DataPosition data = {};
  // Nothing if there is no validation.
  std::optional<DataPosition> validation = {};
};

// What the program set when the run began. A run that goes on keeps what is in its checkpoint.
struct RunSettings {
  std::uint64_t seed = 0;
  // Nothing if it follows a schedule.
  std::optional<double> learning_rate = {};
};

struct RunState {
  RunPosition position;
  RunSubject subject;
  RunSettings settings;
  std::vector<std::string> metrics;
  std::uint64_t model_key = 0;
  std::vector<std::uint64_t> layer_keys;
  std::string optimizer;
  std::int64_t updates = 0;
  // The one that it has come to; nothing if it follows a schedule.
  std::optional<double> learning_rate;
  std::vector<data::NamedArray> weights, optimizer_states;
  std::vector<CallbackState> callbacks;
};

data::Safetensors to_safetensors(const RunState& state);
// `name` begins messages. Throws Error if it is not what to_safetensors() makes, or a member of it makes no sense.
RunState run_state_of(const data::Safetensors& contents, const std::string& name);

// In what two runs differ, "batch_size is 32 there but 64 here" for each; empty if one can go on with the other.
std::vector<std::string> differences(const RunState& there, const RunState& here);
// What was set otherwise here and is kept as it is there, "the learning rate 0.01 of the checkpoint (not 0.5)" for
// each.
std::vector<std::string> kept_settings(const RunState& there, const RunSettings& here);

}  // namespace pando::keras
