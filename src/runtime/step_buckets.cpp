// SPDX-License-Identifier: Apache-2.0
#include "runtime/step_buckets.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/waiting.h"
#include "comm/background.h"
#include "comm/local_group.h"

namespace pando {

namespace {

// Numbers of updates are counted in these steps, with those of buckets between them.
constexpr std::int64_t one_update = std::int64_t{1} << 20;
constexpr std::int64_t past_all_updates = std::numeric_limits<std::int64_t>::max() / 2;

// For each variable, the number of supersteps after which the plan is done with it.
std::vector<std::int64_t> last_uses(const Plan& plan, const std::vector<VariablePort>& variables) {
  std::vector<std::int64_t> uses(variables.size(), 0);
  const auto use = [&](const Operand& operand, std::int64_t superstep) {
    if (operand.buffer < 0) return;
    const Buffer& buffer = plan.buffers[static_cast<std::size_t>(operand.buffer)];
    if (buffer.kind != Buffer::Kind::variable) return;
    const std::string& name = plan.variables[static_cast<std::size_t>(buffer.index)].name;
    for (std::size_t i = 0; i < variables.size(); ++i)
      if (variables[i].name == name) uses[i] = superstep + 1;
  };
  for (std::size_t s = 0; s < plan.supersteps.size(); ++s)
    for (const KernelCall& call : plan.supersteps[s])
      for (const auto* operands : {&call.inputs, &call.outputs})
        for (const Operand& operand : *operands) use(operand, static_cast<std::int64_t>(s));
  return uses;
}

// The arrays in the order in which they are ready, cut into buckets.
std::vector<std::vector<std::size_t>> cut_buckets(const std::vector<std::int64_t>& uses,
                                                  std::span<const std::span<float>> arrays) {
  std::vector<std::size_t> order(arrays.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return uses[a] < uses[b]; });
  std::vector<std::vector<std::size_t>> buckets;
  std::size_t bytes = sum_bucket_bytes;
  for (const std::size_t array : order) {
    if (bytes >= sum_bucket_bytes) {
      buckets.emplace_back();
      bytes = 0;
    }
    buckets.back().push_back(array);
    bytes += arrays[array].size_bytes();
  }
  return buckets;
}

// After which supersteps how many buckets are ready.
std::vector<Progress::Mark> marks_of(const std::vector<std::vector<std::size_t>>& buckets,
                                     const std::vector<std::int64_t>& uses) {
  std::vector<Progress::Mark> marks;
  std::int64_t superstep = 0, ready = 0;
  for (const std::vector<std::size_t>& bucket : buckets) {
    for (const std::size_t array : bucket) superstep = std::max(superstep, uses[array]);
    ++ready;
    if (!marks.empty() && marks.back().supersteps == superstep) marks.back().value = ready;
    else marks.push_back({superstep, ready});
  }
  return marks;
}

}  // namespace

StepBuckets::Stage StepBuckets::stage_of(const StagePlan& plan, const std::vector<const HostBlocks*>& sums) {
  Stage stage;
  stage.done = std::make_unique<Awaited<std::int64_t>>(0);
  for (std::size_t replica = 0; replica < sums.size(); ++replica) stage.devices.push_back(std::make_unique<Device>());
  const std::optional<Plan>& usual = plan.backward_next ? plan.backward_next : plan.backward_first;
  const bool in_place = std::all_of(sums.begin(), sums.end(), [](const HostBlocks* one) { return one->is_in_place(); });
  if (!usual || !in_place) return stage;
  const auto buckets = cut_buckets(last_uses(*usual, plan.sums), sums.front()->numbers());
  // One bucket is done sooner without another thread.
  if (buckets.size() < 2) return stage;
  if (plan.backward_first) stage.marks[0] = marks_of(buckets, last_uses(*plan.backward_first, plan.sums));
  if (plan.backward_next) stage.marks[1] = marks_of(buckets, last_uses(*plan.backward_next, plan.sums));
  for (const std::vector<std::size_t>& arrays : buckets) {
    Bucket& bucket = stage.buckets.emplace_back();
    for (const HostBlocks* blocks : sums) {
      auto& numbers = bucket.numbers.emplace_back();
      for (const std::size_t array : arrays) numbers.push_back(blocks->numbers()[array]);
    }
    bucket.parts.assign(bucket.numbers.begin(), bucket.numbers.end());
  }
  return stage;
}

StepBuckets::StepBuckets(const StepPlan& plan, const std::vector<std::vector<const HostBlocks*>>& sums,
                         std::shared_ptr<Workers> workers, Function<void(std::exception_ptr)> on_failure)
    : workers_(std::move(workers)), on_failure_(std::move(on_failure)) {
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    std::vector<const HostBlocks*> of_stage;
    for (const auto& of_replica : sums) of_stage.push_back(of_replica[stage]);
    stages_.push_back(stage_of(plan.stages[stage], of_stage));
  }
  const bool any = std::any_of(stages_.begin(), stages_.end(), [](const Stage& one) { return !one.buckets.empty(); });
  if (any) thread_ = Thread("that adds up gradients over the workers", [this] { work(); });
}

StepBuckets::~StepBuckets() { stop(); }

Progress StepBuckets::progress(int stage, int replica, bool is_first) {
  Device& own = device(stage, replica);
  return {&own.ready, own.update * one_update, stages_[static_cast<std::size_t>(stage)].marks[is_first ? 0 : 1]};
}

void StepBuckets::end_update(int stage, int replica) {
  Device& own = device(stage, replica);
  publish(own.ready, ++own.update * one_update);
}

void StepBuckets::wait(int stage, int replica) {
  wait_until_at_least(*stages_[static_cast<std::size_t>(stage)].done, device(stage, replica).update);
  if (stopped_) throw Stopped();
}

void StepBuckets::stop() {
  stopped_ = true;
  for (Stage& stage : stages_) {
    for (const auto& device : stage.devices) publish(device->ready, past_all_updates);
    publish(*stage.done, past_all_updates);
  }
}

void StepBuckets::work() {
  is_in_background = true;
  try {
    add_up();
  } catch (const Stopped&) {
    // A device failed, or there is nothing more to do.
  } catch (...) {
    on_failure_(std::current_exception());
  }
}

// The last stage ends its backward passes first.
void StepBuckets::add_up() {
  for (std::int64_t update = 0;; ++update)
    for (int stage = static_cast<int>(stages_.size()) - 1; stage >= 0; --stage)
      if (has(stage)) add_up(stage, update);
}

void StepBuckets::add_up(int stage, std::int64_t update) {
  Stage& own = stages_[static_cast<std::size_t>(stage)];
  for (std::size_t i = 0; i < own.buckets.size(); ++i) {
    const std::int64_t wanted = update * one_update + static_cast<std::int64_t>(i) + 1;
    // Asleep at once: the devices compute meanwhile.
    for (const auto& device : own.devices) wait_until_at_least(device->ready, wanted, std::chrono::nanoseconds(0));
    if (stopped_) throw Stopped();
    reduce_over_workers(*workers_, stage, own.buckets[i].parts, false, scratch_);
  }
  publish(*own.done, update + 1);
}

}  // namespace pando
