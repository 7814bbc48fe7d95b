// SPDX-License-Identifier: Apache-2.0
#include "io/background_writer.h"

#include <utility>

namespace pando {

BackgroundWriter::BackgroundWriter() : thread_("to write checkpoints", [this] { serve(); }) {}

BackgroundWriter::~BackgroundWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  given_.notify_one();
}

void BackgroundWriter::submit(Work work) {
  {
    const std::lock_guard lock(mutex_);
    std::swap(next_, work);
  }
  given_.notify_one();
}

void BackgroundWriter::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return !next_ && !working_; });
}

void BackgroundWriter::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    given_.wait(lock, [&] { return next_ || stopping_; });
    if (!next_) return;
    Work work = std::exchange(next_, nullptr);
    working_ = true;
    lock.unlock();
    work();
    // Frees what it holds before waiting threads are notified.
    work = nullptr;
    lock.lock();
    working_ = false;
    done_.notify_all();
  }
}

}  // namespace pando
