// Pipelines: which stage a layer belongs to, and how the stages take turns.
#pragma once
#include <pando/export.h>

#include <cstdint>
#include <vector>

namespace pando::ipu {

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

// How the gradients of the micro-batches of an update are put together: their mean over all samples, or the sum of the
// means of the micro-batches.
enum class GradientReduction { Mean, Sum };

struct PipeliningOptions {
  // Micro-batches of an update; at least 1, and it must be given.
  std::int64_t gradient_accumulation_steps_per_replica = 0;
  pipelining_ops::PipelineSchedule pipeline_schedule = pipelining_ops::PipelineSchedule::Grouped;
  // The IPU, of those of a replica, that each stage runs on; empty: in their order.
  std::vector<int> device_mapping = {};
  // Compute the forward pass of a stage again in its backward pass rather than keep what it needs.
  bool recomputation = false;
  GradientReduction gradient_accumulation_reduction_method = GradientReduction::Mean;
};

struct GradientAccumulationOptions {
  std::int64_t gradient_accumulation_steps_per_replica = 0;
  GradientReduction gradient_accumulation_reduction_method = GradientReduction::Mean;
};

}  // namespace keras
}  // namespace pando::ipu
