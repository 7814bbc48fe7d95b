// SPDX-License-Identifier: Apache-2.0
// A step was measured on one IPU; a pipeline divides it by the work of its stages, and IPUs that share cores take
// turns. Every worker has the machine that was measured to itself.
#include "model/predict_scaling.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/notice.h"
#include "comm/sum_cost.h"
#include "comm/worker_sums.h"

namespace pando {

namespace {

// Rounds of short messages after each execution: the number of rows, the results, and whether to go on.
constexpr int rounds_of_agreement = 3;
// The part of a step in which gradients become ready one after the other: a backward pass does twice the work of a
// forward pass.
constexpr double backward_part = 2.0 / 3;
// Used where only the network is given: what memory does at least.
constexpr double usual_copies = 4e9;

struct StepTime {
  double seconds = 0;
  std::string source = {};
};

bool is_near(double a, double b) { return std::abs(a - b) <= 0.05 * std::max(a, b); }

std::size_t weights_of(const Explanation& explanation) {
  std::size_t bytes = 0;
  for (const ExplainedStage& stage : explanation.stages) bytes += stage.memory.weights;
  return bytes;
}

// The same model is recognised by its weights and its work, whatever its name is. A speed of other models is a guess.
std::optional<StepTime> step_time(const Explanation& explanation, double megaflops, const GivenFigures& given,
                                  const Measurements& measured) {
  if (given.step_seconds > 0) return StepTime{given.step_seconds, "given"};
  std::vector<double> speeds;
  for (const MeasuredStep& step : measured.steps) {
    if (step.backend != explanation.backend || step.tiles != explanation.tiles_per_ipu) continue;
    if (step.batch_size == explanation.batch_size && step.weights == weights_of(explanation) &&
        is_near(step.megaflops, megaflops))
      return StepTime{step.seconds, fmt::format("measured by 'pando bench {}' on {}", step.model, step.date)};
    speeds.push_back(step.megaflops * 1e6 / step.seconds);
  }
  if (speeds.empty() || megaflops == 0) return std::nullopt;
  std::nth_element(speeds.begin(), speeds.begin() + std::ssize(speeds) / 2, speeds.end());
  const double speed = speeds[speeds.size() / 2];
  return StepTime{megaflops * 1e6 / speed,
                  fmt::format("a guess from {:.1f} GFLOP/s, as other models have in 'pando bench'", speed / 1e9)};
}

// The part of the work that the largest stage does.
double largest_stage(const Explanation& explanation, const ExplainedCounts& counts) {
  if (explanation.stages.size() < 2 || counts.megaflops == 0 || counts.stages_share_ipus) return 1;
  double largest = 0;
  for (const ExplainedStage& stage : explanation.stages) largest = std::max(largest, stage.megaflops);
  return largest / counts.megaflops;
}

// The time of all micro-batches of an update on the IPUs of one worker.
double compute_seconds(const Explanation& explanation, const ExplainedCounts& counts, int replicas, double step) {
  const double largest = largest_stage(explanation, counts);
  const auto micro_batches = static_cast<double>(std::max<std::int64_t>(1, explanation.gradient_accumulation));
  const double on_ipus = largest * step * micro_batches / (1 - counts.bubble);
  if (explanation.cores == 0 || explanation.backend != "cpu") return on_ipus;
  const double on_cores = step * micro_batches * replicas * explanation.tiles_per_ipu / explanation.cores;
  return std::max(on_ipus, on_cores);
}

struct Network {
  NetworkCost cost;
  std::string source;
  // Whether messages travel while the cores do something else. Within a host, cores copy them.
  bool is_wire = true;
  // Whether it connects GPUs, which add up all gradients when the backward pass is over.
  bool is_of_gpus = false;
};

// The links of GPUs are measured between two GPUs or more, or given.
std::optional<Network> network_of_gpus(const GivenFigures& given, const Measurements& measured) {
  const std::optional<MeasuredNetwork>& found = measured.gpu_network;
  if (given.latency > 0)
    return Network{{.latency = given.latency,
                    .bandwidth = given.bandwidth,
                    .copies = found ? found->copies : std::numeric_limits<double>::infinity()},
                   fmt::format("between GPUs, {:.1f} us, {:.2f} GB/s, given{}", given.latency * 1e6,
                               given.bandwidth / 1e9, found ? "" : "; copies on a GPU are not counted"),
                   true,
                   true};
  if (!found) return std::nullopt;
  return Network{
      {.latency = found->latency, .bandwidth = found->bandwidth, .copies = found->copies},
      fmt::format("between GPUs, {:.1f} us, {:.2f} GB/s, measured with NCCL between {} workers on {} host{}, {}",
                  found->latency * 1e6, found->bandwidth / 1e9, found->workers, found->hosts,
                  found->hosts == 1 ? "" : "s", found->date),
      true,
      true};
}

std::optional<Network> network_of(const GivenFigures& given, const Measurements& measured, bool of_gpus) {
  if ((given.latency > 0) != (given.bandwidth > 0))
    throw Error("explain: a network has a latency and a bandwidth; give both");
  if (of_gpus) return network_of_gpus(given, measured);
  if (given.latency > 0) {
    return Network{{.latency = given.latency,
                    .per_message = given.latency / 4,
                    .bandwidth = given.bandwidth,
                    .copies = measured.network ? measured.network->copies : usual_copies},
                   fmt::format("{:.1f} us, {:.2f} GB/s, given", given.latency * 1e6, given.bandwidth / 1e9)};
  }
  if (!measured.network) return std::nullopt;
  const MeasuredNetwork& found = *measured.network;
  return Network{
      {.latency = found.latency,
       .per_message = found.per_message,
       .bandwidth = found.bandwidth,
       .copies = found.copies},
      fmt::format("{:.1f} us, {:.2f} GB/s, measured between {} workers on {} host{}, {}", found.latency * 1e6,
                  found.bandwidth / 1e9, found.workers, found.hosts, found.hosts == 1 ? "" : "s", found.date),
      found.hosts > 1};
}

std::vector<int> worker_counts(const GivenFigures& given, const std::optional<Network>& network) {
  if (!network) return {1};
  std::vector<int> counts = !given.workers.empty() ? given.workers
                            : network->is_of_gpus  ? std::vector<int>{2, 3, 4, 5, 6, 7, 8}
                                                   : std::vector<int>{2, 4, 8, 16, 32, 64};
  for (const int count : counts)
    if (count < 1) throw Error(fmt::format("explain: {} workers; give numbers from 1 on", count));
  counts.push_back(1);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

}  // namespace

std::optional<Scaling> predict_scaling(const Explanation& explanation, const GivenFigures& given,
                                       const Measurements& measured) {
  if (!explanation.training) return std::nullopt;
  const ExplainedCounts counts = counts_of(explanation);
  const std::optional<StepTime> step = step_time(explanation, counts.megaflops, given, measured);
  const bool is_gpu = explanation.backend == "cuda";
  const std::optional<Network> network = network_of(given, measured, is_gpu);
  if (!given.workers.empty() && (!step || !network))
    throw Error(fmt::format("explain: the time of {} is not known, so workers cannot be predicted; {}",
                            step ? "a message" : "a step",
                            step ? fmt::format("measure it (mpirun -n 2 pando bench network{}) or give latency and "
                                               "bandwidth",
                                               is_gpu ? " --backend cuda" : "")
                                 : "measure it (pando bench MODEL, with the same batch size and tiles) or give it"));
  if (!step) return std::nullopt;
  const int replicas = std::max(1, explanation.replicas / explanation.workers);
  Scaling scaling{.sum_bytes = weights_of(explanation),
                  .compute_source = step->source,
                  .network_source = network ? network->source : "",
                  .is_of_gpus = is_gpu};
  const double compute = compute_seconds(explanation, counts, replicas, step->seconds);
  const bool has_spare_core = explanation.cores > explanation.tiles_per_ipu * replicas * counts.ipus_per_replica;
  const double backward = backward_part * step->seconds * largest_stage(explanation, counts);
  for (const int workers : worker_counts(given, network)) {
    PredictedUpdate& update = scaling.updates.emplace_back(PredictedUpdate{.workers = workers, .compute = compute});
    if (workers == 1) continue;
    const double hiding = network->is_wire || has_spare_core ? backward : 0;
    if (network->is_of_gpus) {
      update.sums = update.waiting = device_sum_seconds(network->cost, workers, replicas, scaling.sum_bytes);
    } else {
      const SumTimes sums =
          bucket_seconds(network->cost, workers, replicas, scaling.sum_bytes, sum_bucket_bytes, hiding);
      update.sums = sums.all;
      update.waiting = sums.after;
    }
    // An execution has a number of batches, which the workers share.
    update.agreement = rounds_of_agreement * round_seconds(network->cost, workers, 1) /
                       static_cast<double>(std::max<std::int64_t>(1, counts.updates_per_execution / workers));
  }
  return scaling;
}

Measurements kept_measurements() {
  try {
    return read_measurements();
  } catch (const Error& error) {
    warn("explain", error.what());
    return {};
  }
}

}  // namespace pando
