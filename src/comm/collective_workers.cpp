// SPDX-License-Identifier: Apache-2.0
#include "comm/collective_workers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/notice.h"
#include "comm/last_checkpoint.h"

namespace pando {

namespace {

// More threads than that do not wait at the same time: one for each stage of a pipeline, and one that runs the program.
constexpr std::size_t most_channels = 64;
// When nothing can be served, the workers tell each other again after this time.
constexpr std::chrono::microseconds between_rounds(200);

// How long a worker that ended its program may have messages on their way.
constexpr std::chrono::seconds time_after_end(2);

}  // namespace

// It is sent as it is.
struct CollectiveWorkers::Notice {
  enum class Condition : std::int32_t { works, gave_up, is_over };
  Condition condition = Condition::works;
  std::int32_t channels = 0;
  std::array<std::int32_t, most_channels> channel = {};
  std::array<char, 1024> why = {};

  bool waits_on(std::int32_t wanted) const {
    return std::find(channel.begin(), channel.begin() + channels, wanted) != channel.begin() + channels;
  }
};

CollectiveWorkers::CollectiveWorkers(std::unique_ptr<Collective> collective)
    : collective_(std::move(collective)), process_(getpid()) {
  if (count() > 1) thread_ = Thread("that exchanges messages with other workers", [this] { serve(); });
}

CollectiveWorkers::~CollectiveWorkers() { end(); }

void CollectiveWorkers::exchange(int channel, std::span<const Sent> sent, std::span<const Received> received) {
  if (count() == 1) return;
  Request request{sent, received};
  std::unique_lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  if (waiting_.size() == most_channels || !waiting_.emplace(channel, &request).second)
    throw InternalError(fmt::format("more than one thread, or more than {} channels, exchange at once: channel {}",
                                    most_channels, channel));
  changed_.notify_all();
  bool is_told = false;
  while (!request.is_done && !failure_) {
    const auto status = changed_.wait_for(lock, std::chrono::minutes(1));
    if (status == std::cv_status::no_timeout || is_told || request.is_done || failure_) continue;
    is_told = true;
    warn("workers",
         fmt::format("Worker {} has waited for other workers for a minute, and goes on waiting. If that does not end, "
                     "they do not run the same program with the same data.",
                     rank()),
         Line::below_bar);
  }
  if (request.is_done) return;
  waiting_.erase(channel);
  std::rethrow_exception(failure_);
}

// The thread asks the others, and the caller hears of it by a later call.
void CollectiveWorkers::check_others() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  looks_ = true;
  changed_.notify_all();
}

// The others hear of it when they wait for this worker.
void CollectiveWorkers::give_up(const std::string& why) noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_ || has_given_up_) return;
  try {
    given_up_ = why;
  } catch (const std::exception&) {
    // Without memory for it, they are not told why.
  }
  has_given_up_ = true;
  changed_.notify_all();
}

void CollectiveWorkers::end() noexcept {
  // A child made by fork() has no part in this.
  if (getpid() != process_) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void CollectiveWorkers::serve() {
  try {
    while (serve_once()) {
    }
    if (!failure_) fail(std::make_exception_ptr(Error("the workers have ended their programs")));
  } catch (...) {
    fail(std::current_exception());
  }
}

void CollectiveWorkers::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  changed_.notify_all();
}

CollectiveWorkers::Notice CollectiveWorkers::own_notice() const {
  Notice notice;
  if (has_given_up_) {
    notice.condition = Notice::Condition::gave_up;
    std::copy_n(given_up_.begin(), std::min(given_up_.size(), notice.why.size() - 1), notice.why.begin());
  } else if (is_over_ && waiting_.empty()) {
    notice.condition = Notice::Condition::is_over;
  }
  for (const auto& [channel, request] : waiting_) notice.channel[static_cast<std::size_t>(notice.channels++)] = channel;
  return notice;
}

// Its thread waits until it is done.
CollectiveWorkers::Request& CollectiveWorkers::request_of(int channel) const {
  const std::lock_guard lock(mutex_);
  return *waiting_.at(channel);
}

// One that only looked may have what it waited for by now, and end, too; one that goes on looking waits in vain.
void CollectiveWorkers::give_up_if_left_alone(bool works, int other) {
  const auto now = std::chrono::steady_clock::now();
  if (!alone_since_) alone_since_ = now;
  if (!works || now - *alone_since_ < time_after_end) return;
  give_up(fmt::format("worker {} ended its program while worker {} still waits for it", other, rank()));
}

// Returns false at the end. All workers have the same notices, and do the same with them.
bool CollectiveWorkers::serve_once() {
  Notice own;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_given_up_ || is_over_ || looks_ || !waiting_.empty(); });
    own = own_notice();
    looks_ = false;
  }
  std::vector<Notice> all(static_cast<std::size_t>(count()));
  collective_->gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  const auto first_with = [&](Notice::Condition condition) {
    return std::find_if(all.begin(), all.end(), [&](const Notice& one) { return one.condition == condition; });
  };
  if (const auto gave_up = first_with(Notice::Condition::gave_up); gave_up != all.end()) {
    const auto other = static_cast<int>(gave_up - all.begin());
    const std::string text = fmt::format("worker {} gave up: {}", other, gave_up->why.data());
    fail(other == rank()
             ? std::make_exception_ptr(Error(fmt::format("worker {} cannot go on: {}", other, gave_up->why.data())))
             : std::make_exception_ptr(WorkerFailure(other, text + words_about_checkpoint())));
    return false;
  }
  if (const auto left = first_with(Notice::Condition::is_over); left != all.end()) {
    const auto waits = std::find_if(all.begin(), all.end(), [](const Notice& one) { return one.channels > 0; });
    const auto other = static_cast<int>(left - all.begin());
    if (waits == all.end()) {
      if (first_with(Notice::Condition::works) == all.end()) return false;
      give_up_if_left_alone(own.condition == Notice::Condition::works, other);
      std::this_thread::sleep_for(between_rounds);
      return true;
    }
    fail(std::make_exception_ptr(
        WorkerFailure(other,
                      fmt::format("worker {} ended its program while worker {} still waits for it{}", other,
                                  waits - all.begin(), words_about_checkpoint()),
                      true)));
    return false;
  }
  // In the order of channels, which is the same for all.
  for (std::int32_t i = 0; i < own.channels; ++i) {
    const std::int32_t channel = own.channel[static_cast<std::size_t>(i)];
    if (!std::all_of(all.begin(), all.end(), [&](const Notice& one) { return one.waits_on(channel); })) continue;
    Request& request = request_of(channel);
    collective_->exchange(request.sent, request.received);
    const std::lock_guard lock(mutex_);
    request.is_done = true;
    waiting_.erase(channel);
    alone_since_.reset();
    changed_.notify_all();
    return true;
  }
  std::this_thread::sleep_for(between_rounds);
  return true;
}

}  // namespace pando
