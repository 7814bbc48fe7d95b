// SPDX-License-Identifier: Apache-2.0
// explain: what a run will do, before it does it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/pipeline_schedule.h"

namespace pando {

// Bytes on one device.
struct MemoryUse {
  std::size_t weights = 0, optimizer = 0, gradients = 0, activations = 0, stash = 0, feeds = 0;

  std::size_t total() const { return weights + optimizer + gradients + activations + stash + feeds; }
};

struct ExplainedStage {
  // "conv2d .. max_pooling2d"
  std::string layers = {};
  // The work of one micro-batch.
  double megaflops = 0;
  MemoryUse memory = {};
  // The tiles of its IPU that it uses; 0: not known.
  int tiles = 0;
};

// The time of an update with a number of workers, each with the division that is explained; in seconds.
struct PredictedUpdate {
  int workers = 1;
  // `compute`: the work of a worker's IPUs, with the bubble of a pipeline. `sums`: the sums over all workers.
  // `waiting`: the part of `sums` that the IPUs wait for. `agreement`: what workers agree on after each execution, for
  // one update.
  double compute = 0, sums = 0, waiting = 0, agreement = 0;

  double total() const { return compute + waiting + agreement; }
};

struct Scaling {
  // At least one; the first is that of one worker.
  std::vector<PredictedUpdate> updates = {};
  // The bytes of a replica that are added up in an update.
  std::size_t sum_bytes = 0;
  // Where the figures come from: "measured by 'pando bench'". Without figures of a network there is one worker only.
  std::string compute_source = {}, network_source = {};
  // Whether the workers are GPUs, which exchange sums without their hosts.
  bool is_of_gpus = false;

  // The samples a second of all workers, divided by those of one and by their number.
  double efficiency(const PredictedUpdate& update) const { return updates.front().total() / update.total(); }
};

struct Explanation {
  std::string model = "model";
  // 0: not known.
  std::int64_t samples = 0;
  std::int64_t batch_size = 32;
  // Whether a batch of fewer samples is filled up; otherwise it runs by itself.
  bool fills_batches_up = true;
  // 0 if the model runs on the host device.
  int ipus = 0;
  int replicas = 1;
  // The processes that share the replicas.
  int workers = 1;
  std::string backend = "cpu";
  // The IPU of the replica that each stage runs on; if empty, stage i runs on IPU i.
  std::vector<int> device_mapping = {};
  std::vector<ExplainedStage> stages = {};
  // Micro-batches of each replica in an update.
  std::int64_t gradient_accumulation = 1;
  // How the gradients of the batches of an update are combined: "sum" or "mean"; empty if not known.
  std::string reduction = {};
  std::string optimizer = {};
  // Nothing if a schedule gives it.
  std::optional<double> learning_rate = {};
  // Whether gradients that are k times as large make steps that are k times as large.
  bool steps_grow_with_gradients = false;
  // The number of batches over all replicas.
  std::int64_t steps_per_execution = 1;
  // 0: not known.
  int cores = 0;
  int tiles_per_ipu = 1;
  // Used only if there are several stages.
  PipelineSchedule schedule = {};
  bool training = true;
  // Nothing if no figures are known to predict from.
  std::optional<Scaling> scaling = {};
};

// What follows from an Explanation. Without training nothing is updated or accumulated: an update is then a round, one
// batch for each replica.
struct ExplainedCounts {
  std::int64_t effective_batch = 0;
  std::int64_t batches_per_update = 0;
  // The effective learning rate, as a multiple of the given one, compared with one device with the effective batch.
  std::int64_t learning_rate_factor = 1;
  // Executions run whole updates.
  std::int64_t updates_per_execution = 0;
  // The counts of an epoch.
  std::int64_t batches = 0, updates = 0, executions = 0;
  std::int64_t samples_in_last_batch = 0;
  std::int64_t batches_in_last_update = 0;
  // The number of empty batches that spare replicas get in the last update.
  std::int64_t empty_batches = 0;
  std::int64_t updates_in_last_execution = 0;
  // A pipeline fills and empties once for this many micro-batches: those of an update or, without training, of an
  // execution.
  std::int64_t micro_batches = 0;
  // The part of its time in which a pipeline's devices wait; 0 without a pipeline, and if stages share an IPU, because
  // they fill each other's gaps.
  double bubble = 0;
  int ipus_per_replica = 1;
  bool stages_share_ipus = false;
  int idle_ipus = 0;
  // The memory of all stages and replicas.
  double megaflops = 0;
  std::size_t memory = 0;
};
ExplainedCounts counts_of(const Explanation& explanation);

// What could be better and how, one sentence for each hint.
std::vector<std::string> hints(const Explanation& explanation);

// The part of the text that is about workers; `samples` are those of an update of one worker.
std::string scaling_text(const Scaling& scaling, std::int64_t samples);

// For people: lines under 80 columns, in ASCII except for the given names. A page that shows the memory itself leaves
// it out.
std::string to_text(const Explanation& explanation, bool with_memory = true);

// For programs: one JSON object of all of the above.
std::string to_json(const Explanation& explanation);

}  // namespace pando
