// BackgroundWriter: work for the disk that nobody waits for.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/thread.h"

namespace pando {

// One thread does what it is given. Who gives it more than it can do is not held up: what has not begun yet is replaced
// by what is given after it.
class BackgroundWriter {
 public:
  // Must not throw.
  using Work = std::function<void()>;

  // Throws Error if the system does not give a thread.
  BackgroundWriter();
  // Does the last work before it goes.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  void submit(Work work);
  // Until everything is done.
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
