#include "runtime/feed.h"

#include <algorithm>

#include "base/waiting.h"

namespace pando {

namespace {

// The filler polls: a notification would cost the device a system call for each batch. Each look costs a core that the
// device uses, too, so that the time between them follows the device's pace.
constexpr std::chrono::microseconds shortest_wait{50}, longest_wait{5000};

}  // namespace

SingleFeed::SingleFeed(const Plan& plan) : memory_(allocate_host_memory(plan.feed_bytes, "the feeds")) {}

namespace {

std::vector<std::size_t> feed_offsets(const Plan& plan) {
  std::vector<std::size_t> offsets;
  for (const Port& feed : plan.feeds) offsets.push_back(plan.buffers[static_cast<std::size_t>(feed.buffer)].offset);
  return offsets;
}

}  // namespace

FeedRing::FeedRing(const Plan& plan, Fill fill, int slots)
    : FeedRing(feed_offsets(plan), plan.feed_bytes, std::move(fill), slots) {}

FeedRing::FeedRing(std::vector<std::size_t> offsets, std::size_t slot_bytes, Fill fill, int slots)
    : offsets_(std::move(offsets)),
      slot_bytes_(std::max(slot_bytes, buffer_alignment)),
      slots_(slots),
      fill_(std::move(fill)),
      memory_(allocate_host_memory(slot_bytes_ * static_cast<std::size_t>(slots), "the feed ring")) {
  thread_ = Thread("to fill the feed", [this] { fill_all(); });
}

FeedRing::~FeedRing() {
  stopping_ = true;
  running_ = true;
  running_.notify_one();
}

void FeedRing::begin() {
  process_.check("a feed");
  running_ = true;
  running_.notify_one();
}

// Ideally it finds, each time it looks, a part of the ring free, and never all of it.
bool FeedRing::wait_for_room(std::int64_t step) {
  const auto room = [&] { return slots_ - (step - taken_.load(std::memory_order_acquire)); };
  while (room() == 0 && !stopping_) {
    running_.wait(false);
    std::this_thread::sleep_for(wait_);
    if (room() == 0) wait_ = std::min(wait_ * 2, longest_wait);
    else if (room() > slots_ / 2) wait_ = std::max(wait_ / 2, shortest_wait);
  }
  return !stopping_;
}

void FeedRing::fill_all() {
  std::vector<std::byte*> feeds(offsets_.size());
  try {
    for (std::int64_t step = 0; wait_for_room(step); ++step) {
      std::byte* slot = memory_.get() + static_cast<std::size_t>(step % slots_) * slot_bytes_;
      for (std::size_t i = 0; i < offsets_.size(); ++i) feeds[i] = slot + offsets_[i];
      if (!fill_(step, feeds)) break;
      filled_.store(step + 1);
      filled_.notify_all();
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  filled_.fetch_or(end_mark);
  filled_.notify_all();
}

std::byte* FeedRing::acquire() { return const_cast<std::byte*>(wait_for(taken_.load(std::memory_order_relaxed))); }

void FeedRing::release_before(std::int64_t step) {
  std::int64_t taken = taken_.load(std::memory_order_relaxed);
  while (taken < step && !taken_.compare_exchange_weak(taken, step, std::memory_order_release)) {
  }
}

const std::byte* FeedRing::wait_for(std::int64_t step) {
  // The mark of the end is more than any step.
  wait_until_at_least(filled_, step + 1);
  if ((filled_.load(std::memory_order_acquire) & ~end_mark) <= step) return nullptr;
  return memory_.get() + static_cast<std::size_t>(step % slots_) * slot_bytes_;
}

void FeedRing::rethrow() {
  if (filled_.load(std::memory_order_acquire) >= end_mark && failure_) std::rethrow_exception(failure_);
}

}  // namespace pando
