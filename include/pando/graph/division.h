// Division: how a step is divided over virtual IPUs.
#pragma once
#include <cstdint>

namespace pando {

// In which order the stages of a pipeline work on micro-batches: all forward, then all backward; one forward, one
// backward; one stage at a time.
enum class PipelineOrder { grouped, interleaved, sequential };

// Stages are those of the graph, or as many as there are devices for.
struct Division {
  // Copies of the model, each with micro-batches of its own.
  int replicas = 1;
  // Micro-batches of an update, for each replica.
  std::int64_t accumulation = 1;
  // Samples of a micro-batch, which random numbers are counted by.
  std::int64_t batch_size = 1;
  PipelineOrder order = PipelineOrder::grouped;
  // Compute the forward pass of a stage again in its backward pass rather than keep what that needs.
  bool recomputation = false;
};

}  // namespace pando
