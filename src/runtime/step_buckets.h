// SPDX-License-Identifier: Apache-2.0
// StepBuckets: adds up the sums of an update over the workers on a thread of its own, in buckets, while the last
// backward pass of the update goes on.
//
// The arrays of a stage are put into buckets in the order in which the backward pass is done with them. The device
// tells how many buckets are ready, and the thread exchanges one after the other, in the same order on all workers. The
// bits are those of sums that are exchanged at the end.
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <vector>

#include "base/thread.h"
#include "base/waiting.h"
#include "comm/worker_sums.h"
#include "plan/step_plan.h"
#include "runtime/backend.h"
#include "runtime/host_blocks.h"

namespace pando {

class StepBuckets {
 public:
  // sums[replica][stage]: those of this worker's devices. `on_failure` is called on the thread, with what it caught.
  StepBuckets(const StepPlan& plan, const std::vector<std::vector<const HostBlocks*>>& sums,
              std::shared_ptr<Workers> workers, Function<void(std::exception_ptr)> on_failure);
  ~StepBuckets();
  StepBuckets(const StepBuckets&) = delete;
  StepBuckets& operator=(const StepBuckets&) = delete;

  // Whether the sums of the stage are added up here: they are in the host's memory, and make more than one bucket.
  bool has(int stage) const { return !stages_[static_cast<std::size_t>(stage)].buckets.empty(); }
  // How the last backward pass of an update tells its progress. `is_first`: it is also the first pass of that update.
  Progress progress(int stage, int replica, bool is_first);
  // The backward passes of the update are over.
  void end_update(int stage, int replica);
  // Returns when the sums of that update are those of all workers. Throws Stopped if stop() was called.
  void wait(int stage, int replica);
  // Ends the thread and all waiting, for good.
  void stop();
  bool is_stopped() const { return stopped_; }

 private:
  struct Bucket {
    // [replica][array].
    std::vector<std::vector<std::span<float>>> numbers;
    std::vector<std::span<const std::span<float>>> parts;
  };
  struct Device {
    // The number of the update, and how many of its buckets are ready, as one number that only grows.
    Awaited<std::int64_t> ready = 0;
    std::int64_t update = 0;
  };
  struct Stage {
    std::vector<Bucket> buckets;
    // For `backward_first` and `backward_next`.
    std::vector<Progress::Mark> marks[2];
    std::vector<std::unique_ptr<Device>> devices;
    // The number of updates whose sums are complete.
    std::unique_ptr<Awaited<std::int64_t>> done;
  };

  static Stage stage_of(const StagePlan& plan, const std::vector<const HostBlocks*>& sums);
  Device& device(int stage, int replica) {
    return *stages_[static_cast<std::size_t>(stage)].devices[static_cast<std::size_t>(replica)];
  }
  void work();
  void add_up();
  void add_up(int stage, std::int64_t update);

  const std::shared_ptr<Workers> workers_;
  const Function<void(std::exception_ptr)> on_failure_;
  std::vector<Stage> stages_;
  SumScratch scratch_;
  std::atomic<bool> stopped_ = false;
  Thread thread_;
};

}  // namespace pando
