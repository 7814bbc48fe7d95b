// SPDX-License-Identifier: Apache-2.0
// Division: how a step is divided over virtual IPUs.
#pragma once
#include <cstdint>

namespace pando {

// The order in which the stages of a pipeline work on micro-batches: all forward, then all backward; one forward, one
// backward; or one stage at a time.
enum class PipelineOrder { grouped, interleaved, sequential };

// The stages are those of the graph, or as many as there are devices for.
struct Division {
  // The number of copies of the model, each with its own micro-batches.
  int replicas = 1;
  // The number of micro-batches of an update, for each replica.
  std::int64_t accumulation = 1;
  // The number of samples of a micro-batch. Random numbers are counted by samples.
  std::int64_t batch_size = 1;
  PipelineOrder order = PipelineOrder::grouped;
  // Whether the backward pass of a stage computes the forward pass again instead of keeping its intermediate values.
  bool recomputation = false;
};

}  // namespace pando
