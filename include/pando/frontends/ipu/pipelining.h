// SPDX-License-Identifier: Apache-2.0
// Pipelines: which stage a layer belongs to, how the stages take turns, and how the gradients of an update are
// combined.
#pragma once
#include <pando/base/export.h>

#include <cstdint>
#include <vector>

namespace pando::ipu {

// How the gradients of all micro-batches and replicas of an update are combined. Each is a mean over the samples of its
// micro-batch. Sum adds them, as TensorFlow does on IPUs: n micro-batches act as one device with the n times larger
// batch and, under gradient descent, n times the learning rate. Penalties on weights count once for each micro-batch.
// Mean takes the mean over all samples of the update: it is the update of one device with the larger batch.
enum class GradientReduction { Sum, Mean };

namespace pipelining_ops {

// All forward passes, then all backward passes; one forward, one backward; one stage at a time.
enum class PipelineSchedule { Grouped, Interleaved, Sequential };

}  // namespace pipelining_ops

namespace keras {

// Layers that are called while it lives belong to this stage. Throws Error outside of an IPUStrategy's scope, within
// another PipelineStage, and for a negative number.
class PANDO_API PipelineStage {
 public:
  explicit PipelineStage(int stage);
  ~PipelineStage();
  PipelineStage(const PipelineStage&) = delete;
  PipelineStage& operator=(const PipelineStage&) = delete;
};

struct PipeliningOptions {
  // The number of micro-batches of an update. It must be given, and be at least 1.
  std::int64_t gradient_accumulation_steps_per_replica = 0;
  pipelining_ops::PipelineSchedule pipeline_schedule = pipelining_ops::PipelineSchedule::Grouped;
  // The IPU of the replica that each stage runs on; stages may share one. If empty, stage i runs on IPU i.
  std::vector<int> device_mapping = {};
  // Whether the backward pass of a stage computes the forward pass again instead of keeping its intermediate values.
  bool recomputation = false;
};

struct GradientAccumulationOptions {
  std::int64_t gradient_accumulation_steps_per_replica = 0;
};

}  // namespace keras
}  // namespace pando::ipu
