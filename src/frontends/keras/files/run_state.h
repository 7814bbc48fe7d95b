// SPDX-License-Identifier: Apache-2.0
// RunState: where a run of fit is between two executions, and what it needs to resume from there.
#pragma once
#include <pando/frontends/keras/callbacks.h>

#include <optional>

#include "data/formats/safetensors.h"
#include "frontends/keras/run/run_subject.h"
#include "frontends/keras/run/running_means.h"

namespace pando::keras {

struct RunPosition {
  // The current epoch or, between epochs, the next one.
  std::int64_t epoch = 0;
  // The model's number of epochs before this one; it decides the order of the samples.
  std::int64_t epochs_begun = 0;
  // The number of batches done in the epoch.
  std::int64_t batches = 0;
  // Set if the run ended by itself: the number of epochs that it was asked for.
  std::optional<std::int64_t> finished_of = {};
  RunningSums sums = {};
  History history = {};
  DataPosition data = {};
  // Nothing if there is no validation.
  std::optional<DataPosition> validation = {};
};

// What the program set when the run began. A resumed run keeps what is in its checkpoint.
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
  // The current learning rate; nothing if it follows a schedule.
  std::optional<double> learning_rate;
  std::vector<data::NamedArray> weights, optimizer_states;
  std::vector<CallbackState> callbacks;
};

data::Safetensors to_safetensors(const RunState& state);
// `name` begins messages. Throws Error if it is not what to_safetensors() makes, or one of its members makes no sense.
RunState run_state_of(const data::Safetensors& contents, const std::string& name);

// In what two runs differ, "batch_size is 32 there but 64 here" for each; empty if one can resume from the other.
std::vector<std::string> differences(const RunState& there, const RunState& here);
// The settings that differ here and are kept as they are there, "the learning rate 0.01 of the checkpoint (not 0.5)"
// for each.
std::vector<std::string> kept_settings(const RunState& there, const RunSettings& here);

}  // namespace pando::keras
