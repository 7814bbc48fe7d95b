// SPDX-License-Identifier: Apache-2.0
// CallLock: calls that change a model take turns.
#pragma once
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/thread.h"

namespace pando {

class CallLock {
 public:
  // While it lives the calling thread has the lock, and may take it again.
  class Call {
   public:
    // Waits until no other thread has it. Throws Error, beginning with `who`, if it would wait forever because the call
    // that has the lock waits for data that the calling thread makes. `what` names what is locked: "the model
    // 'sequential'".
    Call(CallLock& lock, const std::string& who, const std::string& what);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    CallLock& lock_;
    // Belongs to the outermost call of the thread.
    std::optional<CallScope> scope_ = {};
  };

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  std::thread::id owner_;
  int depth_ = 0;
};

}  // namespace pando
