// SPDX-License-Identifier: Apache-2.0
// SessionState: what a Saver stores of the default graph, and its form in a file.
#pragma once
#include "data/formats/safetensors.h"
#include "model/data_position.h"

namespace pando::tf1 {

struct SessionState {
  // By name, in alphabetical order. A slot is named after the number of its computation: "0/Adam/0/kernel/m".
  std::vector<data::NamedArray> variables, slots;
  // For each segment of each computation: the number of its next update.
  std::vector<std::vector<std::int64_t>> updates;
  struct Place {
    std::string name;
    // Nothing before the iterator or queue is initialised.
    std::optional<DataPosition> position;
  };
  std::vector<Place> places;
};

data::Safetensors to_safetensors(const SessionState& state);
// `name` begins messages. Throws Error if it is not what to_safetensors() makes, or one of its members makes no sense.
SessionState session_state_of(const data::Safetensors& contents, const std::string& name);

// In what two graphs differ; empty if one can go on with the state of the other.
std::vector<std::string> differences(const SessionState& there, const SessionState& here);

}  // namespace pando::tf1
