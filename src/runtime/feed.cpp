// SPDX-License-Identifier: Apache-2.0
// The ring is two counters that only grow: rows filled and rows taken. The end of the feed is a bit in the first one,
// so that a device that waits for the next row sees the end as well.
#include "runtime/feed.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "base/waiting.h"

namespace pando {

namespace {

// The filler polls: a notification would cost the device a system call for each batch. Each look also takes time from a
// core that the device uses, so the time between looks follows the device's pace.
constexpr std::chrono::microseconds shortest_wait{50}, longest_wait{5000};

}  // namespace

struct FeedRing::Ring {
  std::vector<std::size_t> offsets;
  std::size_t slot_bytes;
  std::int64_t slots;
  Fill fill;
  Allocation memory;
  FeedSamples samples;
  // Only the thread that is filling uses these.
  std::vector<std::byte*> feeds = std::vector<std::byte*>(offsets.size());
  std::exception_ptr failure = {};
  // Until it has started, the filler counts as late.
  Awaited<bool> filling = false, running = false;
  std::atomic<bool> filler_is_late = true, stopping = false;
  // The number of filled rows, combined with a mark once there will be no more.
  static constexpr std::int64_t end_mark = std::int64_t{1} << 62;
  alignas(64) Awaited<std::int64_t> filled = 0;
  alignas(64) std::atomic<std::int64_t> taken = 0;

  bool has_ended() const { return filled.load(std::memory_order_acquire) >= end_mark; }
  std::int64_t room() const {
    return slots - ((filled.load(std::memory_order_acquire) & ~end_mark) - taken.load(std::memory_order_acquire));
  }
  Place slot(std::int64_t row) const { return memory.place() + static_cast<std::size_t>(row % slots) * slot_bytes; }
  void set_running(bool value) {
    running = value;
    running.notify_all();
  }

  void fill_all();
  // Fills a slot if there is room and the feed has not ended; false if another thread is doing so.
  bool fill_next();
};

void FeedRing::Ring::fill_all() {
  std::chrono::microseconds wait = shortest_wait;
  while (!stopping && !has_ended()) {
    // While the waiting device is filling a slot, there is time.
    if (!fill_next()) std::this_thread::sleep_for(shortest_wait);
    // Ideally it finds, each time it looks, a part of the ring free, and never all of it.
    while (room() <= 0 && !stopping) {
      running.wait(false);
      std::this_thread::sleep_for(wait);
      if (room() <= 0) wait = std::min(wait * 2, longest_wait);
      else if (room() > slots / 2) wait = std::max(wait / 2, shortest_wait);
    }
  }
}

bool FeedRing::Ring::fill_next() {
  if (filling.exchange(true, std::memory_order_acquire)) return false;
  if (!has_ended() && room() > 0) {
    const std::int64_t row = filled.load(std::memory_order_relaxed);
    std::byte* data = host_pointer(slot(row));
    for (std::size_t i = 0; i < offsets.size(); ++i) feeds[i] = data + offsets[i];
    bool is_filled = false;
    try {
      is_filled = fill(row, feeds);
    } catch (...) {
      failure = std::current_exception();
    }
    filled.store(is_filled ? row + 1 : row | end_mark);
    filled.notify_all();
  }
  filling.store(false);
  filling.notify_all();
  return true;
}

FeedRing::FeedRing(std::vector<std::size_t> offsets, std::size_t slot_bytes, Fill fill, int slots,
                   const std::shared_ptr<Memory>& memory, FeedSamples samples) {
  slot_bytes = std::max(slot_bytes, buffer_alignment);
  Allocation ring = memory->allocate(slot_bytes * static_cast<std::size_t>(slots), "the feed ring");
  ring_.reset(new Ring{std::move(offsets), slot_bytes, slots, std::move(fill), std::move(ring), std::move(samples)});
}

FeedRing::~FeedRing() {
  ring_->stopping = true;
  ring_->set_running(true);
  // After this, `fill` is not called, and what it uses may be destroyed. In a forked child, no other thread calls it.
  while (process_.is_here() && ring_->filling.exchange(true)) wait_while(ring_->filling, true);
  ring_->fill = nullptr;
  // The thread that ends the feed destroys the exception too, not the filler, which may outlive what it refers to.
  ring_->failure = nullptr;
}

void FeedRing::release_before(std::int64_t row) {
  std::int64_t taken = ring_->taken.load(std::memory_order_relaxed);
  while (taken < row && !ring_->taken.compare_exchange_weak(taken, row, std::memory_order_release)) {
  }
}

// The mark of the end is more than any row.
bool FeedRing::has(std::int64_t row) const { return ring_->filled.load(std::memory_order_acquire) > row; }

std::int64_t FeedRing::next() const { return ring_->taken.load(std::memory_order_acquire); }

Place FeedRing::wait_for(std::int64_t row) {
  Ring& ring = *ring_;
  // On a busy machine the filler may get no core for a long time. A slot that it did not fill in time is a sign of
  // that.
  const bool was_late = ring.filler_is_late.load(std::memory_order_relaxed);
  if (was_late && has(row)) ring.filler_is_late.store(false, std::memory_order_relaxed);
  const std::chrono::nanoseconds patience = was_late ? std::chrono::nanoseconds(0) : awake_time;
  while (!wait_awake(patience, [&] { return has(row); })) {
    ring.filler_is_late.store(true, std::memory_order_relaxed);
    const std::int64_t seen = ring.filled.load(std::memory_order_acquire);
    const ServiceScope serves;
    if ((ring.room() <= 0 || !ring.fill_next()) && !has(row)) ring.filled.wait(seen);
  }
  const bool is_past_the_end = (ring.filled.load(std::memory_order_acquire) & ~Ring::end_mark) <= row;
  return is_past_the_end ? Place() : ring.slot(row);
}

const FeedSamples& FeedRing::samples() const { return ring_->samples; }
const std::vector<std::size_t>& FeedRing::offsets() const { return ring_->offsets; }
std::size_t FeedRing::slot_bytes() const { return ring_->slot_bytes; }

void FeedRing::begin(bool takes_one) {
  process_.check("a feed");
  if (!has_filler_ && (!takes_one || next() > 0)) {
    Thread("to fill the feed", [ring = ring_] { ring->fill_all(); }).detach();
    has_filler_ = true;
    ring_->filler_is_late = false;
  }
  ring_->set_running(true);
}

void FeedRing::end() { ring_->running = false; }

void FeedRing::rethrow() {
  if (ring_->has_ended() && ring_->failure) std::rethrow_exception(ring_->failure);
}

}  // namespace pando
