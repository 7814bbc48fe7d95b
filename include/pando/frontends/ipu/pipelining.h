// Pipelines: which stage a layer belongs to, how the stages take turns, and how the gradients of an update become one.
#pragma once
#include <pando/base/export.h>

#include <cstdint>
#include <vector>

namespace pando::ipu {

// How the gradients of the micro-batches of an update, over all replicas, become one. Each is a mean over the samples
// of its micro-batch. Sum adds them, as TensorFlow does on IPUs: n micro-batches act as one device with the n times
// larger batch and, under gradient descent, n times the learning rate. Penalties on weights count once for each
// micro-batch. Mean takes the mean over all samples of the update: it is the update of one device with the larger
// batch.
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
  // Micro-batches of an update; at least 1, and it must be given.
  std::int64_t gradient_accumulation_steps_per_replica = 0;
  pipelining_ops::PipelineSchedule pipeline_schedule = pipelining_ops::PipelineSchedule::Grouped;
  // The IPU, of those of a replica, that each stage runs on; stages may share one. Empty: in their order.
  std::vector<int> device_mapping = {};
  // Compute the forward pass of a stage again in its backward pass rather than keep what it needs.
  bool recomputation = false;
};

struct GradientAccumulationOptions {
  std::int64_t gradient_accumulation_steps_per_replica = 0;
};

}  // namespace keras
}  // namespace pando::ipu
