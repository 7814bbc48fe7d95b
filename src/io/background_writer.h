// SPDX-License-Identifier: Apache-2.0
// BackgroundWriter: work for the disk that runs in the background.
#pragma once
#include <pando/base/function.h>

#include <condition_variable>
#include <mutex>

#include "base/thread.h"

namespace pando {

// One thread does the work that it is given. A caller never waits: new work replaces work that has not begun yet.
class BackgroundWriter {
 public:
  // Must not throw.
  using Work = Function<void()>;

  // Throws Error if the system cannot start a thread.
  BackgroundWriter();
  // Finishes the last work first.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  void submit(Work work);
  // Waits until everything is done.
  void wait();

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable given_, done_;
  Work next_;
  bool working_ = false, stopping_ = false;
  Thread thread_;
};

}  // namespace pando
